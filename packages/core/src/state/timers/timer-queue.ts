/**
 * Pending timers of one time domain: at most one per key and time. Buckets by time hold the keys;
 * registering and deleting cost O(1), and O(log buckets) where a time is new or gone. Timers never
 * change, so a snapshot needs to see one only before it fires or is deleted: `onRemove` is told.
 */
import { assert } from '../../base/assert.ts';
import type { KeyValue } from '../../api/functions.ts';
import type { MapKey } from '../map-key.ts';
import { keyOfMapKey, mapKeyOf } from '../map-key.ts';
import type { Bucket } from './bucket-heap.ts';
import { BucketHeap } from './bucket-heap.ts';

/** Runs one timer; `false` asks to stop after it and to be called again later. */
export type FireTimer = (key: KeyValue, timestamp: number) => boolean | void;

/** Called for a timer that is about to go: its time, its key and the version it is settled at. */
export type OnRemove = (timestamp: number, mapKey: MapKey, version: number) => void;

export class TimerQueue {
  readonly #buckets = new Map<number, Bucket>();
  readonly #heap = new BucketHeap();
  readonly #onRemove: OnRemove;
  /** Found last: windows register the same time for record after record. */
  #recent: Bucket | null = null;
  #size = 0;

  constructor(onRemove: OnRemove) {
    this.#onRemove = onRemove;
  }

  get size(): number {
    return this.#size;
  }

  /** Time of the earliest timer, or `null`. */
  get next(): number | null {
    return this.#heap.first?.timestamp ?? null;
  }

  register(key: KeyValue, timestamp: number, version: number): void {
    const bucket = this.#recent?.timestamp === timestamp ? this.#recent : this.#bucketAt(timestamp);
    const mapKey = mapKeyOf(key);
    if (bucket.timers.has(mapKey)) return;
    bucket.timers.set(mapKey, version);
    this.#size++;
  }

  /**
   * What a key may keep to show that its timer for this time is pending, and whether it did: saves
   * the look-up where every record registers the same timer again. Null for a time without timers.
   */
  markAt(timestamp: number): object | null {
    const recent = this.#recent;
    if (recent === null || recent.timestamp !== timestamp) return null;
    return (recent.mark ??= {});
  }

  #bucketAt(timestamp: number): Bucket {
    let bucket = this.#buckets.get(timestamp);
    if (bucket === undefined) {
      bucket = { timestamp, timers: new Map(), firing: null, heapIndex: 0, mark: null };
      this.#buckets.set(timestamp, bucket);
      this.#heap.add(bucket);
    }
    this.#recent = bucket;
    return bucket;
  }

  delete(key: KeyValue, timestamp: number): void {
    const bucket = this.#buckets.get(timestamp);
    if (bucket === undefined) return;
    this.#remove(bucket, mapKeyOf(key));
    if (bucket.timers.size === 0) this.#drop(bucket);
  }

  /**
   * Fires what is due up to `until`, in order of time, within one time in order of registration;
   * also what `fire` registers meanwhile. `false` when `fire` asked to stop.
   */
  fireUpTo(until: number, fire: FireTimer): boolean {
    for (;;) {
      const bucket = this.#heap.first;
      if (bucket === undefined || bucket.timestamp > until) return true;
      const mapKey = nextKey(bucket);
      this.#remove(bucket, mapKey);
      // Gone before it fires, as `fire` may register the same timer again.
      if (bucket.timers.size === 0) this.#drop(bucket);
      if (fire(keyOfMapKey(mapKey), bucket.timestamp) === false) return false;
    }
  }

  /** Visits each timer; what `visit` returns becomes the version it is settled at. */
  *walk(
    visit: (timestamp: number, mapKey: MapKey, version: number) => number,
  ): Generator<void, void> {
    for (const bucket of this.#buckets.values())
      for (const [mapKey, version] of bucket.timers) {
        bucket.timers.set(mapKey, visit(bucket.timestamp, mapKey, version));
        yield;
      }
  }

  #remove(bucket: Bucket, mapKey: MapKey): void {
    const version = bucket.timers.get(mapKey);
    if (version === undefined) return;
    this.#onRemove(bucket.timestamp, mapKey, version);
    bucket.mark = null;
    bucket.timers.delete(mapKey);
    this.#size--;
  }

  #drop(bucket: Bucket): void {
    if (this.#recent === bucket) this.#recent = null;
    this.#buckets.delete(bucket.timestamp);
    this.#heap.remove(bucket);
  }
}

/** Next key of a bucket. An iterator is kept, as starting anew would skip all fired ones again. */
function nextKey(bucket: Bucket): MapKey {
  bucket.firing ??= bucket.timers.keys();
  let step = bucket.firing.next();
  if (step.done === true) {
    bucket.firing = bucket.timers.keys();
    step = bucket.firing.next();
  }
  assert(step.done !== true, 'an empty bucket is still in the queue');
  return step.value;
}
