/**
 * The heap after ten minutes of a fast source before a slow sink: it must not grow. A module that
 * a thread loads late, such as the native part of msgpackr (0.6 MB), is no growth that goes on, so
 * only the longest time without a module loaded counts; it must be most of the time.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runJob } from '@weir/core';
import { withFolder } from '../support/compare.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';

const JOB = new URL('../jobs/slow-sink.ts', import.meta.url);
const DURATION_MS = Number(process.env['WEIR_BENCH_HEAP_MS'] ?? 600_000);
/** Until then code is compiled and buffers find their sizes. */
const WARM_UP = 0.2;
/** Share of the samples after it that must have the same modules loaded. */
const SETTLED_MIN = 0.75;

interface Sample {
  readonly time: number;
  readonly held: number;
  /** Modules that the thread had loaded by then. */
  readonly modules: number;
}

/** The samples that count. */
function settledOf(thread: string): readonly Sample[] {
  const lines = thread.trim().split('\n');
  const all = lines.map((line): Sample => {
    const [time = NaN, held = NaN, modules = NaN] = line.split(' ').map(Number);
    return { time, held, modules };
  });
  const warm = all.slice(Math.floor(all.length * WARM_UP));
  const stretches = Map.groupBy(warm, ({ modules }) => modules).values();
  const longest = [...stretches].reduce((one, other) => (other.length > one.length ? other : one));
  if (longest.length < warm.length * SETTLED_MIN)
    throw new Error(`of ${warm.length} samples only ${longest.length} had the same modules loaded`);
  return longest;
}

/** Growth over the time measured, in per cent of what is held: by the median of all slopes. */
function growthPercent(samples: readonly Sample[]): number {
  const slopes: number[] = [];
  for (const [i, { time, held }] of samples.entries())
    for (const later of samples.slice(i + 1))
      slopes.push((later.held - held) / (later.time - time));
  const span = (1 - WARM_UP) * DURATION_MS;
  return ((median(slopes) * span) / median(samples.map(({ held }) => held))) * 100;
}

async function measure(): Promise<Measured> {
  return withFolder('weir-bench-', async (probes) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), DURATION_MS);
    await runJob(JOB, { args: { probes }, parallelism: 2, signal: stop.signal });
    const files = readdirSync(probes).map((name) => readFileSync(join(probes, name), 'utf8'));
    const perThread = files.map(settledOf);
    const growth = perThread.map(growthPercent);
    const megabytes = perThread.map((all) => median(all.map(({ held }) => held)) / 2 ** 20);
    const samples = perThread.reduce((sum, all) => sum + all.length, 0);
    const notes = { heldMiB: Math.max(...megabytes), samples };
    return { value: Math.max(...growth), baseline: null, notes };
  });
}

export const HEAP_ROW: Row = {
  name: 'heap',
  title: 'growth of the heap in 10 minutes of a fast source before a slow sink',
  unit: '%',
  compares: 'value',
  direction: 'atMost',
  mustReach: 1,
  reachFor: null,
  long: true,
  measure,
};
