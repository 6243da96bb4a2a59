/**
 * What operators need of the state of keys. One backend serves one operator in one subtask: set the
 * key, then read and write through handles. A snapshot starts in constant time; what it still has
 * to write is walked in slices between batches, while records go on changing the state.
 */
import type { KeyValue } from '../api/functions.ts';
import type { StateDeclaration } from '../api/state.ts';
import type { KeyedStateMeta, Section } from '../protocol/snapshot.ts';

export interface KeyedStateBackend {
  /** First and last key group, both included. */
  readonly keyGroups: readonly [number, number];
  readonly states: readonly KeyedStateMeta[];
  /** Number of keys with any state. */
  readonly keyCount: number;
  /** Throws `UserFunctionError` when no key is current. */
  readonly currentKey: KeyValue;
  /** The same; throws KEY_INVALID when it is a key of another subtask. */
  readonly ownKey: KeyValue;
  /** Left with the current key by its timers (`timer-queue.ts`); may be forgotten. */
  timerMark: object | null;
  /** Handles work on this key until the next call, `clearCurrentKey` or `startSnapshot`. */
  setCurrentKey(key: KeyValue): void;
  clearCurrentKey(): void;
  /**
   * Declares the keyed states of `declaration` (operator states in it are left out) and gives their
   * handles. To be called before state is restored and before the first key is set.
   */
  handlesFor(declaration: StateDeclaration): Record<string, unknown>;
  /** Takes the state as it is now, in O(1). No key is current afterwards. */
  startSnapshot(output: SectionOutput): KeyedSnapshotCursor;
}

/** Where sections go; the place in the subtask's data is known at once. Copies the bytes. */
export interface SectionOutput {
  append(bytes: Uint8Array, count: number): Section;
}

/** A section of one key group. */
export type KeyGroupSection = Section & { readonly keyGroup: number };

/** The rest of a snapshot that is being written. */
export interface KeyedSnapshotCursor {
  /**
   * Walks on by about `entriesMax` entries at most; `true` once all are in. Throws
   * `SerializationError` when an entry cannot be encoded.
   */
  step(entriesMax: number): boolean;
  /** All sections, once `step` has returned true. */
  readonly sections: readonly KeyGroupSection[];
  /** Entries in the snapshot. */
  readonly entryCount: number;
  /** Lets go of the snapshot, whether it is complete or not. Idempotent. */
  release(): void;
}
