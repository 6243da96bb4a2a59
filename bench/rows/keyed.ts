/** Keyed counts with a shuffle between two worker threads. */
import { runJob } from '@weir/core';
import { compare, runOnce, withFolder } from '../support/compare.ts';
import { Kept } from '../support/loop.ts';
import { MARKED, MarkedLatency } from '../support/marked.ts';
import { ordersOf } from '../support/records.ts';
import type { Throughput } from '../support/probe.ts';
import type { MakeRecord } from '../support/records.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';

const JOB = new URL('../jobs/keyed-count.ts', import.meta.url);
const THREADS = 2;
/** More than elsewhere, as the difference is a few per cent. */
const CHECKPOINT_ROUNDS = 6;

interface Input {
  readonly kind: 'int' | 'string' | 'shapeless';
  readonly keys: number;
  readonly records: number;
}

const INT: Input = { kind: 'int', keys: 100_000, records: 12_000_000 };
const STRING: Input = { kind: 'string', keys: 100_000, records: 3_000_000 };
const SHAPELESS: Input = { kind: 'shapeless', keys: 100_000, records: 1_500_000 };
const MANY_KEYS: Input = { kind: 'int', keys: 1_000_000, records: 8_000_000 };

function countLoop(make: MakeRecord): (records: number) => number {
  return (records) => {
    const counts = new Map<unknown, { count: number }>();
    const kept = new Kept();
    let checksum = 0;
    for (let index = 0; index < records; index++) {
      const order = make(index);
      kept.put(index, order);
      const entry = counts.get(order.key);
      if (entry === undefined) {
        counts.set(order.key, { count: 1 });
        checksum++;
      } else checksum += ++entry.count;
    }
    return checksum;
  };
}

function run(
  input: Input,
  probes: string,
  { checkpoints = null, latency }: { checkpoints?: string | null; latency?: MarkedLatency } = {},
): Promise<unknown> {
  const args = { probes, ...input };
  const marked = latency === undefined ? {} : { config: MARKED, onEvent: latency.onEvent };
  if (checkpoints === null) return runJob(JOB, { args, parallelism: THREADS, ...marked });
  return withFolder('weir-bench-data-', (dataDirectory) =>
    runJob(JOB, { args: { ...args, checkpoints }, parallelism: THREADS, dataDirectory }),
  );
}

function keyedRow(
  input: Input,
  row: Pick<Row, 'name' | 'title' | 'mustReach' | 'reachFor'> & { readonly floor?: number },
): Row {
  return {
    ...row,
    unit: 'M/s',
    compares: 'ratio',
    direction: 'atLeast',
    measure: async () => {
      const latency = new MarkedLatency();
      const measured = await compare({
        records: input.records,
        threads: THREADS,
        loop: countLoop(ordersOf(input.kind, input.keys)),
        run: (probes) => run(input, probes, { latency }),
      });
      return { ...measured, notes: latency.notes() };
    },
  };
}

/**
 * Exactly-once checkpoints every second, on disk, held against the same job without. Each goes
 * first as often as the other: the second run in a process finds more garbage and warmer caches.
 */
function checkpointRow(name: string, title: string, input: Input): Row {
  const measure = async (): Promise<Measured> => {
    const plain: Throughput[] = [];
    const checked: Throughput[] = [];
    const runPlain = async (): Promise<unknown> =>
      plain.push(await runOnce((probes) => run(input, probes)));
    const runChecked = async (): Promise<unknown> =>
      checked.push(await runOnce((probes) => run(input, probes, { checkpoints: '1000' })));
    for (let round = 0; round < CHECKPOINT_ROUNDS; round++)
      for (const runNext of round % 2 === 0 ? [runPlain, runChecked] : [runChecked, runPlain])
        await runNext();
    const medianOf = (runs: readonly Throughput[], pick: (one: Throughput) => number): number =>
      median(runs.map(pick));
    const perCpuSecond = (one: Throughput): number => one.perCpuSecond;
    return {
      value: medianOf(checked, (one) => one.perSecond / 1e6),
      baseline: medianOf(plain, (one) => one.perSecond / 1e6),
      cpuRatio: medianOf(checked, perCpuSecond) / medianOf(plain, perCpuSecond),
    };
  };
  const reach = { mustReach: 0.9, reachFor: 0.97 };
  return { name, title, unit: 'M/s', compares: 'ratio', direction: 'atLeast', ...reach, measure };
}

export const KEYED_ROWS: readonly Row[] = [
  keyedRow(INT, {
    name: 'keyed-int',
    title: 'keyed count, 2 threads, 100k int keys',
    mustReach: 0.3,
    reachFor: 0.5,
    floor: 4,
  }),
  keyedRow(STRING, {
    name: 'keyed-string',
    title: 'the same, 100k fresh string keys',
    mustReach: 0.5,
    reachFor: 0.8,
  }),
  keyedRow(SHAPELESS, {
    name: 'keyed-shapeless',
    title: 'the same, int keys, no stable shape',
    mustReach: 0.1,
    reachFor: 0.2,
    floor: 1.5,
  }),
  keyedRow(MANY_KEYS, {
    name: 'keyed-1m',
    title: 'the same, 1M int keys',
    mustReach: 0.4,
    reachFor: 0.6,
  }),
  checkpointRow('checkpoints-int', 'int row, checkpoints every 1 s / without', {
    ...INT,
    records: 40_000_000,
  }),
  checkpointRow('checkpoints-string', 'string row, checkpoints every 1 s / without', {
    ...STRING,
    records: 16_000_000,
  }),
];
