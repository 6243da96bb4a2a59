/**
 * Snapshots of a table that is never copied. Starting one raises the version, no more. Whatever
 * was put into the table carries the version it was last *settled* at; one that is older than a
 * snapshot belongs to it as it is, and must be encoded before it changes or goes:
 *
 *   - the first touch of an old item settles it: it is encoded at once into every snapshot that
 *     is being written and has not got it, and takes the present version. One of long texts, which
 *     nobody can change, is only noted, and encoded with the rest: no record waits for that;
 *   - a live iterator settles the rest in slices between batches.
 *
 * So an item enters each snapshot exactly once, as it was when the snapshot started. Several may be
 * written at once. An item that cannot be encoded fails the snapshots, not the record that touched
 * it. Used by the heap table and by timers; an untouched item costs one comparison.
 */
import { assert } from '../base/assert.ts';
import { ValueEncoder } from '../base/codec/value-codec.ts';
import type { KeyGroupSection, KeyedSnapshotCursor, SectionOutput } from './keyed-state-backend.ts';
import type { SpareWriters } from './snapshot/key-group-blocks.ts';
import { KeyGroupBlocks } from './snapshot/key-group-blocks.ts';

/** About 2 ms of encoding: a slice ends here even when its entries are few. */
const SLICE_BYTES_MAX = 256 * 1024;
/** Handing on a block costs about as much as encoding so many entries. */
const ENTRIES_PER_FLUSH = 16;

/** Noting an item costs as much as encoding one of up to so many bytes, which is done at once. */
const WAITING_ITEM_BYTES_MIN = 112;
/** Items of primitives that were touched wait to be encoded, up to so many bytes a snapshot. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** What one takes beside its texts. */
const WAITING_ITEM_BYTES = 48;
const WAITING_RUN_LENGTH = 16_384;

/** What a table gives for a snapshot. */
export interface SnapshotSource {
  /** Items in the table now: all belong to the snapshot. */
  readonly itemCount: number;
  readonly keyGroups: readonly [number, number];
  /**
   * Settles the next few items, up to `max`, and tells how many; 0 at the end. Must see each item
   * that stays in the table.
   */
  settleSome(max: number): number;
  /** Makes of an error in encoding `parts` one that says whose they are. */
  explain(error: unknown, parts: readonly unknown[]): Error;
}

export class LazySnapshots {
  /** Items of a lower version are not settled. Read on the hot path; only `start` changes it. */
  version = 0;
  readonly #encoder = new ValueEncoder();
  readonly #active: LazySnapshot[] = [];
  readonly #spare: SpareWriters = [];

  start(source: SnapshotSource, output: SectionOutput): KeyedSnapshotCursor {
    this.version++;
    const blocks = new KeyGroupBlocks(this.#encoder, source.keyGroups, output, this.#spare);
    const snapshot = new LazySnapshot(this.version, source, blocks, (released) => {
      const index = this.#active.indexOf(released);
      if (index >= 0) this.#active.splice(index, 1);
    });
    this.#active.push(snapshot);
    return snapshot;
  }

  /** Whether some snapshot that is being written lacks items of this version. */
  isWanted(version: number): boolean {
    const newest = this.#active.at(-1);
    return newest !== undefined && newest.version > version;
  }

  /**
   * Encodes an item into the snapshots that lack it; gives the bytes it took. The caller then
   * raises its version.
   */
  add(version: number, keyGroup: number, parts: readonly unknown[]): number {
    let sizeBytes = 0;
    for (const snapshot of this.#active)
      if (snapshot.version > version) sizeBytes += snapshot.add(keyGroup, parts);
    return sizeBytes;
  }

  /** As `add`, for an item that a record has touched: what is long and cannot change is put off. */
  addTouched(version: number, keyGroup: number, parts: readonly unknown[]): void {
    const sizeBytes = unchangeableSizeOf(parts);
    for (const snapshot of this.#active)
      if (snapshot.version > version) snapshot.addTouched(keyGroup, parts, sizeBytes);
  }
}

class LazySnapshot implements KeyedSnapshotCursor {
  readonly version: number;
  readonly entryCount: number;
  readonly #source: SnapshotSource;
  readonly #blocks: KeyGroupBlocks;
  readonly #onRelease: (snapshot: LazySnapshot) => void;
  /** Items that were touched and are not encoded yet. */
  readonly #waiting = new WaitingItems();
  #remaining: number;
  #sliceBytes = 0;
  #released = false;
  #failure: Error | null = null;

  constructor(
    version: number,
    source: SnapshotSource,
    blocks: KeyGroupBlocks,
    onRelease: (snapshot: LazySnapshot) => void,
  ) {
    this.version = version;
    this.entryCount = source.itemCount;
    this.#remaining = source.itemCount;
    this.#source = source;
    this.#blocks = blocks;
    this.#onRelease = onRelease;
  }

  get sections(): readonly KeyGroupSection[] {
    assert(this.#remaining === 0, 'the snapshot is not complete');
    return this.#blocks.sections;
  }

  /** Gives the bytes it took. */
  add(keyGroup: number, parts: readonly unknown[]): number {
    if (this.#failure !== null) return 0;
    assert(this.#remaining > 0, 'an item came into a snapshot twice');
    this.#remaining--;
    try {
      const sizeBytes = this.#blocks.add(keyGroup, parts);
      this.#sliceBytes += sizeBytes;
      return sizeBytes;
    } catch (error) {
      this.#failure = this.#source.explain(error, parts);
      return 0;
    }
  }

  /** @param sizeBytes of parts that cannot change; -1: they can. */
  addTouched(keyGroup: number, parts: readonly unknown[], sizeBytes: number): void {
    if (this.#failure !== null) return;
    if (sizeBytes < WAITING_ITEM_BYTES_MIN || !this.#waiting.put(keyGroup, parts, sizeBytes))
      this.add(keyGroup, parts);
  }

  step(entriesMax: number): boolean {
    assert(!this.#released, 'the snapshot was released');
    this.#sliceBytes = 0;
    let left = entriesMax;
    while (left > 0 && this.#sliceBytes < SLICE_BYTES_MAX && this.#waiting.take()) {
      this.add(this.#waiting.keyGroup, this.#waiting.parts);
      left--;
    }
    // Items put in later follow in the iterator; they are not waited for.
    while (this.#remaining > 0 && this.#failure === null) {
      if (left <= 0 || this.#sliceBytes >= SLICE_BYTES_MAX) return false;
      const settled = this.#source.settleSome(left);
      left -= settled;
      assert(settled > 0 || this.#remaining === 0, 'items are missing from a snapshot');
    }
    if (this.#failure !== null) throw this.#failure;
    return this.#blocks.flushSome(Math.max(1, Math.floor(left / ENTRIES_PER_FLUSH)));
  }

  release(): void {
    this.#released = true;
    this.#waiting.clear();
    this.#blocks.release();
    this.#onRelease(this);
  }
}

/**
 * Bytes that are kept alive for parts of which nothing can change: primitives. -1: something can.
 */
function unchangeableSizeOf(parts: readonly unknown[]): number {
  let sizeBytes = WAITING_ITEM_BYTES;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (typeof part === 'object' && part !== null) return -1;
    if (typeof part === 'string') sizeBytes += part.length;
  }
  return sizeBytes;
}

/**
 * Items in the order they came. All in a few long arrays: an object an item would keep the
 * collector busy.
 */
class WaitingItems {
  /** Of the item that was taken. */
  keyGroup = 0;
  readonly parts: unknown[] = [];
  /** Count of parts, key group, parts; and so on. */
  #runs: unknown[][] = [];
  #position = 0;
  #sizeBytes = 0;

  /** `false`: there is no more room. */
  put(keyGroup: number, parts: readonly unknown[], sizeBytes: number): boolean {
    if (this.#sizeBytes > WAITING_BYTES_MAX) return false;
    let run = this.#runs.at(-1);
    if (run === undefined || run.length > WAITING_RUN_LENGTH) this.#runs.push((run = []));
    run.push(parts.length, keyGroup);
    for (let i = 0; i < parts.length; i++) run.push(parts[i]);
    this.#sizeBytes += sizeBytes;
    return true;
  }

  /** Takes the oldest; `false`: there is none. */
  take(): boolean {
    const run = this.#runs[0];
    if (run === undefined) return false;
    const { parts } = this;
    const count = run[this.#position++] as number;
    this.keyGroup = run[this.#position++] as number;
    for (let i = 0; i < count; i++) parts[i] = run[this.#position++];
    if (parts.length !== count) parts.length = count;
    this.#sizeBytes -= unchangeableSizeOf(parts);
    if (this.#position === run.length) {
      this.#runs.shift();
      this.#position = 0;
    }
    return true;
  }

  clear(): void {
    this.#runs = [];
    this.parts.length = 0;
  }
}
