/**
 * How far the reader is behind, as counters that go up and down, summed over subtasks:
 * `recordsLag` (to the end of the partition), `recordsLagCommitted` (to the last stable offset) and
 * `stalledAtStableOffsetMs` (how long an open transaction has held the reader up).
 */
import type { Clock, Counter, UserMetrics } from '@weir/core';
import type { FetchedPartition } from '../wire/fetch.ts';
import type { PartitionReader } from './partition-reader.ts';

interface Shown {
  lag: number;
  committedLag: number;
  stalledMs: number;
  stableOffset: number;
  stableSince: number;
}

export class LagMetrics {
  readonly #clock: Clock;
  readonly #lag: Counter;
  readonly #committedLag: Counter;
  readonly #stalled: Counter;
  readonly #shown = new Map<string, Shown>();

  constructor(metrics: UserMetrics, clock: Clock) {
    this.#clock = clock;
    this.#lag = metrics.counter('recordsLag');
    this.#committedLag = metrics.counter('recordsLagCommitted');
    this.#stalled = metrics.counter('stalledAtStableOffsetMs');
  }

  update(partition: PartitionReader, fetched: FetchedPartition): void {
    const now = this.#clock.now();
    const { highWatermark, lastStableOffset } = fetched;
    let shown = this.#shown.get(partition.id);
    if (shown === undefined) {
      shown = { lag: 0, committedLag: 0, stalledMs: 0, stableOffset: -1, stableSince: now };
      this.#shown.set(partition.id, shown);
    }
    if (shown.stableOffset !== lastStableOffset) {
      shown.stableOffset = lastStableOffset;
      shown.stableSince = now;
    }
    const isStalled = lastStableOffset < highWatermark && partition.next >= lastStableOffset;
    this.#show(shown, {
      lag: Math.max(0, highWatermark - partition.next),
      committedLag: Math.max(0, lastStableOffset - partition.next),
      stalledMs: isStalled ? Math.round(now - shown.stableSince) : 0,
    });
  }

  remove(partition: PartitionReader): void {
    const shown = this.#shown.get(partition.id);
    if (shown !== undefined) this.#show(shown, { lag: 0, committedLag: 0, stalledMs: 0 });
    this.#shown.delete(partition.id);
  }

  #show(shown: Shown, now: Pick<Shown, 'lag' | 'committedLag' | 'stalledMs'>): void {
    this.#lag.add(now.lag - shown.lag);
    this.#committedLag.add(now.committedLag - shown.committedLag);
    this.#stalled.add(now.stalledMs - shown.stalledMs);
    Object.assign(shown, now);
  }
}
