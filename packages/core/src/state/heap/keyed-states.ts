/**
 * The handles that functions see as `ctx.state.x`. Each works on one slot of the entry that the
 * table holds current: no look-up, no copy. With `freeze` values are frozen as they are stored, and
 * lists are replaced instead of extended, so that a test meets whoever mutates what it read.
 */
import type {
  AggregateFunction,
  AggregatingState,
  ListState,
  MapState,
  ReducingState,
  ReducingStateDescriptor,
  ReadOnlyValue,
  ValueState,
} from '../../api/state.ts';
import type { MapKey } from '../map-key.ts';
import { keyOfMapKey, mapKeyOf } from '../map-key.ts';
import type { TypeWatch } from '../type-watch.ts';
import { deepFreeze } from './deep-freeze.ts';
import { EMPTY } from './entry.ts';
import type { EntryTable } from './entry-table.ts';

const EMPTY_LIST: readonly never[] = Object.freeze([]);

/** Where a handle keeps its state. */
export interface Slot {
  readonly table: EntryTable;
  readonly index: number;
  readonly freeze: boolean;
  /** Looks at what is written first after a restore; `null`: at nothing. */
  watch: TypeWatch | null;
}

/** To be called with each value before it is written. */
function look(slot: Slot, value: unknown): void {
  if (slot.watch !== null) slot.watch = slot.watch.checked(value);
}

export class HeapValueState<T> implements ValueState<T> {
  readonly #slot: Slot;
  readonly #table: EntryTable;
  readonly #index: number;
  readonly #freeze: boolean;
  readonly #default: unknown;

  constructor(slot: Slot, defaultValue: unknown) {
    this.#slot = slot;
    this.#table = slot.table;
    this.#index = slot.index;
    this.#freeze = slot.freeze;
    this.#default = defaultValue;
  }

  get value(): ReadOnlyValue<T> {
    const content = this.#table.read(this.#index);
    if (content !== EMPTY) return content as ReadOnlyValue<T>;
    const value: unknown = typeof this.#default === 'function' ? this.#default() : this.#default;
    return value as ReadOnlyValue<T>;
  }

  /** Without a default nobody could tell `undefined` from no state: then the key need not stay. */
  update(value: T | ReadOnlyValue<T>): void {
    if (value === undefined && this.#default === undefined) {
      this.clear();
      return;
    }
    look(this.#slot, value);
    this.#table.write(this.#index, this.#freeze ? deepFreeze(value) : value);
  }

  clear(): void {
    this.#table.clear(this.#index);
  }
}

export class HeapListState<T> implements ListState<T> {
  readonly #slot: Slot;

  constructor(slot: Slot) {
    this.#slot = slot;
  }

  /** A copy: what is emitted must not grow with the state. A frozen list never grows. */
  get(): readonly T[] {
    const { table, index, freeze } = this.#slot;
    const content = table.read(index);
    if (content === EMPTY) return EMPTY_LIST;
    return freeze ? (content as T[]) : (content as T[]).slice();
  }

  add(value: T): void {
    const { table, index, freeze } = this.#slot;
    const content = table.read(index);
    if (content === EMPTY || freeze) {
      this.addAll([value]);
    } else {
      look(this.#slot, value);
      (content as T[]).push(value);
    }
  }

  addAll(values: Iterable<T>): void {
    const { table, index, freeze } = this.#slot;
    const content = table.read(index);
    if (content === EMPTY) this.update(values);
    else if (freeze) this.update([...(content as T[]), ...values]);
    else
      for (const value of values) {
        look(this.#slot, value);
        (content as T[]).push(value);
      }
  }

  update(values: Iterable<T>): void {
    const { table, index, freeze } = this.#slot;
    const list = [...values];
    for (const value of list) look(this.#slot, value);
    if (list.length === 0) table.clear(index);
    else table.write(index, freeze ? deepFreeze(list) : list);
  }

  clear(): void {
    this.#slot.table.clear(this.#slot.index);
  }
}

export class HeapMapState<K, V> implements MapState<K, V> {
  readonly #slot: Slot;

  constructor(slot: Slot) {
    this.#slot = slot;
  }

  get(key: K): V | undefined {
    return this.#map()?.get(mapKeyOf(key));
  }

  has(key: K): boolean {
    return this.#map()?.has(mapKeyOf(key)) ?? false;
  }

  put(key: K, value: V): void {
    look(this.#slot, value);
    const { table, index, freeze } = this.#slot;
    let map = this.#map();
    const mapKey = mapKeyOf(key);
    if (map === null) {
      map = new Map();
      table.write(index, map);
    }
    map.set(mapKey, freeze ? deepFreeze(value) : value);
  }

  remove(key: K): void {
    const map = this.#map();
    if (map?.delete(mapKeyOf(key)) === true && map.size === 0) this.clear();
  }

  keys(): Iterable<K> {
    const map = this.#map();
    return map === null ? [] : map.keys().map((mapKey) => keyOfMapKey(mapKey) as K);
  }

  values(): Iterable<V> {
    return this.#map()?.values() ?? [];
  }

  entries(): Iterable<readonly [K, V]> {
    const map = this.#map();
    if (map === null) return [];
    return map.entries().map(([mapKey, value]) => [keyOfMapKey(mapKey) as K, value] as const);
  }

  get isEmpty(): boolean {
    return this.#map() === null;
  }

  clear(): void {
    this.#slot.table.clear(this.#slot.index);
  }

  #map(): Map<MapKey, V> | null {
    const content = this.#slot.table.read(this.#slot.index);
    return content === EMPTY ? null : (content as Map<MapKey, V>);
  }
}

export class HeapReducingState<T> implements ReducingState<T> {
  readonly #slot: Slot;
  readonly #descriptor: ReducingStateDescriptor<T>;

  constructor(slot: Slot, descriptor: ReducingStateDescriptor<T>) {
    this.#slot = slot;
    this.#descriptor = descriptor;
  }

  /** A `reduce` that throws leaves the state as it was. */
  add(value: T): void {
    const { table, index, freeze } = this.#slot;
    const content = table.read(index);
    look(this.#slot, value);
    const reduced = content === EMPTY ? value : this.#descriptor.reduce(content as T, value);
    look(this.#slot, reduced);
    table.write(index, freeze ? deepFreeze(reduced) : reduced);
  }

  get(): T | undefined {
    const content = this.#slot.table.read(this.#slot.index);
    return content === EMPTY ? undefined : (content as T);
  }

  clear(): void {
    this.#slot.table.clear(this.#slot.index);
  }
}

/**
 * Keeps the accumulator, which `add` may change in place: it is never frozen, and where it is the
 * result itself, the result is a copy.
 */
export class HeapAggregatingState<IN, ACC, OUT> implements AggregatingState<IN, OUT> {
  readonly #slot: Slot;
  readonly #aggregate: AggregateFunction<IN, ACC, OUT>;
  /** `add` gives another accumulator than it was given. */
  #replaces = false;

  constructor(slot: Slot, aggregate: AggregateFunction<IN, ACC, OUT>) {
    this.#slot = slot;
    this.#aggregate = aggregate;
  }

  add(value: IN): void {
    const { table, index } = this.#slot;
    const content = table.read(index);
    const before = content === EMPTY ? this.#aggregate.createAccumulator() : (content as ACC);
    const accumulator = this.#aggregate.add(value, before);
    if (accumulator !== before) this.#replaces = true;
    look(this.#slot, accumulator);
    table.write(index, accumulator);
  }

  get(): OUT | undefined {
    const content = this.#slot.table.read(this.#slot.index);
    if (content === EMPTY) return undefined;
    const result: unknown = this.#aggregate.getResult(content as ACC);
    const mayChange = result === content && typeof result === 'object' && !this.#replaces;
    return (mayChange ? structuredClone(result) : result) as OUT;
  }

  clear(): void {
    this.#slot.table.clear(this.#slot.index);
  }
}
