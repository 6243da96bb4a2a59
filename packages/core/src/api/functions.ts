/**
 * What a job's functions look like. Every function is a plain function or an object with methods
 * (a class instance works too); objects may have `open` and `close`. The job module is evaluated
 * anew for every attempt of a subtask, so fields of a function object never leak between subtasks
 * or attempts; but only declared state survives a failure.
 */
import type {
  BroadcastStateDescriptor,
  OperatorListStateDescriptor,
  ReadOnlyBroadcastState,
  StateDeclaration,
  StateHandles,
} from './state.ts';

/** What may be a key: its hash is the same on every machine, for ever. */
export type KeyValue = string | number | bigint | boolean | readonly KeyValue[];
export type KeySelector<T, K extends KeyValue> = (value: T) => K;
/** Gives a record of its own: `a` was emitted, and must not be changed. */
export type Reduce<T> = (a: T, b: T) => T;
/** Picks a subtask in [0, parallelism). Must be deterministic. */
export type Partitioner<K> = (key: K, parallelism: number) => number;

/** A typed name for a side output. */
export interface OutputTag<T> {
  readonly id: string;
  readonly __type?: T;
}

/** Names a record type where TypeScript cannot infer it; see `type`. */
export interface RecordType<out R> {
  readonly __type?: R;
}

/** What `open` learns of the place where the function runs. */
export interface RuntimeContext {
  readonly subtask: number;
  readonly parallelism: number;
  readonly maxParallelism: number;
  /** How many times this subtask was started before, in this run. */
  readonly attemptNumber: number;
  readonly metrics: UserMetrics;
}

export interface Counter {
  add(count?: number): void;
}
export interface UserMetrics {
  /**
   * A counter shown in the progress output and in REST, summed over subtasks. It may go down too:
   * of what changes, such as a lag, add the difference.
   */
  counter(name: string): Counter;
}

export interface FunctionLifecycle {
  open?(context: RuntimeContext): void | Promise<void>;
  close?(): void | Promise<void>;
}

export interface MapFunction<T, R> extends FunctionLifecycle {
  map(value: T): R;
}
export interface FilterFunction<T> extends FunctionLifecycle {
  filter(value: T): boolean;
}
export interface FlatMapFunction<T, R> extends FunctionLifecycle {
  /** Return the results, or call `emit` for each. */
  flatMap(value: T, emit: (result: R) => void): Iterable<R> | void;
}

export interface TimerService {
  /** Event time of this operator: no record with a lower timestamp is expected. */
  readonly currentWatermark: number;
  /** Wall-clock milliseconds. */
  readonly currentProcessingTime: number;
  /** Fires `onTimer` once the watermark reaches `timestamp`. Registering twice fires once. */
  registerEventTimeTimer(timestamp: number): void;
  registerProcessingTimeTimer(timestamp: number): void;
  deleteEventTimeTimer(timestamp: number): void;
  deleteProcessingTimeTimer(timestamp: number): void;
}

/** What a function can do while it handles a record. */
export interface ProcessContext<R, S extends StateDeclaration> {
  readonly state: StateHandles<S>;
  /** Event time of the record in milliseconds, NaN when it has none. */
  readonly timestamp: number;
  readonly currentWatermark: number;
  readonly currentProcessingTime: number;
  emit(result: R): void;
  /** Emits to a side output, read with `stream.sideOutput(tag)`. */
  output<X>(tag: OutputTag<X>, value: X): void;
}
export interface KeyedContext<K, R, S extends StateDeclaration> extends ProcessContext<R, S> {
  readonly key: K;
  readonly timerService: TimerService;
}
/** `timestamp` is the timer's. */
export interface OnTimerContext<K, R, S extends StateDeclaration> extends KeyedContext<K, R, S> {
  readonly timeDomain: 'event' | 'processing';
}

export interface ProcessFunction<T, R, S extends StateDeclaration = {}> extends FunctionLifecycle {
  /** The type of what is emitted: `emits: type<Total>()`. Without it the result is `unknown`. */
  readonly emits?: RecordType<R>;
  readonly state?: S;
  onElement(value: T, context: ProcessContext<R, S>): void;
  /** Input has ended and every record was handled: the last chance to emit. */
  onEndOfInput?(context: ProcessContext<R, S>): void;
}
export interface KeyedProcessFunction<
  K,
  T,
  R,
  S extends StateDeclaration = {},
> extends FunctionLifecycle {
  readonly emits?: RecordType<R>;
  readonly state?: S;
  onElement(value: T, context: KeyedContext<K, R, S>): void;
  onTimer?(timestamp: number, context: OnTimerContext<K, R, S>): void;
}
export interface CoProcessFunction<
  A,
  B,
  R,
  S extends StateDeclaration = {},
> extends FunctionLifecycle {
  readonly emits?: RecordType<R>;
  readonly state?: S;
  onElement1(value: A, context: ProcessContext<R, S>): void;
  onElement2(value: B, context: ProcessContext<R, S>): void;
}
export interface KeyedCoProcessFunction<
  K,
  A,
  B,
  R,
  S extends StateDeclaration = {},
> extends FunctionLifecycle {
  readonly emits?: RecordType<R>;
  readonly state?: S;
  onElement1(value: A, context: KeyedContext<K, R, S>): void;
  onElement2(value: B, context: KeyedContext<K, R, S>): void;
  onTimer?(timestamp: number, context: OnTimerContext<K, R, S>): void;
}

/** The states that a function on a stream without keys can have. */
export type OperatorStateDeclaration = Readonly<
  Record<string, OperatorListStateDescriptor<unknown>>
>;

/** Broadcast states, by name. */
export type BroadcastDeclaration = Readonly<
  Record<string, BroadcastStateDescriptor<unknown, unknown>>
>;
export type ReadOnlyBroadcastHandles<B> = {
  readonly [N in keyof B]: B[N] extends BroadcastStateDescriptor<infer K, infer V>
    ? ReadOnlyBroadcastState<K, V>
    : never;
};
export interface BroadcastProcessFunction<
  T,
  X,
  R,
  B extends BroadcastDeclaration,
  S extends StateDeclaration = {},
> extends FunctionLifecycle {
  readonly emits?: RecordType<R>;
  readonly state?: S;
  onElement(
    value: T,
    context: ProcessContext<R, S> & { readonly broadcast: ReadOnlyBroadcastHandles<B> },
  ): void;
  /** Must change broadcast state alike on every subtask. */
  onBroadcastElement(
    value: X,
    context: ProcessContext<R, S> & { readonly broadcast: StateHandles<B> },
  ): void;
}
export interface KeyedBroadcastProcessFunction<
  K,
  T,
  X,
  R,
  B extends BroadcastDeclaration,
  S extends StateDeclaration = {},
> extends FunctionLifecycle {
  readonly emits?: RecordType<R>;
  readonly state?: S;
  onElement(
    value: T,
    context: KeyedContext<K, R, S> & { readonly broadcast: ReadOnlyBroadcastHandles<B> },
  ): void;
  /** Keyed state is not accessible here: no key is current. */
  onBroadcastElement(
    value: X,
    context: Omit<ProcessContext<R, {}>, 'state'> & { readonly broadcast: StateHandles<B> },
  ): void;
  onTimer?(
    timestamp: number,
    context: OnTimerContext<K, R, S> & { readonly broadcast: ReadOnlyBroadcastHandles<B> },
  ): void;
}

/** How event time is read from records and how far it may lag. See `watermarks.ts`. */
export interface WatermarkStrategy<T> {
  /** Event time of a record in milliseconds. Absent: the source's own timestamps. */
  readonly timestampOf?: (value: T, sourceTimestamp: number) => number;
  /** `none`: no watermarks but the last. */
  readonly kind: 'none' | 'monotonous' | 'boundedOutOfOrderness';
  /** How much older than the newest a record may be without being late. */
  readonly outOfOrdernessMs: number;
  /** A split without records for so long does not hold back the others. `null`: never idle. */
  readonly idlenessMs: number | null;
}
