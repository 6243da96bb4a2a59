/**
 * Whether the process that leads a job is alive. On the same machine the process table knows; from
 * another machine (or container) only a lease tells, a file the owner touches every second. This is
 * for liveness alone: what keeps two leaders apart is the job log (storage/job-store.ts).
 */
import { readFileSync } from 'node:fs';
import { stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../base/random.ts';
import type { JobOwner } from '../storage/job-store.ts';

const LEASE_RENEWAL_MS = 1000;
const LEASE_EXPIRY_MS = 10_000;
/** Clock ticks a second in /proc, the same on every Linux. */
const TICKS_PER_SECOND = 100;

export function thisProcess(random: Random): JobOwner {
  return {
    pid: process.pid,
    host: hostname(),
    startedAt: Date.now() - Math.round(process.uptime() * 1000),
    token: random.hex(16),
  };
}

/** Who holds the job, in words, if he is alive; else `null`. */
export async function livingOwner(
  owner: JobOwner | null,
  jobDirectory: string,
): Promise<string | null> {
  if (owner === null) return null;
  if (owner.host === hostname())
    return isAlive(owner) ? `process ${owner.pid} on this machine` : null;
  const lease = await stat(leasePath(jobDirectory)).catch(() => null);
  if (lease === null) return null;
  const ageMs = Date.now() - lease.mtimeMs;
  return ageMs < LEASE_EXPIRY_MS
    ? `process ${owner.pid} on ${owner.host}, last seen ${Math.round(ageMs / 1000)} s ago`
    : null;
}

/** Renews the lease until the result is called. */
export function holdLease(jobDirectory: string): () => void {
  const path = leasePath(jobDirectory);
  const renew = (): void => {
    const now = new Date();
    // A lease that cannot be renewed makes this run look dead; it costs nothing but a takeover.
    utimes(path, now, now)
      .catch(() => writeFile(path, ''))
      .catch(() => undefined);
  };
  renew();
  const timer = setInterval(renew, LEASE_RENEWAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function leasePath(jobDirectory: string): string {
  return join(jobDirectory, 'lease');
}

function isAlive({ pid, startedAt }: JobOwner): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const started = processStart(pid);
  if (started === 'dead') return false;
  // The number may have been given to another process since.
  return started === null || Math.abs(started - startedAt) < 5000;
}

/** Wall-clock milliseconds at which a process started; `null` where that cannot be told. */
function processStart(pid: number): number | 'dead' | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    // Killed, but its parent has not taken notice yet.
    if (fields[0] === 'Z' || fields[0] === 'X') return 'dead';
    const boot = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1];
    const ticks = fields[19];
    if (boot === undefined || ticks === undefined) return null;
    return Number(boot) * 1000 + (Number(ticks) / TICKS_PER_SECOND) * 1000;
  } catch {
    return null;
  }
}
