/** A map that is equal on all subtasks, since all see the same broadcast records. */
import type { BroadcastState } from '../../api/state.ts';
import { deepFreeze } from '../heap/deep-freeze.ts';
import type { MapKey } from '../map-key.ts';
import { keyOfMapKey, mapKeyOf } from '../map-key.ts';
import type { TypeWatch } from '../type-watch.ts';

export class HeapBroadcastState<K, V> implements BroadcastState<K, V> {
  readonly mode = 'broadcast';
  /** Looks at what is written first after a restore; `null`: at nothing. */
  watch: TypeWatch | null = null;
  readonly #map = new Map<MapKey, V>();
  readonly #freeze: boolean;

  constructor(freeze: boolean) {
    this.#freeze = freeze;
  }

  get(key: K): V | undefined {
    return this.#map.get(mapKeyOf(key));
  }

  has(key: K): boolean {
    return this.#map.has(mapKeyOf(key));
  }

  put(key: K, value: V): void {
    if (this.watch !== null) this.watch = this.watch.checked(value);
    this.#map.set(mapKeyOf(key), this.#freeze ? deepFreeze(value) : value);
  }

  remove(key: K): void {
    this.#map.delete(mapKeyOf(key));
  }

  keys(): Iterable<K> {
    return this.#map.keys().map((mapKey) => keyOfMapKey(mapKey) as K);
  }

  values(): Iterable<V> {
    return this.#map.values();
  }

  entries(): Iterable<readonly [K, V]> {
    return this.#map.entries().map(([mapKey, value]) => [keyOfMapKey(mapKey) as K, value] as const);
  }

  get isEmpty(): boolean {
    return this.#map.size === 0;
  }

  clear(): void {
    this.#map.clear();
  }

  restore(items: readonly unknown[]): void {
    for (const [key, value] of items as readonly (readonly [K, V])[]) this.put(key, value);
  }

  /** One item an entry. */
  ownItems(): readonly (readonly [K, V])[] {
    return [...this.entries()];
  }
}
