/**
 * Constructors of state descriptors, for the `state` of a process function and for
 * `stream.broadcast`. The property's name is the name of the state in snapshots.
 */
import { GraphValidationError } from '../base/errors.ts';
import { checkEvolution } from './state-evolution.ts';
import type { StateEvolution } from './state-evolution.ts';
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
export function valueState<T>(
  options?: StateEvolution<T> & { readonly default?: undefined },
): ValueStateDescriptor<T | undefined>;
/**
 * One value for each key. The default is a primitive, or a function that makes it, so that no two
 * keys share one object.
 * @throws GraphValidationError when the default is an object.
 */
export function valueState<T>(
  options: StateEvolution<T> & { readonly default: StateDefault<T> },
): ValueStateDescriptor<T>;
export function valueState(
  options?: StateEvolution<unknown> & { readonly default?: unknown },
): ValueStateDescriptor<unknown> {
  const value = options?.default;
  if (typeof value === 'object' && value !== null)
    throw new GraphValidationError(
      'valueState: a default that is an object would be shared by all keys; ' +
        'give a function that makes it: valueState({ default: () => … })',
    );
  return { kind: 'value', default: value, ...evolving('valueState', options) };
}

/** A list for each key. `evolution` is that of its items. */
export function listState<T>(evolution?: StateEvolution<T>): ListStateDescriptor<T> {
  return { kind: 'list', ...evolving('listState', evolution) };
}

/** A map for each key; its entries are stored one by one. `evolution` is that of its values. */
export function mapState<K, V>(evolution?: StateEvolution<V>): MapStateDescriptor<K, V> {
  return { kind: 'map', ...evolving('mapState', evolution) };
}

/** One value for each key, into which each added value is merged. */
export function reducingState<T>(
  reduce: (a: T, b: T) => T,
  evolution?: StateEvolution<T>,
): ReducingStateDescriptor<T> {
  if (typeof reduce !== 'function')
    throw new GraphValidationError('reducingState: expected a function (a, b) => …');
  return { kind: 'reducing', reduce, ...evolving('reducingState', evolution) };
}

/** One accumulator for each key; what is added and what is read may have other types. */
export function aggregatingState<IN, ACC, OUT>(
  aggregate: AggregateFunction<IN, ACC, OUT>,
  evolution?: StateEvolution<ACC>,
): AggregatingStateDescriptor<IN, ACC, OUT> {
  for (const method of ['createAccumulator', 'add', 'getResult'] as const)
    if (typeof aggregate?.[method] !== 'function')
      throw new GraphValidationError(
        `aggregatingState: expected an object with a method ${method}`,
      );
  return { kind: 'aggregating', aggregate, ...evolving('aggregatingState', evolution) };
}

/** A list for each subtask; rescaling spreads its items evenly, so each must stand on its own. */
export function operatorListState<T>(
  evolution?: StateEvolution<T>,
): OperatorListStateDescriptor<T> {
  return { kind: 'operatorList', mode: 'list', ...evolving('operatorListState', evolution) };
}

/** A list for each subtask; on restore every subtask gets the items of all. */
export function unionListState<T>(evolution?: StateEvolution<T>): OperatorListStateDescriptor<T> {
  return { kind: 'operatorList', mode: 'union', ...evolving('unionListState', evolution) };
}

/** A map that is equal on all subtasks; declared in `stream.broadcast({ … })`. */
export function broadcastState<K, V>(
  evolution?: StateEvolution<V>,
): BroadcastStateDescriptor<K, V> {
  return { kind: 'broadcast', ...evolving('broadcastState', evolution) };
}

/** Nothing where nothing is given, so that descriptors of unchanging states stay as they were. */
function evolving(
  what: string,
  given: StateEvolution<unknown> | undefined,
): { readonly evolution?: StateEvolution<unknown> } {
  if (given === undefined) return {};
  const { version, schema, migrate } = given;
  if (version === undefined && schema === undefined && migrate === undefined) return {};
  const evolution: StateEvolution<unknown> = {
    version: version ?? 1,
    ...(schema === undefined ? {} : { schema }),
    ...(migrate === undefined ? {} : { migrate }),
  };
  checkEvolution(what, evolution);
  return { evolution };
}
