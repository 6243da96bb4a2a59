/**
 * Whether the process that leads a job is alive. On the same machine the process table knows; from
 * another machine (or container) only a lease tells, a file the owner touches every second. No wall
 * clock is believed: a process is known by the ticks of the kernel at which it started, and a lease
 * that looks old is watched for a while. This is for liveness alone: what keeps two leaders apart
 * is the job log (storage/job-store.ts).
 */
import { stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { JobOwner } from '../storage/job-store.ts';
import { isAlive, isInOurTable, processIdentity } from './process-identity.ts';
import { realClock } from './real-clock.ts';

const LEASE_RENEWAL_MS = 1000;
const LEASE_EXPIRY_MS = 10_000;
/** A living owner renews his lease in this time, whatever the clocks say. */
const WATCH_MS = 2500;

export function thisProcess(random: Random): JobOwner {
  return {
    pid: process.pid,
    host: hostname(),
    startedAt: Date.now() - Math.round(process.uptime() * 1000),
    token: processIdentity() ?? random.hex(16),
  };
}

/** Who holds the job, in words, if he is alive; else `null`. */
export async function livingOwner(
  owner: JobOwner | null,
  jobDirectory: string,
  clock: Clock = realClock,
): Promise<string | null> {
  if (owner === null) return null;
  const isNear = isInOurTable(owner.token) ?? owner.host === hostname();
  if (isNear)
    return isAlive(owner.pid, owner.token) ? `process ${owner.pid} on this machine` : null;
  return (await isRenewed(leasePath(jobDirectory), clock))
    ? `process ${owner.pid} on ${owner.host}, seen just now`
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

async function isRenewed(path: string, clock: Clock): Promise<boolean> {
  const before = await renewedAt(path);
  if (before === null) return false;
  const ageMs = clock.wallTime() - before;
  if (ageMs >= 0 && ageMs < LEASE_EXPIRY_MS) return true;
  // Too old, or of the future: perhaps only the clocks of two machines differ.
  await sleep(clock, WATCH_MS, 'watch a lease');
  return (await renewedAt(path)) !== before;
}

async function renewedAt(path: string): Promise<number | null> {
  const lease = await stat(path).catch(() => null);
  return lease === null ? null : lease.mtimeMs;
}
