/**
 * The contract of a sink (Flink's Sink V2). A `SinkWriter` in each subtask writes records; with a
 * committer, what it prepares at a barrier (committables) is committed once the checkpoint is
 * complete, in order of checkpoints, from whatever process is then alive.
 *
 * Recovery runs once per sink on the JobManager before its writers start: `recover` gets the
 * committables and writer states of the snapshot and finishes or removes what older attempts left.
 */
import type { Attempt, JobId, OperatorId } from '../base/ids.ts';
import type { ConnectorEnvironment } from './source.ts';
import type { UserMetrics } from './functions.ts';

/** How a sink writes; with the source it decides the guarantee of a path. */
export type WriteMode =
  | 'unacknowledged'
  | 'plain'
  | 'idempotent'
  | 'write-ahead-log'
  | 'two-phase-commit';

export interface Sink<T, WriterState = unknown, Committable = unknown> {
  readonly name: string;
  readonly write: WriteMode;
  /** What a reader of the output must do: shown before the run. */
  readonly readersDuty?: string;
  createWriter(
    context: SinkWriterContext,
    restored: readonly WriterState[],
  ): SinkWriter<T, WriterState, Committable>;
  /** Absent: nothing is committed. */
  createCommitter?(context: CommitterContext): Committer<Committable, WriterState>;
  /** Directories the sink writes into, for the check that a fresh run finds them empty. */
  outputLocations?(): readonly string[];
}

/** Identifies the sink across attempts. */
export interface SinkIdentity {
  readonly jobId: JobId;
  readonly operatorId: OperatorId;
}
export interface SinkWriterContext extends ConnectorEnvironment, SinkIdentity {
  readonly subtask: number;
  readonly parallelism: number;
  readonly attempt: Attempt;
  /** Whether checkpoints are on: without them a committing sink commits at the end of input. */
  readonly checkpointing: boolean;
  readonly metrics: UserMetrics;
  /** Asks that `onHousekeeping` be called every `intervalMs`, between records. */
  scheduleHousekeeping(intervalMs: number): void;
}
export interface CommitterContext extends ConnectorEnvironment, SinkIdentity {}

/** What a writer hands over at a barrier, or at the end of input. */
export interface PreparedCommit<WriterState, Committable> {
  /** To be committed when the checkpoint completes. */
  readonly committables: readonly Committable[];
  /** Plain data that structured clone keeps. */
  readonly writerStates: readonly WriterState[];
  /**
   * Resolves when everything written before the barrier has reached the outer system (a plain
   * sink), or is durable and pending (a committing one). The checkpoint is acknowledged only then;
   * records go on being written meanwhile. A rejection fails the task: nothing may be lost.
   */
  readonly durable: Promise<void>;
}

/**
 * `write` is synchronous: it buffers. When `isWritable` is false the task waits for `whenWritable`
 * before the next record, so a slow sink slows its producers and memory stays bounded. An error of
 * the outer system may be thrown by any later call; it fails the task.
 */
export interface SinkWriter<T, WriterState = unknown, Committable = unknown> {
  open?(): Promise<void>;
  write(value: T, context: { readonly timestamp: number; readonly watermark: number }): void;
  readonly isWritable: boolean;
  whenWritable(): Promise<void>;
  /** Synchronous: what was written before belongs to this checkpoint, what comes after does not. */
  prepareCommit(options: {
    readonly checkpointId: number;
    readonly endOfInput: boolean;
    /** The job is stopped with this snapshot, unless that fails: whatever is open may be closed. */
    readonly stops?: boolean;
  }): PreparedCommit<WriterState, Committable>;
  /** Housekeeping by time (rolling by age); see `scheduleHousekeeping`. */
  onHousekeeping?(): void;
  close(): Promise<void>;
}

/** What became of a committable whose outcome is not known. */
export type CommittableStatus = 'pending' | 'committed' | 'gone';

export interface SinkRecovery<Committable, WriterState> {
  readonly committables: readonly Committable[];
  readonly writerStates: readonly WriterState[];
  /** Lower attempts are dead: what they left and the snapshot does not name is removed. */
  readonly attempt: Attempt;
  /** Subtasks concerned: all, or those of a restarted region. */
  readonly subtasks: readonly number[] | 'all';
  /** The user allowed an older snapshot than the newest: published results may repeat. */
  readonly allowOlder: boolean;
}

export interface Committer<Committable, WriterState = unknown> {
  /** Must be idempotent: committing what is committed already succeeds. */
  commit(committables: readonly Committable[]): Promise<void>;
  /** Tells what happened to a committable: an unknown outcome is resolved, not guessed. */
  probe(committable: Committable): Promise<CommittableStatus>;
  /** Throws what would keep `recover` from going well; changes nothing. `weir check-upgrade`. */
  check?(recovery: SinkRecovery<Committable, WriterState>): Promise<void>;
  /** See the head text. Returns when every committable is committed. Idempotent. */
  recover(recovery: SinkRecovery<Committable, WriterState>): Promise<void>;
  close(): Promise<void>;
}
