/** How long a record takes through a shuffle when there is little else to do. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runJob } from '@weir/core';
import { withFolder } from '../support/compare.ts';
import type { Measured, Row } from '../support/row.ts';
import { percentile } from '../support/row.ts';

const JOB = new URL('../jobs/latency.ts', import.meta.url);
const RATE = 1000;
const RECORDS = 8000;
/** Until then code is compiled. */
const WARM_UP = 2000;

async function measure(): Promise<Measured> {
  return withFolder('weir-bench-', async (probes) => {
    await runJob(JOB, {
      args: { probes, records: RECORDS, rate: RATE },
      parallelism: 2,
      config: { 'execution.buffer-timeout.interval': '0ms' },
    });
    const late = readdirSync(probes).flatMap((name) => {
      const all = JSON.parse(readFileSync(join(probes, name), 'utf8')) as number[];
      return all.slice(WARM_UP / 2);
    });
    const at = (share: number): number => percentile(late, share);
    const notes = { p50: at(0.5), p90: at(0.9), max: at(1), records: late.length };
    return { value: at(0.99), baseline: null, notes };
  });
}

export const LATENCY_ROW: Row = {
  name: 'latency',
  title: 'latency through a shuffle at 1,000 records/s, buffer time-out 0, p99',
  unit: 'ms',
  compares: 'value',
  direction: 'atMost',
  mustReach: 2,
  reachFor: 0.3,
  measure,
};
