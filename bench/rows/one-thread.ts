/** Rows within one thread: a stateless chain, and counts by key and time through timers. */
import { datagen, job, monotonousTimestamps, runJob, valueState } from '@weir/core';
import { compare } from '../support/compare.ts';
import { discard } from '../support/discard.ts';
import { Kept } from '../support/loop.ts';
import { Probe } from '../support/probe.ts';
import { intOrders } from '../support/records.ts';
import type { Order } from '../support/records.ts';
import type { Row } from '../support/row.ts';

const CHAIN_RECORDS = 12_000_000;
const TIMER_RECORDS = 3_000_000;
const TIMER_KEYS = 10_000;
/** Event time goes on by a millisecond each so many records: some 50 a key and window. */
const RECORDS_PER_MS = 500;
const WINDOW_MS = 1000;

interface Priced {
  readonly id: number;
  readonly key: number | string;
  readonly name: string;
  readonly amount: number;
  readonly open: boolean;
}

const withTax = (order: Order): Priced => ({
  id: order.id,
  key: order.key,
  name: order.name,
  amount: order.amount * 1.21,
  open: order.open,
});
const isBig = (order: Priced): boolean => order.amount > 100;
const cents = (order: Priced): Priced => ({
  id: order.id,
  key: order.key,
  name: order.name,
  amount: Math.round(order.amount * 100),
  open: order.open,
});

function chainLoop(records: number): number {
  const make = intOrders(100_000);
  const kept = new Kept();
  let checksum = 0;
  for (let index = 0; index < records; index++) {
    const order = make(index);
    kept.put(index, order);
    const priced = withTax(order);
    if (!isBig(priced)) {
      checksum++;
      continue;
    }
    checksum += cents(priced).amount;
  }
  return checksum;
}

function runChain(probes: string): Promise<unknown> {
  const probe = new Probe();
  return runJob(
    job('chain', (env) => {
      env
        .fromSource(datagen({ generator: intOrders(100_000), count: CHAIN_RECORDS }))
        .map(withTax)
        .filter({
          filter(order) {
            probe.hit();
            if (isBig(order)) return true;
            probe.checksum++;
            return false;
          },
        })
        .map({
          map(order) {
            const result = cents(order);
            probe.checksum += result.amount;
            return result;
          },
          close() {
            probe.save(probes, 0);
          },
        })
        .sinkTo(discard());
    }),
  );
}

const timeOf = (index: number): number => Math.floor(index / RECORDS_PER_MS);

/** Buckets per window, as one would write it by hand for records in order of time. */
function timerLoop(records: number): number {
  const make = intOrders(TIMER_KEYS);
  const kept = new Kept();
  let window = 0;
  let counts = new Map<unknown, { count: number }>();
  let checksum = 0;
  const fire = (): void => {
    for (const { count } of counts.values()) checksum += count * count;
    counts = new Map();
  };
  for (let index = 0; index < records; index++) {
    const order = make(index);
    kept.put(index, order);
    const time = timeOf(order.id);
    const start = time - (time % WINDOW_MS);
    if (start !== window) {
      fire();
      window = start;
    }
    const entry = counts.get(order.key);
    if (entry === undefined) counts.set(order.key, { count: 1 });
    else entry.count++;
  }
  fire();
  return checksum;
}

function runTimers(probes: string): Promise<unknown> {
  const probe = new Probe();
  return runJob(
    job('timers', (env) => {
      env
        .fromSource(datagen({ generator: intOrders(TIMER_KEYS), count: TIMER_RECORDS }), {
          uid: 'orders',
          watermarks: monotonousTimestamps((order) => timeOf(order.id)),
        })
        .keyBy((order) => order.key)
        .process({
          state: { count: valueState({ default: 0 }) },
          onElement(_order, context) {
            probe.hit();
            const { count } = context.state;
            count.update(count.value + 1);
            const { timestamp } = context;
            context.timerService.registerEventTimeTimer(
              timestamp - (timestamp % WINDOW_MS) + WINDOW_MS - 1,
            );
          },
          onTimer(_timestamp, { state }) {
            probe.checksum += state.count.value * state.count.value;
            state.count.clear();
          },
          close() {
            probe.save(probes, 0);
          },
        })
        .uid('counts')
        .sinkTo(discard());
    }),
    // A watermark after each batch, so that a window fires before records of the next one come.
    { config: { 'pipeline.auto-watermark-interval': '0ms' } },
  );
}

export const ONE_THREAD_ROWS: readonly Row[] = [
  {
    name: 'chain',
    title: 'map + filter + map, one thread, 5-field objects',
    unit: 'M/s',
    compares: 'ratio',
    direction: 'atLeast',
    mustReach: 0.35,
    reachFor: 0.7,
    floor: 20,
    measure: () => compare({ records: CHAIN_RECORDS, threads: 1, loop: chainLoop, run: runChain }),
  },
  {
    name: 'timers',
    title: 'event-time bucket count by timers, one thread, 10k keys',
    unit: 'M/s',
    compares: 'ratio',
    direction: 'atLeast',
    mustReach: 0.3,
    reachFor: 0.6,
    floor: 4,
    measure: () => compare({ records: TIMER_RECORDS, threads: 1, loop: timerLoop, run: runTimers }),
  },
];
