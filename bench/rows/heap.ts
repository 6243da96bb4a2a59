/** The heap after ten minutes of a fast source before a slow sink: it must not grow. */
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

/** Growth over the time measured, in per cent of what is held: by the median of all slopes. */
function growthPercent(samples: readonly (readonly [number, number])[]): number {
  const slopes: number[] = [];
  for (const [i, [time, held]] of samples.entries())
    for (const [laterTime, laterHeld] of samples.slice(i + 1))
      slopes.push((laterHeld - held) / (laterTime - time));
  const span = (samples.at(-1)?.[0] ?? 0) - (samples[0]?.[0] ?? 0);
  const held = median(samples.map(([, bytes]) => bytes));
  return ((median(slopes) * span) / held) * 100;
}

async function measure(): Promise<Measured> {
  return withFolder('weir-bench-', async (probes) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), DURATION_MS);
    await runJob(JOB, { args: { probes }, parallelism: 2, signal: stop.signal });
    const perThread = readdirSync(probes).map((name) => {
      const lines = readFileSync(join(probes, name), 'utf8').trim().split('\n');
      const all = lines.map((line) => line.split(' ').map(Number) as [number, number]);
      return all.slice(Math.floor(all.length * WARM_UP));
    });
    const growth = perThread.map(growthPercent);
    const megabytes = perThread.map((all) => median(all.map(([, bytes]) => bytes)) / 2 ** 20);
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
