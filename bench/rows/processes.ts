/** Whole processes of the packed command: how soon they work, and how soon again after a kill. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { completedCheckpoints } from '../../tools/exactly-once/weir-process.ts';
import { withFolder } from '../support/compare.ts';
import { waitForMark, WAIT_MAX_MS } from '../support/marks.ts';
import { ended, startCommand, unpackedCommand } from '../support/package.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';

const JOB = fileURLToPath(new URL('../jobs/first-record.ts', import.meta.url));
const STARTS = 5;
const KEYS = 1_000_000;
function args(marks: string, keys: number, records: number): string[] {
  const own = ['--marks', marks, '--keys', String(keys), '--records', String(records)];
  return ['run', '-p', '2', JOB, ...own];
}

async function measureStart(): Promise<Measured> {
  return withFolder('weir-bench-', async (folder) => {
    const command = unpackedCommand(folder);
    const times: number[] = [];
    for (let round = 0; round < STARTS; round++) {
      const place = join(folder, `run-${round}`);
      mkdirSync(place);
      const began = Date.now();
      const child = startCommand(command, args(place, 10, 1000), place);
      times.push((await waitForMark(place, 'first')) - began);
      await ended(child);
    }
    return { value: median(times), baseline: null, notes: { slowest: Math.max(...times) } };
  });
}

async function measureRecovery(): Promise<Measured> {
  return withFolder('weir-bench-', async (folder) => {
    const command = unpackedCommand(folder);
    const options = [...args(folder, KEYS, 1e12), '--checkpoints', '500'];
    const first = startCommand(command, options, folder);
    const dead = ended(first);
    await waitForMark(folder, 'first', first.pid);
    await sleep(3000);
    const before = completedCheckpoints(join(folder, 'weir-data')).at(-1) ?? 0;
    // Wait for a checkpoint that began when all keys were there.
    const until = Date.now() + WAIT_MAX_MS;
    while ((completedCheckpoints(join(folder, 'weir-data')).at(-1) ?? 0) < before + 2) {
      if (Date.now() > until) throw new Error('no checkpoint was completed');
      await sleep(5);
    }
    const killedAt = Date.now();
    first.kill('SIGKILL');
    await dead;
    const second = startCommand(command, options, folder);
    const again = await waitForMark(folder, 'first', second.pid);
    second.kill('SIGKILL');
    await ended(second);
    return { value: again - killedAt, baseline: null };
  });
}

const common = { unit: 'ms', compares: 'value', direction: 'atMost' } as const;

export const PROCESS_ROWS: readonly Row[] = [
  {
    ...common,
    name: 'start',
    title: '`weir run -p 2` of a trivial job, packed build, start to first record',
    mustReach: 700,
    reachFor: 400,
    measure: measureStart,
  },
  {
    ...common,
    name: 'recovery',
    title: 'kill -9 to first record processed again, p = 2, 1M keys of 100 B',
    mustReach: 3000,
    reachFor: 1500,
    measure: measureRecovery,
  },
];
