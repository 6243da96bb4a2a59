/**
 * State of one key: a slot per declared state. The first slots are fields of the object itself, as
 * every further object costs a cache miss per record (measured: 2.0 → 3.5 million updates a second
 * over a million keys); only operators with more states need the array.
 */
import type { KeyValue } from '../../api/functions.ts';

/** Content of a slot without state. */
export const EMPTY: unique symbol = Symbol('empty');

const INLINE_SLOTS = 4;

export class Entry {
  readonly key: KeyValue;
  readonly keyGroup: number;
  /** Version at which snapshots are served up to here; see `lazy-snapshots.ts`. */
  version: number;
  /** See `timer-queue.ts`; not part of the state. */
  timerMark: object | null = null;
  #slot0: unknown = EMPTY;
  #slot1: unknown = EMPTY;
  #slot2: unknown = EMPTY;
  #slot3: unknown = EMPTY;
  #more: unknown[] | null = null;

  constructor(key: KeyValue, keyGroup: number, version: number) {
    this.key = key;
    this.keyGroup = keyGroup;
    this.version = version;
  }

  get(slot: number): unknown {
    switch (slot) {
      case 0:
        return this.#slot0;
      case 1:
        return this.#slot1;
      case 2:
        return this.#slot2;
      case 3:
        return this.#slot3;
      default: {
        const more = this.#more;
        const index = slot - INLINE_SLOTS;
        return more === null || index >= more.length ? EMPTY : more[index];
      }
    }
  }

  set(slot: number, content: unknown): void {
    switch (slot) {
      case 0:
        this.#slot0 = content;
        return;
      case 1:
        this.#slot1 = content;
        return;
      case 2:
        this.#slot2 = content;
        return;
      case 3:
        this.#slot3 = content;
        return;
      default:
        this.#more ??= [];
        for (let i = this.#more.length; i < slot - INLINE_SLOTS; i++) this.#more[i] = EMPTY;
        this.#more[slot - INLINE_SLOTS] = content;
    }
  }

  isEmpty(): boolean {
    return (
      this.#slot0 === EMPTY &&
      this.#slot1 === EMPTY &&
      this.#slot2 === EMPTY &&
      this.#slot3 === EMPTY &&
      (this.#more === null || this.#more.every((content) => content === EMPTY))
    );
  }
}
