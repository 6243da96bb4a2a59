/** Numbers, sizes and times as people read them. Pure text, used by all reports. */

/** `1,234,567` */
export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `950/s`, `12.3k/s`, `1.2M/s` */
export function formatRate(perSecond: number): string {
  if (perSecond >= 999_950) return `${threeDigits(perSecond / 1e6)}M/s`;
  if (perSecond >= 999.5) return `${threeDigits(perSecond / 1000)}k/s`;
  return `${Math.round(perSecond)}/s`;
}

/** `512 B`, `1.2 MB`; units are powers of 1024. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : threeDigits(value)} ${units[unit]}`;
}

/** `45 ms`, `3.2 s`, `1 min 5 s`, `2 h 3 min`, `4 d 5 h` */
export function formatElapsed(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(ms / 3_600_000);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `0 %` to `100 %` of a share between 0 and 1. */
export function formatShare(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** `1 restart`, `2 restarts` */
export function formatNumberOf(count: number, singular: string): string {
  return `${formatCount(count)} ${singular}${count === 1 ? '' : 's'}`;
}

function threeDigits(value: number): string {
  return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}
