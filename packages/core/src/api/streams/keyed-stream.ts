/** A stream whose records are grouped by key: where keyed state and timers live. */
import { checkState, graphError, requireFunction, requireMethods } from '../function-checks.ts';
import type { CallSite } from '../function-checks.ts';
import type {
  BroadcastDeclaration,
  KeyedProcessFunction,
  KeySelector,
  KeyValue,
  Reduce,
} from '../functions.ts';
import type { AggregateFunction, StateDeclaration } from '../state.ts';
import type { Upstream } from '../stream-graph-builder.ts';
import type { OperatorSpec } from '../stream-graph.ts';
import { BroadcastStream, KeyedBroadcastConnectedStream } from './broadcast-stream.ts';
import { KeyedConnectedStreams } from './connected-streams.ts';
import type { SingleOutputStreamOperator } from './single-output-stream-operator.ts';
import { callSite } from './stream-context.ts';
import type { StreamContext } from './stream-context.ts';
import { TransformableStream, partsOf } from './transformable-stream.ts';

export class KeyedStream<K, T> extends TransformableStream<T> {
  constructor(
    context: StreamContext,
    upstream: readonly Upstream[],
    keySelector: KeySelector<unknown, KeyValue>,
  ) {
    const partitioner = { type: 'hash', keySelector } as const;
    const hashed = upstream.map((one) => ({ ...one, partitioner }));
    super({ context, upstream: hashed, keySelector });
  }

  /**
   * Handles each record with the state and timers of its key. The type of the result follows from
   * `emits: type<Result>()` in the function object, else it is `unknown`.
   */
  process<R = unknown, S extends StateDeclaration = {}>(
    fn: KeyedProcessFunction<K, T, R, S>,
  ): SingleOutputStreamOperator<R> {
    const at = callSite(partsOf(this).context, this, 'process');
    requireMethods(at, fn, ['onElement']);
    checkState(at, fn, true);
    return this.#operator(at, 'KeyedProcess', { type: 'keyedProcess', fn } as OperatorSpec);
  }

  /** Merges the records of a key and emits each intermediate result. */
  reduce(reduce: Reduce<T>): SingleOutputStreamOperator<T> {
    const at = callSite(partsOf(this).context, this, 'reduce');
    requireFunction(at, reduce, 'a function (a, b) that returns the merged record');
    return this.#operator(at, 'KeyedReduce', {
      type: 'keyedReduce',
      reduce: reduce as Reduce<unknown>,
    });
  }

  /** Adds the records of a key to an accumulator and emits its result after each. */
  aggregate<ACC, R>(aggregate: AggregateFunction<T, ACC, R>): SingleOutputStreamOperator<R> {
    const at = callSite(partsOf(this).context, this, 'aggregate');
    requireMethods(at, aggregate, ['createAccumulator', 'add', 'getResult']);
    return this.#operator(at, 'KeyedAggregate', {
      type: 'keyedAggregate',
      aggregate,
    });
  }

  /** Two streams of the same key in one operator, sharing state. */
  connect<U>(other: KeyedStream<K, U>): KeyedConnectedStreams<K, T, U>;
  /** Every record beside broadcast state that the other stream maintains. */
  connect<U, B extends BroadcastDeclaration>(
    other: BroadcastStream<U, B>,
  ): KeyedBroadcastConnectedStream<K, T, U, B>;
  connect(
    other: KeyedStream<K, unknown> | BroadcastStream<unknown, BroadcastDeclaration>,
  ):
    | KeyedConnectedStreams<K, T, unknown>
    | KeyedBroadcastConnectedStream<K, T, unknown, BroadcastDeclaration> {
    const at = callSite(partsOf(this).context, this, 'connect');
    if (other instanceof BroadcastStream)
      return new KeyedBroadcastConnectedStream(partsOf(this), other);
    if (other instanceof KeyedStream)
      return new KeyedConnectedStreams(partsOf(this), partsOf(other));
    throw graphError(at, 'expected a stream keyed alike, or the result of broadcast({ … })');
  }

  #operator<R>(at: CallSite, name: string, spec: OperatorSpec): SingleOutputStreamOperator<R> {
    const { context, upstream, keySelector } = partsOf(this);
    const inputs = [{ upstream, keySelector }] as const;
    return context.operatorStream(context.graph.addOperator({ at, name, spec, inputs }));
  }
}
