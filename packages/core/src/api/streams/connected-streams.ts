/** Two streams of different types that one operator consumes. */
import { checkState, requireFunction, requireMethods } from '../function-checks.ts';
import type {
  CoProcessFunction,
  KeyedCoProcessFunction,
  KeySelector,
  KeyValue,
  OperatorStateDeclaration,
} from '../functions.ts';
import type { StateDeclaration } from '../state.ts';
import type { OperatorSpec } from '../stream-graph.ts';
import type { SingleOutputStreamOperator } from './single-output-stream-operator.ts';
import { callSite } from './stream-context.ts';
import type { StreamParts } from './stream-context.ts';

export class ConnectedStreams<A, B> {
  readonly #first: StreamParts;
  readonly #second: StreamParts;
  constructor(first: StreamParts, second: StreamParts) {
    this.#first = first;
    this.#second = second;
  }

  /** Handles records of either stream; they arrive in no promised order between the two. */
  process<R = unknown, S extends OperatorStateDeclaration = {}>(
    fn: CoProcessFunction<A, B, R, S>,
  ): SingleOutputStreamOperator<R> {
    const { context, upstream } = this.#first;
    const at = callSite(context, this, 'process');
    requireMethods(at, fn, ['onElement1', 'onElement2']);
    checkState(at, fn, false);
    const spec = { type: 'coProcess', fn } as OperatorSpec;
    const inputs = [
      { upstream, keySelector: null },
      { upstream: this.#second.upstream, keySelector: null },
    ] as const;
    return context.operatorStream(
      context.graph.addOperator({ at, name: 'CoProcess', spec, inputs }),
    );
  }

  /** Brings records of equal key, of both streams, to the same subtask. */
  keyBy<const K extends KeyValue>(
    first: KeySelector<A, K>,
    second: KeySelector<B, K>,
  ): KeyedConnectedStreams<K, A, B> {
    const at = callSite(this.#first.context, this, 'keyBy');
    requireFunction(at, first, 'a function that returns the key of the first stream');
    requireFunction(at, second, 'a function that returns the key of the second stream');
    return new KeyedConnectedStreams(
      hashed(this.#first, first as KeySelector<unknown, KeyValue>),
      hashed(this.#second, second as KeySelector<unknown, KeyValue>),
    );
  }
}

export class KeyedConnectedStreams<K, A, B> {
  readonly #first: StreamParts;
  readonly #second: StreamParts;
  constructor(first: StreamParts, second: StreamParts) {
    this.#first = first;
    this.#second = second;
  }

  /** Handles records of either stream with the state and timers of their key. */
  process<R = unknown, S extends StateDeclaration = {}>(
    fn: KeyedCoProcessFunction<K, A, B, R, S>,
  ): SingleOutputStreamOperator<R> {
    const { context } = this.#first;
    const at = callSite(context, this, 'process');
    requireMethods(at, fn, ['onElement1', 'onElement2']);
    checkState(at, fn, true);
    const spec = { type: 'keyedCoProcess', fn } as OperatorSpec;
    const inputs = [this.#first, this.#second] as const;
    const name = 'KeyedCoProcess';
    return context.operatorStream(context.graph.addOperator({ at, name, spec, inputs }));
  }
}

function hashed(parts: StreamParts, keySelector: KeySelector<unknown, KeyValue>): StreamParts {
  const partitioner = { type: 'hash', keySelector } as const;
  const upstream = parts.upstream.map((one) => ({ ...one, partitioner }));
  return { context: parts.context, upstream, keySelector };
}
