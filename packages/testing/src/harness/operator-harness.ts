/**
 * Drives one operator record by record, for tests: a process function, a map, a reduce, with keys
 * or without, of one input or two. It is built with the API that jobs use, runs on the engine's own
 * operator, state and timers, in all its subtasks, and on a clock that the test moves. Names follow
 * Flink's test harnesses.
 *
 * With `crashAfterEvery` the state is written out, the operator thrown away, built anew and
 * restored, after every so many items: what it gives must be the same with and without.
 */
import { Configuration, GraphValidationError, job as newJob } from '@weir/core';
import type { ArgumentValues, ConfigSettings, DataStream, Job, OutputTag } from '@weir/core';
import { ManualClock } from '@weir/core/internal/base/clock';
import { hashKey, keyGroupOf, subtaskOf } from '@weir/core/internal/base/key-groups';
import { MIN_WATERMARK } from '@weir/core/internal/base/records';
import type { Output } from '@weir/core/internal/taskmanager/chain/output';
import { takeSnapshot } from './harness-snapshot.ts';
import type { HarnessSnapshot } from './harness-snapshot.ts';
import { makeSubtask, runDue } from './harness-subtask.ts';
import type { HarnessSubtask } from './harness-subtask.ts';
import { findOperator } from './operator-under-test.ts';
import type { OperatorSource, OperatorUnderTest } from './operator-under-test.ts';

export interface HarnessOptions {
  /** Number of subtasks. Default 1. */
  readonly parallelism?: number;
  /** Number of key groups. Default 128. */
  readonly maxParallelism?: number;
  /** After so many items, snapshot and restore. Default: never. */
  readonly crashAfterEvery?: number;
  /** Parallelisms to go on with after each of these crashes, in turn. Default: the same. */
  readonly crashParallelisms?: readonly number[];
}

/** Of a job that is there already: what it is built with. */
export interface JobHarnessOptions extends HarnessOptions {
  readonly args?: ArgumentValues;
  readonly config?: ConfigSettings;
}

export interface OutputRecord<R> {
  readonly value: R;
  /** NaN: the record has none. */
  readonly timestamp: number;
}

interface SideRecord {
  readonly tag: string;
  readonly value: unknown;
}

export class OperatorHarness<A, R, B = never> {
  readonly #source: OperatorSource;
  readonly #options: HarnessOptions;
  readonly #clock = new ManualClock(0, 0);
  readonly #output: OutputRecord<R>[] = [];
  readonly #sides: SideRecord[] = [];
  readonly #watermarks: number[] = [];
  #tested: OperatorUnderTest;
  #subtasks: readonly HarnessSubtask[] = [];
  /** Event time of each input. */
  #inputWatermarks: number[];
  #attempt = 0;
  #snapshots = 0;
  #items = 0;
  #crashes = 0;
  /** For records without a key: the subtask of the next. */
  #next = 0;
  #isOpen = false;
  /** What surfaced outside of a call. */
  #failure: { readonly error: unknown } | null = null;

  private constructor(source: OperatorSource, options: HarnessOptions) {
    this.#source = source;
    this.#options = options;
    this.#tested = findOperator(source);
    this.#inputWatermarks = this.#tested.routings.map(() => MIN_WATERMARK);
    this.#build(source.parallelism);
  }

  /**
   * The one operator that `build` makes: `oneInput((orders: DataStream<Order>) => orders.keyBy(…)
   * .process(…))`.
   * @throws GraphValidationError when it makes none, or several.
   */
  static oneInput<A, R>(
    build: (input: DataStream<A>) => DataStream<R>,
    options: HarnessOptions = {},
  ): OperatorHarness<A, R> {
    const job = newJob('harness', (env) => {
      build(env.fromCollection<A>([], { uid: 'input' })).forEach(() => undefined);
    });
    return new OperatorHarness(sourceOf(job, null, options), options);
  }

  /** As `oneInput`, for an operator of two inputs, such as `first.connect(second).process(…)`. */
  static twoInput<A, B, R>(
    build: (first: DataStream<A>, second: DataStream<B>) => DataStream<R>,
    options: HarnessOptions = {},
  ): OperatorHarness<A, R, B> {
    const job = newJob('harness', (env) => {
      const first = env.fromCollection<A>([], { uid: 'first input' });
      const second = env.fromCollection<B>([], { uid: 'second input' });
      build(first, second).forEach(() => undefined);
    });
    return new OperatorHarness(sourceOf(job, null, options), options);
  }

  /**
   * An operator of a job, by its uid (or its name, if it has no uid).
   * @throws GraphValidationError when the job has no such operator between sources and sinks.
   */
  static ofJob<A = unknown, R = unknown, B = unknown>(
    job: Job,
    uid: string,
    options: JobHarnessOptions = {},
  ): OperatorHarness<A, R, B> {
    return new OperatorHarness(sourceOf(job, uid, options), options);
  }

  /** Opens the functions. The other calls do so where it was not called. */
  async open(): Promise<void> {
    if (this.#isOpen) return;
    this.#isOpen = true;
    for (const { operator } of this.#subtasks) await operator.open();
    this.#passWatermark();
  }

  /** A record of the only, or the first, input. Without a timestamp it has none: NaN. */
  async processElement(value: A, timestamp: number = Number.NaN): Promise<void> {
    await this.#item(() => this.#element(0, value, timestamp));
  }

  async processElement1(value: A, timestamp: number = Number.NaN): Promise<void> {
    await this.processElement(value, timestamp);
  }

  /** A record of the second input; one of a broadcast goes to every subtask. */
  async processElement2(value: B, timestamp: number = Number.NaN): Promise<void> {
    if (this.#tested.routings.length < 2)
      throw new GraphValidationError(`OperatorHarness: ${this.#name} has no second input`);
    await this.#item(() => this.#element(1, value, timestamp));
  }

  /** Event time of all inputs is `timestamp` now. Fires event-time timers. */
  async processWatermark(timestamp: number): Promise<void> {
    await this.#item(() => {
      for (const index of this.#inputWatermarks.keys()) this.#raise(index, timestamp);
      this.#passWatermark();
    });
  }

  /** Event time of the first input; that of the operator is the lower of the two. */
  async processWatermark1(timestamp: number): Promise<void> {
    await this.#item(() => {
      this.#raise(0, timestamp);
      this.#passWatermark();
    });
  }

  async processWatermark2(timestamp: number): Promise<void> {
    await this.#item(() => {
      this.#raise(1, timestamp);
      this.#passWatermark();
    });
  }

  /** Moves the wall clock on, which begins at 0. Fires processing-time timers. */
  async setProcessingTime(timestamp: number): Promise<void> {
    await this.#item(() => {
      const byMs = timestamp - this.#clock.wallTime();
      if (byMs < 0) this.#clock.jumpWallTime(byMs);
      else this.#clock.advance(byMs);
    });
  }

  /** The input has ended: `onEndOfInput` is called. */
  async endInput(): Promise<void> {
    await this.#item(() => {
      for (const { operator } of this.#subtasks) operator.endOfInput();
    });
  }

  /** What was emitted so far, in order, over all crashes and restores. */
  getOutput(): readonly OutputRecord<R>[] {
    return [...this.#output];
  }

  /** The values of `getOutput`. */
  extractOutputValues(): readonly R[] {
    return this.#output.map(({ value }) => value);
  }

  /** What was emitted to a side output. */
  getSideOutput<X>(tag: OutputTag<X>): readonly X[] {
    return this.#sides.filter((one) => one.tag === tag.id).map(({ value }) => value as X);
  }

  /** Watermarks that were passed on, each once. */
  getWatermarks(): readonly number[] {
    return [...this.#watermarks];
  }

  /** Timers pending, of all keys. */
  numEventTimeTimers(): number {
    return this.#sum(({ timers }) => timers?.sizeOf('event') ?? 0);
  }

  numProcessingTimeTimers(): number {
    return this.#sum(({ timers }) => timers?.sizeOf('processing') ?? 0);
  }

  /** Keys that have any state. */
  numKeyedStateEntries(): number {
    return this.#sum(({ keyed }) => keyed?.keyCount ?? 0);
  }

  /** The state of all subtasks as it is now, as a checkpoint holds it. */
  async snapshot(): Promise<HarnessSnapshot> {
    await this.open();
    return takeSnapshot(this.#tested, this.#subtasks, {
      checkpointId: ++this.#snapshots,
      watermarks: [...this.#inputWatermarks],
    });
  }

  /**
   * Throws the operator away, builds it anew, gives it the state of a snapshot (also of another
   * harness) and opens it. What was emitted stays.
   */
  async restore(
    snapshot: HarnessSnapshot,
    options: { readonly parallelism?: number } = {},
  ): Promise<void> {
    await this.close();
    this.#attempt++;
    this.#build(options.parallelism ?? this.#subtasks.length);
    await snapshot.restoreInto(this.#tested, this.#subtasks);
    this.#inputWatermarks = this.#inputWatermarks.map(
      (_before, index) => snapshot.watermarks[index] ?? MIN_WATERMARK,
    );
    await this.open();
  }

  /** Closes the functions. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const { operator } of this.#subtasks) await operator.close();
  }

  get #name(): string {
    const { uid, name } = this.#tested.node;
    return uid ?? name;
  }

  #build(parallelism: number): void {
    this.#tested = findOperator({ ...this.#source, parallelism });
    this.#subtasks = Array.from({ length: parallelism }, (_, subtask) =>
      makeSubtask(this.#tested, {
        subtask,
        attempt: this.#attempt,
        clock: this.#clock,
        output: this.#mainOutput(),
        sideOutput: (tag) => this.#sideOutput(tag),
        fail: (error) => {
          this.#failure ??= { error };
        },
      }),
    );
  }

  /** One step of a test, and what comes of itself behind it. */
  async #item(handle: () => void): Promise<void> {
    await this.open();
    handle();
    for (const subtask of this.#subtasks) runDue(subtask);
    if (this.#failure !== null) throw this.#failure.error;
    const { crashAfterEvery, crashParallelisms = [] } = this.#options;
    if (crashAfterEvery === undefined || ++this.#items % crashAfterEvery !== 0) return;
    const parallelism = crashParallelisms[this.#crashes++ % crashParallelisms.length];
    await this.restore(await this.snapshot(), parallelism === undefined ? {} : { parallelism });
  }

  #element(index: 0 | 1, value: A | B, timestamp: number): void {
    for (const { operator } of this.#targets(index, value))
      if (index === 0) operator.processElement(value, timestamp);
      else operator.processElement2(value, timestamp);
  }

  #targets(index: 0 | 1, value: unknown): readonly HarnessSubtask[] {
    const routing = this.#tested.routings[index];
    if (routing?.type === 'all') return this.#subtasks;
    const { parallelism, maxParallelism } = this.#tested.vertex;
    const subtask =
      routing?.type === 'key'
        ? subtaskOf(
            keyGroupOf(hashKey(routing.keyOf(value)), maxParallelism),
            maxParallelism,
            parallelism,
          )
        : this.#next++ % parallelism;
    return this.#subtasks.slice(subtask, subtask + 1);
  }

  #raise(index: number, timestamp: number): void {
    this.#inputWatermarks[index] = Math.max(
      this.#inputWatermarks[index] ?? MIN_WATERMARK,
      timestamp,
    );
  }

  /** The operator's event time is that of its slowest input. */
  #passWatermark(): void {
    const watermark = Math.min(...this.#inputWatermarks);
    if (watermark === MIN_WATERMARK) return;
    for (const { operator } of this.#subtasks) operator.processWatermark(watermark);
  }

  #mainOutput(): Output {
    return {
      collect: (value, timestamp) => void this.#output.push({ value: value as R, timestamp }),
      emitWatermark: (timestamp) => {
        if (timestamp > (this.#watermarks.at(-1) ?? MIN_WATERMARK))
          this.#watermarks.push(timestamp);
      },
      emitIdle: () => undefined,
    };
  }

  #sideOutput(tag: string): Output {
    return {
      collect: (value) => void this.#sides.push({ tag, value }),
      emitWatermark: () => undefined,
      emitIdle: () => undefined,
    };
  }

  #sum(count: (subtask: HarnessSubtask) => number): number {
    return this.#subtasks.reduce((sum, subtask) => sum + count(subtask), 0);
  }
}

function sourceOf(job: Job, called: string | null, options: JobHarnessOptions): OperatorSource {
  const { parallelism = 1, maxParallelism = 128, args = {}, config = {} } = options;
  return {
    job,
    called,
    options: { args, configuration: Configuration.of(config, 'OperatorHarness') },
    parallelism,
    maxParallelism,
  };
}
