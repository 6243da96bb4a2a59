/**
 * Streams whose records go to every subtask, where they maintain state that is equal on all,
 * and the streams connected with them.
 */
import { checkState, requireMethods } from '../function-checks.ts';
import type {
  BroadcastDeclaration,
  BroadcastProcessFunction,
  KeyedBroadcastProcessFunction,
  OperatorStateDeclaration,
} from '../functions.ts';
import type { StateDeclaration } from '../state.ts';
import type { OperatorSpec } from '../stream-graph.ts';
import type { SingleOutputStreamOperator } from './single-output-stream-operator.ts';
import { callSite } from './stream-context.ts';
import type { StreamParts } from './stream-context.ts';

/** Made by `stream.broadcast({ … })`, used by `connect`. */
export class BroadcastStream<X, B extends BroadcastDeclaration> {
  readonly #parts: StreamParts;
  readonly #states: B;
  /** Only for its type. */
  declare readonly __type?: X;

  constructor(parts: StreamParts, states: B) {
    this.#parts = parts;
    this.#states = states;
  }

  /** For the classes of the API: what the stream is made of. */
  static partsOf(stream: BroadcastStream<unknown, BroadcastDeclaration>): StreamParts {
    return stream.#parts;
  }

  /** For the classes of the API: the states it maintains. */
  static statesOf(stream: BroadcastStream<unknown, BroadcastDeclaration>): BroadcastDeclaration {
    return stream.#states;
  }
}

export class BroadcastConnectedStream<T, X, B extends BroadcastDeclaration> {
  readonly #main: StreamParts;
  readonly #broadcast: BroadcastStream<X, B>;

  constructor(main: StreamParts, broadcast: BroadcastStream<X, B>) {
    this.#main = main;
    this.#broadcast = broadcast;
  }

  /** `onBroadcastElement` changes the broadcast state, `onElement` reads it. */
  process<R = unknown, S extends OperatorStateDeclaration = {}>(
    fn: BroadcastProcessFunction<T, X, R, B, S>,
  ): SingleOutputStreamOperator<R> {
    const { context } = this.#main;
    const at = callSite(context, this, 'process');
    requireMethods(at, fn, ['onElement', 'onBroadcastElement']);
    checkState(at, fn, false);
    const broadcast = BroadcastStream.statesOf(this.#broadcast);
    const spec = { type: 'broadcastProcess', fn, broadcast } as OperatorSpec;
    const inputs = [this.#main, BroadcastStream.partsOf(this.#broadcast)] as const;
    const name = 'BroadcastProcess';
    return context.operatorStream(context.graph.addOperator({ at, name, spec, inputs }));
  }
}

export class KeyedBroadcastConnectedStream<K, T, X, B extends BroadcastDeclaration> {
  readonly #main: StreamParts;
  readonly #broadcast: BroadcastStream<X, B>;

  constructor(main: StreamParts, broadcast: BroadcastStream<X, B>) {
    this.#main = main;
    this.#broadcast = broadcast;
  }

  /** As on a stream that is not keyed; `onElement` and timers also have the state of their key. */
  process<R = unknown, S extends StateDeclaration = {}>(
    fn: KeyedBroadcastProcessFunction<K, T, X, R, B, S>,
  ): SingleOutputStreamOperator<R> {
    const { context } = this.#main;
    const at = callSite(context, this, 'process');
    requireMethods(at, fn, ['onElement', 'onBroadcastElement']);
    checkState(at, fn, true);
    const broadcast = BroadcastStream.statesOf(this.#broadcast);
    const spec = { type: 'keyedBroadcastProcess', fn, broadcast } as OperatorSpec;
    const inputs = [this.#main, BroadcastStream.partsOf(this.#broadcast)] as const;
    const name = 'KeyedBroadcastProcess';
    return context.operatorStream(context.graph.addOperator({ at, name, spec, inputs }));
  }
}
