/**
 * State as a function declares it (descriptors) and as it sees it (handles). States are declared in
 * the function object, so the set of states is known before the run; the types of `ctx.state` are
 * inferred from the declaration. Values are read-only in types: `update` is how they change.
 *
 * Keyed states belong to the current key. Operator states belong to the subtask: a list is split
 * among the subtasks on rescaling, a union list is given whole to each, broadcast state is equal on
 * all subtasks.
 */

import type { StateEvolution } from './state-evolution.ts';

/** A default is a primitive, or a factory, so that no two keys share one object. */
export type StateDefault<T> = T extends object ? () => T : T | (() => T);

export interface ValueStateDescriptor<T> {
  readonly kind: 'value';
  readonly default: unknown;
  /** Its values are changed in place: tests do not freeze them. Of the engine's own states. */
  readonly isAccumulator?: boolean;
  /** Of the values; likewise below, of items, values of entries, accumulators. */
  readonly evolution?: StateEvolution<unknown> | undefined;
  readonly __type?: T;
}
export interface ListStateDescriptor<T> {
  readonly kind: 'list';
  readonly evolution?: StateEvolution<unknown> | undefined;
  readonly __type?: T;
}
export interface MapStateDescriptor<K, V> {
  readonly kind: 'map';
  readonly evolution?: StateEvolution<unknown> | undefined;
  readonly __type?: [K, V];
}
export interface ReducingStateDescriptor<T> {
  readonly kind: 'reducing';
  readonly evolution?: StateEvolution<unknown> | undefined;
  reduce(a: T, b: T): T;
}
export interface AggregatingStateDescriptor<IN, ACC, OUT> {
  readonly kind: 'aggregating';
  readonly evolution?: StateEvolution<unknown> | undefined;
  readonly aggregate: AggregateFunction<IN, ACC, OUT>;
}
/** Operator state; `union` gives every subtask all items on restore. */
export interface OperatorListStateDescriptor<T> {
  readonly kind: 'operatorList';
  readonly evolution?: StateEvolution<unknown> | undefined;
  readonly mode: 'list' | 'union';
  readonly __type?: T;
}
export interface BroadcastStateDescriptor<K, V> {
  readonly kind: 'broadcast';
  readonly evolution?: StateEvolution<unknown> | undefined;
  readonly __type?: [K, V];
}

export type KeyedStateDescriptor =
  | ValueStateDescriptor<unknown>
  | ListStateDescriptor<unknown>
  | MapStateDescriptor<unknown, unknown>
  | ReducingStateDescriptor<unknown>
  | AggregatingStateDescriptor<unknown, unknown, unknown>;

export type OperatorStateDescriptor =
  | OperatorListStateDescriptor<unknown>
  | BroadcastStateDescriptor<unknown, unknown>;

export type StateDescriptor = KeyedStateDescriptor | OperatorStateDescriptor;

/** The states of a function, by name. Names are part of the snapshot: renaming one drops it. */
export type StateDeclaration = Readonly<Record<string, StateDescriptor>>;

/** Combines records incrementally. `merge` is needed where accumulators meet (session windows). */
export interface AggregateFunction<IN, ACC, OUT> {
  createAccumulator(): ACC;
  /** May change the accumulator and return it. */
  add(value: IN, accumulator: ACC): ACC;
  /** The accumulator itself, or something new: never a part of one that `add` changes. */
  getResult(accumulator: ACC): OUT;
  merge?(a: ACC, b: ACC): ACC;
}

/** A value that may be looked at, but changed only by `update`: what it holds is read-only. */
export type ReadOnlyValue<T> = T extends readonly (infer E)[]
  ? readonly E[]
  : T extends ReadonlyMap<infer K, infer V>
    ? ReadonlyMap<K, V>
    : T extends ReadonlySet<infer E>
      ? ReadonlySet<E>
      : T extends object
        ? Readonly<T>
        : T;

export interface ValueState<T> {
  /** The value of the current key, or the default. Do not mutate it: call `update`. */
  readonly value: ReadOnlyValue<T>;
  update(value: T | ReadOnlyValue<T>): void;
  clear(): void;
}
export interface ListState<T> {
  /** The elements as they are now: what is added later does not show in it. */
  get(): readonly T[];
  add(value: T): void;
  addAll(values: Iterable<T>): void;
  /** Replaces the list. */
  update(values: Iterable<T>): void;
  clear(): void;
}
export interface MapState<K, V> {
  get(key: K): V | undefined;
  has(key: K): boolean;
  put(key: K, value: V): void;
  remove(key: K): void;
  keys(): Iterable<K>;
  values(): Iterable<V>;
  entries(): Iterable<readonly [K, V]>;
  readonly isEmpty: boolean;
  clear(): void;
}
export interface ReducingState<T> {
  add(value: T): void;
  get(): T | undefined;
  clear(): void;
}
export interface AggregatingState<IN, OUT> {
  add(value: IN): void;
  get(): OUT | undefined;
  clear(): void;
}
/** Items are redistributed on rescaling, so each must stand on its own. */
export interface OperatorListState<T> extends ListState<T> {}
export interface BroadcastState<K, V> extends MapState<K, V> {}
/** What the other side of a function may do with broadcast state: all subtasks must agree. */
export interface ReadOnlyBroadcastState<K, V> {
  get(key: K): V | undefined;
  has(key: K): boolean;
  keys(): Iterable<K>;
  values(): Iterable<V>;
  entries(): Iterable<readonly [K, V]>;
  readonly isEmpty: boolean;
}

/** The handle that a descriptor gives in `ctx.state`. */
export type StateHandleOf<D> =
  D extends ValueStateDescriptor<infer T>
    ? ValueState<T>
    : D extends ListStateDescriptor<infer T>
      ? ListState<T>
      : D extends MapStateDescriptor<infer K, infer V>
        ? MapState<K, V>
        : D extends ReducingStateDescriptor<infer T>
          ? ReducingState<T>
          : D extends AggregatingStateDescriptor<infer IN, infer _ACC, infer OUT>
            ? AggregatingState<IN, OUT>
            : D extends OperatorListStateDescriptor<infer T>
              ? OperatorListState<T>
              : D extends BroadcastStateDescriptor<infer K, infer V>
                ? BroadcastState<K, V>
                : never;

export type StateHandles<S> = { readonly [N in keyof S]: StateHandleOf<S[N]> };
