/**
 * Durations and memory sizes as Flink writes them: `500 ms`, `10s`, `1 min`, `64mb`. A plain number
 * is milliseconds or bytes. The smallest unit of time is the millisecond: finer units are refused,
 * not rounded.
 */
import { ConfigurationError } from './errors.ts';

const DAY_MS = 86_400_000;

type TimeUnit =
  | 'ms'
  | 'milli'
  | 'millis'
  | 'millisecond'
  | 'milliseconds'
  | 's'
  | 'sec'
  | 'secs'
  | 'second'
  | 'seconds'
  | 'm'
  | 'min'
  | 'minute'
  | 'minutes'
  | 'h'
  | 'hour'
  | 'hours'
  | 'd'
  | 'day'
  | 'days';

/** A length of time in code: milliseconds, or text with a unit such as `'10s'` or `'5 min'`. */
export type Duration = number | `${number}${TimeUnit}` | `${number} ${TimeUnit}`;

const TIME_UNITS: Readonly<Record<TimeUnit, number>> = {
  ms: 1,
  milli: 1,
  millis: 1,
  millisecond: 1,
  milliseconds: 1,
  s: 1000,
  sec: 1000,
  secs: 1000,
  second: 1000,
  seconds: 1000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
  d: DAY_MS,
  day: DAY_MS,
  days: DAY_MS,
};

const SIZE_UNITS: Readonly<Record<string, number>> = {
  b: 1,
  bytes: 1,
  k: 1024,
  kb: 1024,
  kibibytes: 1024,
  m: 1024 ** 2,
  mb: 1024 ** 2,
  mebibytes: 1024 ** 2,
  g: 1024 ** 3,
  gb: 1024 ** 3,
  gibibytes: 1024 ** 3,
  t: 1024 ** 4,
  tb: 1024 ** 4,
  tebibytes: 1024 ** 4,
};

/** What a duration may look like, for messages. */
export const DURATION_FORMS = 'a duration such as 500ms, 10s, 5 min, 2h or 1d (no unit: ms)';
/** What a memory size may look like, for messages. */
export const MEMORY_SIZE_FORMS = 'a size such as 4096, 64kb, 32mb or 1gb (no unit: bytes)';

/**
 * Milliseconds of a duration.
 * @throws ConfigurationError when it is negative, not whole milliseconds, or has no known unit.
 */
export function parseDuration(duration: Duration): number {
  const ms = tryParseDuration(duration);
  if (ms === null) throw new ConfigurationError(`"${duration}" is not ${DURATION_FORMS}`);
  return ms;
}

/** Milliseconds of a duration, `null` when it is none. */
export function tryParseDuration(text: string | number): number | null {
  return tryParse(text, TIME_UNITS);
}

/** Bytes of a memory size, with units as powers of 1024; `null` when it is none. */
export function tryParseMemorySize(text: string | number): number | null {
  return tryParse(text, SIZE_UNITS);
}

/** A duration for people, in the largest unit that keeps it whole: `10 min`, `1500 ms`. */
export function formatDuration(ms: number): string {
  return inLargestUnit(ms, [
    ['d', DAY_MS],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
    ['ms', 1],
  ]);
}

/** A memory size for people, in the largest unit that keeps it whole: `20 kb`, `5000 b`. */
export function formatMemorySize(bytes: number): string {
  return inLargestUnit(bytes, [
    ['gb', 1024 ** 3],
    ['mb', 1024 ** 2],
    ['kb', 1024],
    ['b', 1],
  ]);
}

function tryParse(value: number | string, units: Readonly<Record<string, number>>): number | null {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(String(value));
  if (match === null) return null;
  const unit = match[2]!.toLowerCase();
  const factor = unit === '' ? 1 : Object.hasOwn(units, unit) ? units[unit]! : null;
  if (factor === null) return null;
  const whole = Number(match[1]) * factor;
  return Number.isSafeInteger(whole) ? whole : null;
}

function inLargestUnit(value: number, units: readonly (readonly [string, number])[]): string {
  for (const [unit, factor] of units)
    if (value !== 0 && value % factor === 0) return `${value / factor} ${unit}`;
  return `${value} ${units.at(-1)![0]}`;
}
