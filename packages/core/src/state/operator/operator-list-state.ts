/**
 * A list of the subtask. Its items are redistributed on rescaling: dealt out, or, for a union list,
 * given whole to every subtask. Every subtask of a union then holds items of others; were each to
 * write them all, the list would multiply with each restore, and an item that its owner removes
 * would come back from the others. So restored union items are written on by one subtask each, in
 * turn, until the list is replaced by `update` or emptied by `clear`: from then on all items are
 * the subtask's own.
 */
import type { OperatorListState } from '../../api/state.ts';
import { deepFreeze } from '../heap/deep-freeze.ts';
import type { TypeWatch } from '../type-watch.ts';

export interface Share {
  readonly subtask: number;
  readonly parallelism: number;
}

export class HeapOperatorListState<T> implements OperatorListState<T> {
  readonly mode: 'list' | 'union';
  /** Looks at what is written first after a restore; `null`: at nothing. */
  watch: TypeWatch | null = null;
  readonly #share: Share;
  readonly #freeze: boolean;
  #items: T[] = [];
  /** Items at the front that all subtasks were given alike. */
  #sharedCount = 0;

  constructor(mode: 'list' | 'union', share: Share, freeze: boolean) {
    this.mode = mode;
    this.#share = share;
    this.#freeze = freeze;
  }

  /** A copy: what is emitted must not grow with the state. */
  get(): readonly T[] {
    return this.#items.slice();
  }

  add(value: T): void {
    if (this.watch !== null) this.watch = this.watch.checked(value);
    this.#items.push(this.#freeze ? deepFreeze(value) : value);
  }

  addAll(values: Iterable<T>): void {
    for (const value of values) this.add(value);
  }

  values(): Iterable<T> {
    return this.#items;
  }

  update(values: Iterable<T>): void {
    const items = [...values];
    this.clear();
    this.addAll(items);
  }

  clear(): void {
    this.#items = [];
    this.#sharedCount = 0;
  }

  restore(items: readonly unknown[]): void {
    this.addAll(items as readonly T[]);
    if (this.mode === 'union') this.#sharedCount = this.#items.length;
  }

  /** What this subtask contributes to a snapshot. */
  ownItems(): readonly T[] {
    const { subtask, parallelism } = this.#share;
    return this.#items.filter((_, i) => i >= this.#sharedCount || i % parallelism === subtask);
  }
}
