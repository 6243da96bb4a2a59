/** Times that the jobs of other processes write down, each into a file of its own. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Longest wait for anything that a process does. */
export const WAIT_MAX_MS = 120_000;

/** Milliseconds since the epoch at which the first file of the name was written by the process. */
export async function waitForMark(folder: string, name: string, pid = 0): Promise<number> {
  const until = Date.now() + WAIT_MAX_MS;
  while (Date.now() < until) {
    const prefix = pid === 0 ? `${name}-` : `${name}-${pid}-`;
    const files = readdirSync(folder).filter((file) => file.startsWith(prefix));
    const times = files.map((file) => Number(readFileSync(join(folder, file), 'utf8')));
    if (times.length > 0 && times.every((time) => time > 0)) return Math.min(...times);
    await sleep(2);
  }
  throw new Error(`no process wrote ${name} within ${WAIT_MAX_MS} ms`);
}
