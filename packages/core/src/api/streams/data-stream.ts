/** A stream of records that is not keyed, and how its records are spread over subtasks. */
import {
  checkBroadcastState,
  checkState,
  graphError,
  requireFunction,
  requireMethods,
} from '../function-checks.ts';
import type {
  BroadcastDeclaration,
  KeySelector,
  KeyValue,
  OperatorStateDeclaration,
  Partitioner,
  ProcessFunction,
  WatermarkStrategy,
} from '../functions.ts';
import type { Upstream } from '../stream-graph-builder.ts';
import type { OperatorSpec, PartitionerSpec } from '../stream-graph.ts';
import { BroadcastConnectedStream, BroadcastStream } from './broadcast-stream.ts';
import { ConnectedStreams } from './connected-streams.ts';
import { KeyedStream } from './keyed-stream.ts';
import type { SingleOutputStreamOperator } from './single-output-stream-operator.ts';
import { callSite } from './stream-context.ts';
import { TransformableStream, partsOf } from './transformable-stream.ts';

/** The type of the records of a stream. */
export type RecordOf<S> = S extends DataStream<infer T> ? T : never;

export class DataStream<T> extends TransformableStream<T> {
  /** Handles each record with access to its timestamp, operator state and side outputs. */
  process<R = unknown, S extends OperatorStateDeclaration = {}>(
    fn: ProcessFunction<T, R, S>,
  ): SingleOutputStreamOperator<R> {
    const { context, upstream } = partsOf(this);
    const at = callSite(context, this, 'process');
    requireMethods(at, fn, ['onElement']);
    checkState(at, fn, false);
    const spec = { type: 'process', fn } as OperatorSpec;
    const inputs = [{ upstream, keySelector: null }] as const;
    return context.operatorStream(context.graph.addOperator({ at, name: 'Process', spec, inputs }));
  }

  /**
   * Brings records of equal key to the same subtask, in order. A key is a string, finite number,
   * bigint, boolean, or array of these; it must depend on nothing but the record.
   */
  keyBy<const K extends KeyValue>(keySelector: KeySelector<T, K>): KeyedStream<K, T> {
    const { context, upstream } = partsOf(this);
    const at = callSite(context, this, 'keyBy');
    requireFunction(at, keySelector, 'a function that returns the key');
    return new KeyedStream(context, upstream, keySelector as KeySelector<unknown, KeyValue>);
  }

  /** This stream and the others as one; no order between them is promised. */
  union<S extends readonly DataStream<unknown>[]>(
    ...others: S
  ): DataStream<T | RecordOf<S[number]>> {
    const { context, upstream } = partsOf(this);
    const at = callSite(context, this, 'union');
    for (const other of others)
      if (!(other instanceof DataStream))
        throw graphError(at, 'expected streams that are not keyed');
    const all = [...upstream, ...others.flatMap((other) => partsOf(other).upstream)];
    if (all.some((one, index) => all.slice(0, index).some((other) => isSameOutput(one, other))))
      throw graphError(at, 'a stream cannot be united with itself: give it through a map first');
    return new DataStream({ context, upstream: all, keySelector: null });
  }

  /** Two streams of different types in one operator. */
  connect<U>(other: DataStream<U>): ConnectedStreams<T, U>;
  /** Every record beside broadcast state that the other stream maintains. */
  connect<U, B extends BroadcastDeclaration>(
    other: BroadcastStream<U, B>,
  ): BroadcastConnectedStream<T, U, B>;
  connect(
    other: DataStream<unknown> | BroadcastStream<unknown, BroadcastDeclaration>,
  ): ConnectedStreams<T, unknown> | BroadcastConnectedStream<T, unknown, BroadcastDeclaration> {
    const { context } = partsOf(this);
    const at = callSite(context, this, 'connect');
    if (other instanceof BroadcastStream) return new BroadcastConnectedStream(partsOf(this), other);
    if (other instanceof DataStream) return new ConnectedStreams(partsOf(this), partsOf(other));
    throw graphError(at, 'expected a stream that is not keyed, or the result of broadcast({ … })');
  }

  /** Every record to every subtask of the next operator. */
  broadcast(): DataStream<T>;
  /** Every record to every subtask, for `connect`, with the states it maintains there. */
  broadcast<B extends BroadcastDeclaration>(states: B): BroadcastStream<T, B>;
  broadcast(
    states?: BroadcastDeclaration,
  ): DataStream<T> | BroadcastStream<T, BroadcastDeclaration> {
    const all = this.#partitioned({ type: 'broadcast' });
    if (states === undefined) return all;
    checkBroadcastState(callSite(partsOf(this).context, this, 'broadcast'), states);
    return new BroadcastStream(partsOf(all), states);
  }

  /** Round robin over all subtasks of the next operator. */
  rebalance(): DataStream<T> {
    return this.#partitioned({ type: 'rebalance' });
  }

  /** Round robin over the nearest subtasks: cheaper than `rebalance` where parallelism differs. */
  rescale(): DataStream<T> {
    return this.#partitioned({ type: 'rescale' });
  }

  /** To a random subtask. */
  shuffle(): DataStream<T> {
    return this.#partitioned({ type: 'shuffle' });
  }

  /** To the subtask of the same number; needs equal parallelism. */
  forward(): DataStream<T> {
    return this.#partitioned({ type: 'forward' });
  }

  /** All records to the first subtask. */
  global(): DataStream<T> {
    return this.#partitioned({ type: 'global' });
  }

  /**
   * To the subtask that `partitioner` picks for the key of a record; it must depend on nothing but
   * its arguments. (The key comes first, other than in Flink, so that its type is inferred.)
   */
  partitionCustom<K>(keySelector: (value: T) => K, partitioner: Partitioner<K>): DataStream<T> {
    const at = callSite(partsOf(this).context, this, 'partitionCustom');
    requireFunction(at, partitioner, 'a function (key, parallelism) that returns a subtask');
    requireFunction(at, keySelector, 'a function that returns the key');
    return this.#partitioned({
      type: 'custom',
      partitioner: partitioner as Partitioner<unknown>,
      keySelector: keySelector as (value: unknown) => unknown,
    });
  }

  /**
   * Reads event time anew and makes watermarks from it; those of upstream are dropped. Better
   * done at the source (`watermarks` of `fromSource`), which keeps splits apart.
   */
  assignTimestampsAndWatermarks(
    strategy: WatermarkStrategy<NoInfer<T>>,
  ): SingleOutputStreamOperator<T> {
    const { context, upstream } = partsOf(this);
    const at = callSite(context, this, 'assignTimestampsAndWatermarks');
    requireMethods(at, strategy, [], 'a watermark strategy such as boundedOutOfOrderness(…)');
    const spec: OperatorSpec = {
      type: 'timestamps',
      strategy: strategy as WatermarkStrategy<unknown>,
    };
    const inputs = [{ upstream, keySelector: null }] as const;
    const name = 'Timestamps/Watermarks';
    return context.operatorStream(context.graph.addOperator({ at, name, spec, inputs }));
  }

  #partitioned(partitioner: PartitionerSpec): DataStream<T> {
    const { context, upstream } = partsOf(this);
    const repartitioned = upstream.map((one) => ({ ...one, partitioner }));
    return new DataStream({ context, upstream: repartitioned, keySelector: null });
  }
}

function isSameOutput(a: Upstream, b: Upstream): boolean {
  return a.node === b.node && a.sideOutput === b.sideOutput;
}
