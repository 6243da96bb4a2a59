/**
 * The head of a chain that reads: drives the reader, gives records their event time, and makes
 * watermarks per split. State: the unfinished splits with their positions.
 */
import type { PollResult, ReaderOutput, Source, SourceReader } from '../../api/source.ts';
import type { WatermarkStrategy } from '../../api/functions.ts';
import { BATCH_SIZE, MIN_WATERMARK } from '../../base/records.ts';
import { isWeirError, SerializationError, messageOf } from '../../base/errors.ts';
import type { ReaderEvent } from '../../protocol/messages.ts';
import { combineTrackers, probeIntervalMs, WatermarkTracker } from './watermark-generator.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
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
  /** Stands for the splits while there are none: a reader without splits may be idle too. */
  readonly #noSplit: WatermarkTracker;
  readonly #output: SourceOutput;
  readonly #probeIntervalMs: number | null;
  /** Of the enumerator, before the reader has its restored splits; null: it has. */
  #early: ReaderEvent[] | null = [];
  #nextProbeAt = 0;
  #emitted: number = MIN_WATERMARK;
  #idle = false;
  /** The reader said that no split is on its way to it. */
  #isSplitless = false;
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
    this.#noSplit = new WatermarkTracker(strategy);
    this.#probeIntervalMs = probeIntervalMs(strategy, context.autoWatermarkIntervalMs);
    this.#output = new SourceOutput(this, strategy, this.#trackers);
    this.#reader = source.createReader({
      clock: context.clock,
      random: context.random,
      fileSystem: context.fileSystem,
      logger: context.logger,
      signal: context.signal,
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
    if (splits.length > 0) this.#addSplits(splits);
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) this.handleReaderEvent(event);
  }

  override inlined(): InlinedOperator {
    const { kind, timestampOf = null } = this.#strategy;
    return { kind: 'source', output: this.#output, timestampOf, hasWatermarks: kind !== 'none' };
  }

  /** Reads up to so many records. Called by the task while the network has room. */
  poll(limit: number = BATCH_SIZE): PollResult {
    const now = this.context.clock.now();
    this.#output.remaining = limit;
    this.context.active.enter(this.context.operator.node);
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

  override pausedFor(ms: number): void {
    this.#noSplit.pausedFor(ms);
    for (const tracker of this.#trackers.values()) tracker.pausedFor(ms);
  }

  /** Records read by this attempt. */
  get recordsRead(): number {
    return this.#output.collected;
  }

  /** When `poll` should be called again for the sake of watermarks alone; null: never. */
  get nextProbeAt(): number | null {
    return this.#probeIntervalMs === null || this.#lastPollAt === null ? null : this.#nextProbeAt;
  }

  override processElement(): void {
    throw new SerializationError(`source ${this.describe()} has no input`);
  }

  override handleReaderEvent(event: ReaderEvent): void {
    if (this.#early !== null) {
      this.#early.push(event);
      return;
    }
    switch (event.type) {
      case 'addSplits':
        this.#addSplits(event.splits);
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

  /** It has none and waits for none: it must not hold back those that have. */
  hasNoSplit(): void {
    this.#isSplitless = true;
  }

  /** A split that has no record yet holds back event time as well: its first may be old. */
  #addSplits(splits: readonly unknown[]): void {
    this.#isSplitless = false;
    if (this.#strategy.kind !== 'none' && this.#source.splitId !== undefined)
      for (const split of splits) this.#output.splitStarted(this.#source.splitId(split));
    this.#reader.addSplits(splits);
  }

  #emitWatermarks(now: number): void {
    if (this.#strategy.kind === 'none') return;
    // Without an interval there is a watermark after each batch.
    const isEachBatch = this.context.autoWatermarkIntervalMs === 0;
    if (now < this.#nextProbeAt && !isEachBatch) return;
    this.#nextProbeAt = now + (this.#probeIntervalMs ?? Infinity);
    // Its idleness begins when the splits are gone.
    if (this.#trackers.size > 0) this.#noSplit.onEvent(Number.NaN);
    const trackers = this.#trackers.size === 0 ? [this.#noSplit] : this.#trackers.values();
    const combined = combineTrackers(trackers, now);
    const { watermark } = combined;
    const idle = combined.idle || (this.#isSplitless && this.#trackers.size === 0);
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
  /** Records read by this attempt. */
  collected = 0;
  /** Replaced where a chain is generated. */
  collect: ReaderOutput<unknown>['collect'];
  readonly #operator: SourceOperator;
  readonly #context: OperatorContext;
  readonly #watermarks: boolean;
  readonly #strategy: WatermarkStrategy<unknown>;
  readonly #trackers: Map<string, WatermarkTracker>;
  #splitId: string | null = null;
  #tracker: WatermarkTracker | null = null;

  constructor(
    operator: SourceOperator,
    strategy: WatermarkStrategy<unknown>,
    trackers: Map<string, WatermarkTracker>,
  ) {
    this.#operator = operator;
    this.#context = operator.context;
    this.#watermarks = strategy.kind !== 'none';
    this.#strategy = strategy;
    this.#trackers = trackers;
    this.collect = (value, sourceTimestamp, splitId) =>
      this.#collect(value, sourceTimestamp, splitId);
  }

  checkTime(time: unknown): asserts time is number {
    this.#operator.checkTime(time);
  }

  /** The split has come to this time. */
  advance(time: number, splitId: string): void {
    this.#trackerOf(splitId).onEvent(time);
  }

  #collect(value: unknown, sourceTimestamp: number, splitId: string): void {
    const timestamp = this.#operator.timestampOf(this.#strategy, value, sourceTimestamp);
    if (this.#watermarks) this.advance(timestamp, splitId);
    this.collected++;
    this.#context.output.collect(value, timestamp);
    this.remaining = this.#context.canEmit() ? this.remaining - 1 : 0;
    // What the reader does next is its own doing, not that of the operators behind it.
    this.#context.active.enter(this.#context.operator.node);
  }

  /** From now on it holds back event time. */
  splitStarted(splitId: string): void {
    if (!this.#trackers.has(splitId))
      this.#trackers.set(splitId, new WatermarkTracker(this.#strategy));
  }

  hasNoSplit(): void {
    this.#operator.hasNoSplit();
  }

  /** Every record of the split is collected: it no longer holds back event time. */
  splitFinished(splitId: string): void {
    this.#trackers.delete(splitId);
    if (splitId === this.#splitId) this.#tracker = null;
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
