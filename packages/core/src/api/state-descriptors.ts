/**
 * Constructors of state descriptors, for the `state` of a process function and for
 * `stream.broadcast`. The property's name is the name of the state in snapshots.
 */
import { GraphValidationError } from '../base/errors.ts';
import type {
  AggregateFunction,
  AggregatingStateDescriptor,
  BroadcastStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  OperatorListStateDescriptor,
  ReducingStateDescriptor,
  StateDefault,
  ValueStateDescriptor,
} from './state.ts';

/** One value for each key, `undefined` before the first `update`. */
export function valueState<T>(): ValueStateDescriptor<T | undefined>;
/**
 * One value for each key. The default is a primitive, or a function that makes it, so that no two
 * keys share one object.
 * @throws GraphValidationError when the default is an object.
 */
export function valueState<T>(options: {
  readonly default: StateDefault<T>;
}): ValueStateDescriptor<T>;
export function valueState(options?: { readonly default: unknown }): ValueStateDescriptor<unknown> {
  const value = options?.default;
  if (typeof value === 'object' && value !== null)
    throw new GraphValidationError(
      'valueState: a default that is an object would be shared by all keys; ' +
        'give a function that makes it: valueState({ default: () => … })',
    );
  return { kind: 'value', default: value };
}

/** A list for each key. */
export function listState<T>(): ListStateDescriptor<T> {
  return { kind: 'list' };
}

/** A map for each key; its entries are stored one by one. */
export function mapState<K, V>(): MapStateDescriptor<K, V> {
  return { kind: 'map' };
}

/** One value for each key, into which each added value is merged. */
export function reducingState<T>(reduce: (a: T, b: T) => T): ReducingStateDescriptor<T> {
  if (typeof reduce !== 'function')
    throw new GraphValidationError('reducingState: expected a function (a, b) => …');
  return { kind: 'reducing', reduce };
}

/** One accumulator for each key; what is added and what is read may have other types. */
export function aggregatingState<IN, ACC, OUT>(
  aggregate: AggregateFunction<IN, ACC, OUT>,
): AggregatingStateDescriptor<IN, ACC, OUT> {
  for (const method of ['createAccumulator', 'add', 'getResult'] as const)
    if (typeof aggregate?.[method] !== 'function')
      throw new GraphValidationError(
        `aggregatingState: expected an object with a method ${method}`,
      );
  return { kind: 'aggregating', aggregate };
}

/** A list for each subtask; rescaling spreads its items evenly, so each must stand on its own. */
export function operatorListState<T>(): OperatorListStateDescriptor<T> {
  return { kind: 'operatorList', mode: 'list' };
}

/** A list for each subtask; on restore every subtask gets the items of all. */
export function unionListState<T>(): OperatorListStateDescriptor<T> {
  return { kind: 'operatorList', mode: 'union' };
}

/** A map that is equal on all subtasks; declared in `stream.broadcast({ … })`. */
export function broadcastState<K, V>(): BroadcastStateDescriptor<K, V> {
  return { kind: 'broadcast' };
}
