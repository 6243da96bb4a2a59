/**
 * Timers of one time, and a binary heap of such buckets with the earliest on top. A bucket knows
 * its place in the heap, so that an emptied one leaves at once: timers that are moved again and
 * again leave nothing behind.
 */
import { assert } from '../../base/assert.ts';
import type { MapKey } from '../map-key.ts';

export interface Bucket {
  readonly timestamp: number;
  /** Keys in the order of registration, each with the version it is settled at. */
  readonly timers: Map<MapKey, number>;
  /** Where firing has come to; only while it fires. */
  firing: Iterator<MapKey> | null;
  heapIndex: number;
  /** Stands with keys that are known to be in the bucket; another one once any key has left. */
  mark: object | null;
}

export class BucketHeap {
  readonly #buckets: Bucket[] = [];

  get first(): Bucket | undefined {
    return this.#buckets[0];
  }

  add(bucket: Bucket): void {
    this.#place(bucket, this.#buckets.length);
    this.#rise(bucket);
  }

  remove(bucket: Bucket): void {
    assert(this.#buckets[bucket.heapIndex] === bucket, 'a bucket is not at its place in the heap');
    const last = this.#buckets.pop()!;
    if (last === bucket) return;
    this.#place(last, bucket.heapIndex);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(bucket: Bucket): void {
    while (bucket.heapIndex > 0) {
      const parent = this.#buckets[(bucket.heapIndex - 1) >> 1]!;
      if (parent.timestamp <= bucket.timestamp) return;
      this.#swap(bucket, parent);
    }
  }

  #sink(bucket: Bucket): void {
    for (;;) {
      const left = this.#buckets[2 * bucket.heapIndex + 1];
      const right = this.#buckets[2 * bucket.heapIndex + 2];
      if (left === undefined) return;
      const child = right !== undefined && right.timestamp < left.timestamp ? right : left;
      if (child.timestamp >= bucket.timestamp) return;
      this.#swap(bucket, child);
    }
  }

  #swap(a: Bucket, b: Bucket): void {
    const index = a.heapIndex;
    this.#place(a, b.heapIndex);
    this.#place(b, index);
  }

  #place(bucket: Bucket, index: number): void {
    this.#buckets[index] = bucket;
    bucket.heapIndex = index;
  }
}
