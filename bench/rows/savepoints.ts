/**
 * What a savepoint of a million keys of 100 bytes costs: the job it is taken of, the job that
 * starts from it at another parallelism, and whoever reads its rows.
 */
import { spawn } from 'node:child_process';
import { closeSync, createReadStream, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runJob } from '@weir/core';
import type { RunControl } from '@weir/core';
import { withFolder } from '../support/compare.ts';
import { Counts, during, wallTime } from '../support/counts.ts';
import type { Span } from '../support/counts.ts';
import { waitForMark } from '../support/marks.ts';
import { ended, startCommand, unpackedCommand } from '../support/package.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';

const JOB = new URL('../jobs/texts.ts', import.meta.url);
const KEYS = 1_000_000;
const ROUNDS = 7;
const STARTS = 3;

/** The job, once it holds all keys, under the hands of `use`; then it is stopped. */
async function withJob<T>(use: (control: RunControl, counts: Counts) => Promise<T>): Promise<T> {
  const started = Promise.withResolvers<RunControl>();
  const counts = new Counts();
  const running = runJob(JOB, {
    args: { keys: KEYS },
    parallelism: 2,
    onStart: started.resolve,
  });
  running.catch(started.reject);
  const control = await started.promise;
  try {
    while (counts.at(wallTime()) < 2 * KEYS) await sleep(50);
    return await use(control, counts);
  } finally {
    control.cancel();
    await running;
    counts.close();
  }
}

async function measureThroughput(): Promise<Measured> {
  return withFolder('weir-bench-savepoint-', (folder) =>
    withJob(async (control, counts) => {
      const plain: Span[] = [];
      const saving: Span[] = [];
      await control.triggerSavepoint(join(folder, 'warm-up'));
      for (let round = 0; round < ROUNDS; round++) {
        const directory = join(folder, String(round));
        saving.push(await during(() => control.triggerSavepoint(directory)));
        rmSync(directory, { recursive: true });
        const { from, to } = saving.at(-1)!;
        plain.push(await during(() => sleep(to - from)));
      }
      // What was told last may still be under way.
      await sleep(200);
      const perSecond = ({ from, to }: Span): number =>
        ((counts.at(to) - counts.at(from)) / (to - from)) * 1000;
      const perCpu = (span: Span): number => (counts.at(span.to) - counts.at(span.from)) / span.cpu;
      return {
        value: median(saving.map(perSecond)) / 1e6,
        baseline: median(plain.map(perSecond)) / 1e6,
        cpuRatio: median(saving.map(perCpu)) / median(plain.map(perCpu)),
        notes: { savepointMs: median(saving.map(({ from, to }) => to - from)) },
      };
    }),
  );
}

function takeSavepoint(folder: string): Promise<string> {
  return withJob(async (control) => (await control.triggerSavepoint(folder)).path ?? '');
}

async function measureRestart(): Promise<Measured> {
  return withFolder('weir-bench-', async (folder) => {
    const savepoint = await takeSavepoint(join(folder, 'savepoints'));
    const command = unpackedCommand(folder);
    const times: number[] = [];
    for (let round = 0; round < STARTS; round++) {
      const place = join(folder, `run-${round}`);
      mkdirSync(place);
      const job = [fileURLToPath(JOB), '--keys', String(KEYS), '--marks', place];
      const began = Date.now();
      const child = startCommand(command, ['run', '-s', savepoint, '-p', '3', ...job], place);
      times.push((await waitForMark(place, 'first', child.pid)) - began);
      child.kill('SIGKILL');
      await ended(child);
    }
    return { value: median(times), baseline: null, notes: { slowest: Math.max(...times) } };
  });
}

/** Counts the lines, and looks into each. */
async function rowsIn(path: string): Promise<number> {
  const keys = new Set<number>();
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const { key, value } = JSON.parse(line) as { readonly key: number; readonly value: string };
    if (value.length === 100) keys.add(key);
  }
  return keys.size;
}

async function measureInspect(): Promise<Measured> {
  return withFolder('weir-bench-', async (folder) => {
    const savepoint = await takeSavepoint(join(folder, 'savepoints'));
    const command = unpackedCommand(folder);
    const output = join(folder, 'rows.ndjson');
    const rates: number[] = [];
    for (let round = 0; round < STARTS; round++) {
      const file = openSync(output, 'w');
      const began = performance.now();
      const args = [command, 'inspect', savepoint, '--state', 'texts/text'];
      await ended(spawn(process.execPath, args, { stdio: ['ignore', file, 'inherit'] }));
      rates.push(KEYS / (performance.now() - began) / 1000);
      closeSync(file);
    }
    const rows = await rowsIn(output);
    if (rows !== KEYS) throw new Error(`wrong answer: ${rows} rows of ${KEYS}`);
    return { value: median(rates), baseline: null };
  });
}

export const SAVEPOINT_ROWS: readonly Row[] = [
  {
    name: 'savepoint-throughput',
    title: 'keyed updates while a savepoint of 1M keys × 100 B is written / without',
    unit: 'M/s',
    compares: 'ratio',
    direction: 'atLeast',
    mustReach: 0.7,
    reachFor: 0.9,
    measure: measureThroughput,
  },
  {
    name: 'savepoint-restart',
    title: '`weir run -s` from it at p = 3 instead of 2, packed build, start to first record',
    unit: 'ms',
    compares: 'value',
    direction: 'atMost',
    mustReach: 5000,
    reachFor: 2000,
    measure: measureRestart,
  },
  {
    name: 'savepoint-inspect',
    title: '`weir inspect` of it, rows as ndjson into a file, start included',
    unit: 'M/s',
    compares: 'value',
    direction: 'atLeast',
    mustReach: 0.3,
    reachFor: 1,
    measure: measureInspect,
  },
];
