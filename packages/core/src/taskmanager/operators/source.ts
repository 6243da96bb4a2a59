/**
 * The head of a chain that reads: drives the reader, gives records their event time, and makes
 * watermarks per split. State: the unfinished splits with their positions.
 */
import type { PollResult, ReaderOutput, Source, SourceReader } from '../../api/source.ts';
import type { WatermarkStrategy } from '../../api/functions.ts';
import { BATCH_SIZE, MIN_WATERMARK } from '../../base/records.ts';
import { isWeirError, SerializationError, messageOf } from '../../base/errors.ts';
import type { ReaderEvent } from '../../protocol/messages.ts';
import { combineTrackers, WatermarkTracker } from './watermark-generator.ts';
import type { OperatorContext } from './stream-operator.ts';
import type { OperatorListState } from '../../api/state.ts';
import { listStateOf, StreamOperator } from './stream-operator.ts';

/** Name of the state that holds the splits. */
export const SPLITS_STATE = 'splits';

export class SourceOperator extends StreamOperator {
  readonly #source: Source<unknown>;
  readonly #strategy: WatermarkStrategy<unknown>;
  readonly #reader: SourceReader<unknown, unknown>;
  readonly #splits: OperatorListState<unknown>;
  readonly #trackers = new Map<string, WatermarkTracker>();
  readonly #output: SourceOutput;
  #nextProbeAt = 0;
  #emitted: number = MIN_WATERMARK;
  #idle = false;
  #lastPollAt: number | null = null;

  constructor(
    context: OperatorContext,
    source: Source<unknown>,
    strategy: WatermarkStrategy<unknown>,
  ) {
    super(context);
    this.#source = source;
    this.#strategy = strategy;
    this.#splits = listStateOf(context, SPLITS_STATE);
    this.#output = new SourceOutput(context, strategy, this.#trackers);
    this.#reader = source.createReader({
      clock: context.clock,
      random: context.random,
      fileSystem: context.fileSystem,
      logger: context.logger,
      subtask: context.runtime.subtask,
      parallelism: context.runtime.parallelism,
      metrics: context.runtime.metrics,
      sendSplitRequest: () => context.sendToEnumerator({ type: 'splitRequest' }),
      sendEvent: (event) => context.sendToEnumerator({ type: 'custom', event }),
      wakeUp: () => context.wakeUp(),
    });
  }

  override async open(): Promise<void> {
    const splits = this.#splits.get();
    await this.#guard('start', () => this.#reader.start());
    if (splits.length > 0) this.#reader.addSplits(splits);
  }

  /** Reads up to a batch. Called by the task while the network has room. */
  poll(): PollResult {
    const now = this.context.clock.now();
    this.#output.remaining = BATCH_SIZE;
    let result: PollResult;
    try {
      result = this.#reader.poll(this.#output);
    } catch (error) {
      throw this.failure(error, 'poll');
    }
    this.#lastPollAt = now;
    if (result !== 'end') this.#emitWatermarks(now);
    return result;
  }

  /** The network had no room for a while: that is no sign of an idle input. */
  pausedFor(ms: number): void {
    for (const tracker of this.#trackers.values()) tracker.pausedFor(ms);
  }

  /** When `poll` should be called again for the sake of watermarks alone; null: never. */
  get nextProbeAt(): number | null {
    return this.#strategy.kind === 'none' || this.#lastPollAt === null ? null : this.#nextProbeAt;
  }

  override processElement(): void {
    throw new SerializationError(`source ${this.describe()} has no input`);
  }

  override handleReaderEvent(event: ReaderEvent): void {
    switch (event.type) {
      case 'addSplits':
        this.#reader.addSplits(event.splits);
        break;
      case 'noMoreSplits':
        this.#reader.notifyNoMoreSplits();
        break;
      case 'custom':
        this.#reader.handleEvent?.(event.event);
        break;
    }
    this.context.wakeUp();
  }

  override prepareSnapshot(checkpointId: number): null {
    this.#splits.update(this.#reader.snapshotState(checkpointId));
    return null;
  }

  override notifyCheckpointComplete(checkpointId: number): void {
    this.#reader.notifyCheckpointComplete?.(checkpointId);
  }

  override async close(): Promise<void> {
    await this.#guard('close', () => this.#reader.close());
  }

  #emitWatermarks(now: number): void {
    if (this.#strategy.kind === 'none' || now < this.#nextProbeAt) return;
    this.#nextProbeAt = now + this.context.autoWatermarkIntervalMs;
    if (this.#trackers.size === 0) return;
    const { watermark, idle } = combineTrackers(this.#trackers.values(), now);
    if (!idle && this.#idle) {
      this.#idle = false;
      this.context.output.emitIdle(false);
    }
    if (watermark > this.#emitted) {
      this.#emitted = watermark;
      this.context.output.emitWatermark(watermark);
    }
    if (idle && !this.#idle) {
      this.#idle = true;
      this.context.output.emitIdle(true);
    }
  }

  async #guard(method: string, call: () => void | Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      if (isWeirError(error)) throw error;
      throw this.failure(
        new Error(`${this.#source.name}: ${messageOf(error)}`, { cause: error }),
        method,
      );
    }
  }
}

/** Puts the records of all splits into the chain and remembers each split's event time. */
class SourceOutput implements ReaderOutput<unknown> {
  remaining = 0;
  readonly #context: OperatorContext;
  readonly #timestampOf: WatermarkStrategy<unknown>['timestampOf'];
  readonly #watermarks: boolean;
  readonly #strategy: WatermarkStrategy<unknown>;
  readonly #trackers: Map<string, WatermarkTracker>;
  #splitId: string | null = null;
  #tracker: WatermarkTracker | null = null;

  constructor(
    context: OperatorContext,
    strategy: WatermarkStrategy<unknown>,
    trackers: Map<string, WatermarkTracker>,
  ) {
    this.#context = context;
    this.#timestampOf = strategy.timestampOf;
    this.#watermarks = strategy.kind !== 'none';
    this.#strategy = strategy;
    this.#trackers = trackers;
  }

  collect(value: unknown, sourceTimestamp: number, splitId: string): void {
    let timestamp = sourceTimestamp;
    if (this.#timestampOf !== undefined) timestamp = this.#timestampOf(value, sourceTimestamp);
    if (this.#watermarks) this.#trackerOf(splitId).onEvent(timestamp);
    this.#context.output.collect(value, timestamp);
    this.remaining = this.#context.canEmit() ? this.remaining - 1 : 0;
  }

  #trackerOf(splitId: string): WatermarkTracker {
    if (splitId === this.#splitId && this.#tracker !== null) return this.#tracker;
    let tracker = this.#trackers.get(splitId);
    if (tracker === undefined) {
      tracker = new WatermarkTracker(this.#strategy);
      this.#trackers.set(splitId, tracker);
    }
    this.#splitId = splitId;
    this.#tracker = tracker;
    return tracker;
  }
}
