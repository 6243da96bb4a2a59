/**
 * The contract of a source (Flink's FLIP-27). A `SplitEnumerator` on the JobManager finds splits
 * and hands them to readers; a `SourceReader` in each subtask reads them. Positions are *next to
 * read*, resolved to numbers, and are stored with every checkpoint as one state per split.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { UserMetrics } from './functions.ts';

export interface Source<T, Split = unknown, EnumeratorState = unknown> {
  readonly name: string;
  /** Whether the input ends. */
  readonly boundedness: 'bounded' | 'unbounded';
  /** `offsets`: any position can be read again; `none`: what was read is gone (a socket). */
  readonly replay: 'offsets' | 'none';
  /** `restored` is what `snapshotState` returned; absent on a first start. */
  createEnumerator(
    context: SplitEnumeratorContext<Split>,
    restored?: EnumeratorState,
  ): SplitEnumerator<Split, EnumeratorState>;
  createReader(context: SourceReaderContext): SourceReader<T, Split>;
  /** Text of a position for people: `lines.txt at byte 4711`. */
  describeSplit?(split: Split): string;
  /**
   * The id under which the reader collects the records of a split. With it, a split holds back
   * event time from the moment it is assigned; without, only from its first record on.
   */
  splitId?(split: Split): string;
}

/** The environment a connector may use instead of globals. */
export interface ConnectorEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly fileSystem: FileSystem;
  readonly logger: Logger;
  /**
   * Aborted when the task ends before its time (it fails, or the job is stopped): nothing should be
   * waited for any more. `close` follows when what is on its way is done. Absent: never.
   */
  readonly signal?: AbortSignal;
}

export interface SplitEnumeratorContext<Split> extends ConnectorEnvironment {
  readonly parallelism: number;
  /** Subtasks whose reader has registered and is alive. */
  registeredReaders(): readonly number[];
  assignSplits(subtask: number, splits: readonly Split[]): void;
  /** The reader will get no more splits: it ends when those it has are read. */
  signalNoMoreSplits(subtask: number): void;
  sendEvent(subtask: number, event: unknown): void;
  /** Ends the attempt of the whole job with this error. */
  fail(error: unknown): void;
}

/** Calls come one at a time; `start` and `handle…` may await I/O, `snapshotState` may not. */
export interface SplitEnumerator<Split, State> {
  start(): void | Promise<void>;
  /** A reader wants a split. */
  handleSplitRequest(subtask: number): void | Promise<void>;
  /** A reader has started (again); its former splits come back by `addSplitsBack`, if any. */
  addReader(subtask: number): void;
  /** Splits assigned to a failed reader after the checkpoint it restarts from. */
  addSplitsBack(splits: readonly Split[], subtask: number): void;
  handleEvent?(subtask: number, event: unknown): void;
  /** Plain data that structured clone keeps. */
  snapshotState(checkpointId: number): State;
  notifyCheckpointComplete?(checkpointId: number): void;
  close(): void | Promise<void>;
}

export interface SourceReaderContext extends ConnectorEnvironment {
  readonly subtask: number;
  readonly parallelism: number;
  readonly metrics: UserMetrics;
  /** Asks the enumerator for a split. */
  sendSplitRequest(): void;
  sendEvent(event: unknown): void;
  /** Must be called when `poll` has something to do again after it answered `nothing`. */
  wakeUp(): void;
}

/** Where a reader puts records. `splitId` keeps watermarks apart per split. */
export interface ReaderOutput<T> {
  /** `timestamp` NaN when the source knows none. */
  collect(value: T, timestamp: number, splitId: string): void;
  /** Free places before the caller should return from `poll`; check it between records. */
  readonly remaining: number;
  /** The split is read to its end: it no longer holds back the watermark of the others. */
  splitFinished?(splitId: string): void;
  /**
   * The reader has no split, and none that is known of is on its way: until it gets one it is idle,
   * whatever the strategy's time-out.
   */
  hasNoSplit?(): void;
}

/** `more`: call again · `nothing`: wait for `wakeUp` · `end`: no more splits, all are read. */
export type PollResult = 'more' | 'nothing' | 'end';

/**
 * Reads splits in one subtask. `poll` is synchronous and must return within about a millisecond:
 * reading ahead is done beside it, asynchronously. State after `poll` must match exactly what was
 * collected: `snapshotState` may be called between any two polls.
 */
export interface SourceReader<T, Split> {
  start(): void | Promise<void>;
  poll(output: ReaderOutput<T>): PollResult;
  /** New splits, and the restored ones (with their positions) right after `start`. */
  addSplits(splits: readonly Split[]): void;
  notifyNoMoreSplits(): void;
  handleEvent?(event: unknown): void;
  /** The unfinished splits with their positions: plain data that structured clone keeps. */
  snapshotState(checkpointId: number): readonly Split[];
  notifyCheckpointComplete?(checkpointId: number): void;
  /** Stops reading; called once, also after a failure. */
  close(): void | Promise<void>;
}
