/**
 * Tells processes apart for good: a number is given again, and a wall clock can be set. A process
 * is known by the kernel and the namespace that count it, and by the tick at which it started.
 */
import { readFileSync, readlinkSync } from 'node:fs';

/** Identity of the present process; `null` where the kernel does not tell. */
export function processIdentity(): string | null {
  const ticks = startTicks(process.pid);
  return typeof ticks === 'number' ? `${processTable()} ${ticks}` : null;
}

/** Whether numbers of processes mean here what they meant there; `null` where nobody can tell. */
export function isInOurTable(identity: string): boolean | null {
  return identity.includes(' ') ? identity.startsWith(`${processTable()} `) : null;
}

/** Whether the process that had this number and identity in our table still runs. */
export function isAlive(pid: number, identity: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const ticks = startTicks(pid);
  // The number may have been given to another process since.
  return ticks === null || `${processTable()} ${ticks}` === identity;
}

/** Kernel and namespace whose process numbers mean the same; empty where that cannot be told. */
function processTable(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** When a process started, in ticks of the kernel; `null` where that cannot be told. */
function startTicks(pid: number): number | 'dead' | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    // Killed, but its parent has not taken notice yet.
    if (fields[0] === 'Z' || fields[0] === 'X') return 'dead';
    const ticks = fields[19];
    return ticks === undefined ? null : Number(ticks);
  } catch {
    return null;
  }
}
