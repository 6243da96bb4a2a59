/** Keyed counts with a shuffle between two worker threads. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runJob } from '@weir/core';
import type { RunControl } from '@weir/core';
import { compare, withFolder } from '../support/compare.ts';
import { Counts, during, wallTime } from '../support/counts.ts';
import type { Span } from '../support/counts.ts';
import { Kept } from '../support/loop.ts';
import { MARKED, MarkedLatency } from '../support/marked.ts';
import { ordersOf } from '../support/records.ts';
import type { MakeRecord } from '../support/records.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';

const JOB = new URL('../jobs/keyed-count.ts', import.meta.url);
const THREADS = 2;
/** Of some seconds each: the difference is a few per cent. */
const CHECKPOINT_ROUNDS = 12;
const CHECKPOINTS = 3;
const SECOND_MS = 1000;
const WARM_UP_RECORDS = 3_000_000;
const FOR_EVER = 1e12;

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

function run(input: Input, probes: string, latency: MarkedLatency): Promise<unknown> {
  const marked = { config: MARKED, onEvent: latency.onEvent };
  return runJob(JOB, { args: { probes, ...input }, parallelism: THREADS, ...marked });
}

/** One a second; it may take a part of the second. */
async function checkpointsFor(control: RunControl): Promise<void> {
  for (let taken = 0; taken < CHECKPOINTS; taken++)
    await Promise.all([control.triggerCheckpoint(), sleep(SECOND_MS)]);
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
        run: (probes) => run(input, probes, latency),
      });
      return { ...measured, notes: latency.notes() };
    },
  };
}

/**
 * Exactly-once checkpoints every second, on disk, held against the same job without: in one run, a
 * few seconds with them and as many without in turn, so that both have the same share of whatever
 * else the machine does.
 */
function checkpointRow(name: string, title: string, { kind, keys }: Input): Row {
  const measure = (): Promise<Measured> =>
    withFolder('weir-bench-', async (probes) =>
      withFolder('weir-bench-data-', async (dataDirectory) => {
        const started = Promise.withResolvers<RunControl>();
        const counts = new Counts();
        // Those at this interval never come; the others are asked for.
        const args = { probes, kind, keys, records: FOR_EVER, checkpoints: '3600000', told: 'yes' };
        const onStart = started.resolve;
        const running = runJob(JOB, { args, parallelism: THREADS, dataDirectory, onStart });
        running.catch(started.reject);
        const control = await started.promise;
        const plain: Span[] = [];
        const checked: Span[] = [];
        while (counts.at(wallTime()) < WARM_UP_RECORDS) await sleep(50);
        await control.triggerCheckpoint();
        for (let round = 0; round < CHECKPOINT_ROUNDS; round++) {
          checked.push(await during(() => checkpointsFor(control)));
          plain.push(await during(() => sleep(CHECKPOINTS * SECOND_MS)));
        }
        await sleep(200);
        control.cancel();
        await running;
        counts.close();
        const perSecond = ({ from, to }: Span): number =>
          ((counts.at(to) - counts.at(from)) / (to - from)) * 1000;
        const perCpu = (span: Span): number =>
          (counts.at(span.to) - counts.at(span.from)) / span.cpu;
        return {
          value: median(checked.map(perSecond)) / 1e6,
          baseline: median(plain.map(perSecond)) / 1e6,
          cpuRatio: median(checked.map(perCpu)) / median(plain.map(perCpu)),
        };
      }),
    );
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
  checkpointRow('checkpoints-int', 'int row, checkpoints every 1 s / without', INT),
  checkpointRow('checkpoints-string', 'string row, checkpoints every 1 s / without', STRING),
];
