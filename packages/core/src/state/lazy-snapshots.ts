/**
 * Snapshots of a table that is never copied. Starting one raises the version, no more. Whatever
 * was put into the table carries the version it was last *settled* at; one that is older than a
 * snapshot belongs to it as it is, and must be encoded before it changes or goes:
 *
 *   - the first touch of an old item settles it: it is encoded at once into every snapshot that
 *     is being written and has not got it, and takes the present version;
 *   - a live iterator settles the rest in slices between batches.
 *
 * So an item enters each snapshot exactly once, as it was when the snapshot started. Several may be
 * written at once. An item that cannot be encoded fails the snapshots, not the record that touched
 * it. Used by the heap table and by timers; an untouched item costs one comparison.
 */
import { assert } from '../base/assert.ts';
import { ValueEncoder } from '../base/codec/value-codec.ts';
import type { KeyGroupSection, KeyedSnapshotCursor, SectionOutput } from './keyed-state-backend.ts';
import { KeyGroupBlocks } from './snapshot/key-group-blocks.ts';

/** About 2 ms of encoding: a slice ends here even when its entries are few. */
const SLICE_BYTES_MAX = 256 * 1024;
/** Handing on a block costs about as much as encoding so many entries. */
const ENTRIES_PER_FLUSH = 16;

/** What a table gives for a snapshot. */
export interface SnapshotSource {
  /** Items in the table now: all belong to the snapshot. */
  readonly itemCount: number;
  readonly keyGroups: readonly [number, number];
  /** Settles every item, one a step. Must see each item that stays in the table. */
  readonly walk: Iterator<unknown>;
  /** Makes of an error in encoding `parts` one that says whose they are. */
  explain(error: unknown, parts: readonly unknown[]): Error;
}

export class LazySnapshots {
  /** Items of a lower version are not settled. Read on the hot path; only `start` changes it. */
  version = 0;
  readonly #encoder = new ValueEncoder();
  readonly #active: LazySnapshot[] = [];

  start(source: SnapshotSource, output: SectionOutput): KeyedSnapshotCursor {
    this.version++;
    const [first, last] = source.keyGroups;
    const blocks = new KeyGroupBlocks(this.#encoder, last - first + 1, output);
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

  /** Encodes an item into the snapshots that lack it. The caller then raises its version. */
  add(version: number, keyGroup: number, parts: readonly unknown[]): void {
    for (const snapshot of this.#active)
      if (snapshot.version > version) snapshot.add(keyGroup, parts);
  }
}

class LazySnapshot implements KeyedSnapshotCursor {
  readonly version: number;
  readonly entryCount: number;
  readonly #source: SnapshotSource;
  readonly #blocks: KeyGroupBlocks;
  readonly #onRelease: (snapshot: LazySnapshot) => void;
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

  add(keyGroup: number, parts: readonly unknown[]): void {
    if (this.#failure !== null) return;
    assert(this.#remaining > 0, 'an item came into a snapshot twice');
    try {
      this.#sliceBytes += this.#blocks.add(keyGroup, parts);
    } catch (error) {
      this.#failure = this.#source.explain(error, parts);
    }
    this.#remaining--;
  }

  step(entriesMax: number): boolean {
    assert(!this.#released, 'the snapshot was released');
    this.#sliceBytes = 0;
    let left = entriesMax;
    // Items put in later follow in the iterator; they are not waited for.
    while (this.#remaining > 0 && this.#failure === null) {
      if (left-- <= 0 || this.#sliceBytes >= SLICE_BYTES_MAX) return false;
      const { done } = this.#source.walk.next();
      assert(done !== true || this.#remaining === 0, 'items are missing from a snapshot');
    }
    if (this.#failure !== null) throw this.#failure;
    return this.#blocks.flushSome(Math.max(1, Math.floor(left / ENTRIES_PER_FLUSH)));
  }

  release(): void {
    this.#released = true;
    this.#onRelease(this);
  }
}
