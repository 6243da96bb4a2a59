/**
 * Every message between JobManager and TaskManagers: plain data, kept by structured clone. Each
 * names the attempt it speaks of, so that whatever belongs to an outdated one is ignored.
 */
import type { ErrorInfo } from '../base/errors.ts';
import type { Attempt, ExecutionRef, OperatorId, VertexId } from '../base/ids.ts';
import type { OperatorSnapshot, Section, StateHandle, SubtaskSnapshot } from './snapshot.ts';

/** States of an execution, as in Flink. */
export type ExecutionState =
  | 'CREATED'
  | 'SCHEDULED'
  | 'DEPLOYING'
  | 'INITIALIZING'
  | 'RUNNING'
  | 'FINISHED'
  | 'CANCELING'
  | 'CANCELED'
  | 'FAILED';

export type JobStatus =
  | 'CREATED'
  | 'RUNNING'
  | 'FAILING'
  | 'RESTARTING'
  | 'CANCELLING'
  | 'CANCELED'
  | 'FAILED'
  | 'FINISHED'
  | 'SUSPENDED';

/**
 * The two ways to stop with a savepoint. `suspend`: to go on later; tasks stop where they are.
 * `drain`: for good; event time comes to its end and operators flush before the snapshot.
 */
export type StopMode = 'suspend' | 'drain';

/** What a barrier carries. */
export interface CheckpointOptions {
  readonly kind: 'checkpoint' | 'savepoint' | StopMode;
  /** Directory for the subtasks' data files, absolute. */
  readonly location: string;
}

export interface CheckpointTrigger {
  readonly checkpointId: number;
  /** Wall-clock milliseconds, for people. */
  readonly timestamp: number;
  readonly options: CheckpointOptions;
}

/**
 * One channel from a producing to a consuming subtask. `channelId` is unique in the job and the
 * same in every attempt.
 */
export interface ChannelDescriptor {
  readonly channelId: number;
  /** Index of the edge in the JobGraph. */
  readonly edge: number;
  readonly producer: ExecutionRef;
  readonly producerSlot: number;
  readonly consumer: ExecutionRef;
  readonly consumerSlot: number;
}

/** Part of an earlier snapshot that this subtask restores, already redistributed. */
export interface OperatorRestore {
  readonly operatorId: OperatorId;
  /** Old subtasks' keyed state whose key groups overlap the new range. */
  readonly keyed: readonly { readonly data: StateHandle; readonly snapshot: OperatorSnapshot }[];
  /** Items by state name, in order. */
  readonly operatorStates: readonly {
    readonly name: string;
    readonly mode: 'list' | 'union' | 'broadcast';
    /** As stored; absent: 1. */
    readonly version?: number;
    readonly schema?: string;
    readonly items: readonly {
      readonly data: StateHandle;
      readonly section: Section;
    }[];
  }[];
}

export interface TaskRestore {
  readonly checkpointId: number;
  /** Directory against which relative paths of handles are resolved. */
  readonly directory: string;
  readonly operators: readonly OperatorRestore[];
  /** Channel positions; only when restored at the same parallelism on both ends. */
  readonly inputs: readonly {
    readonly channelId: number;
    readonly mark: number;
    readonly watermark: number;
    readonly idle: boolean;
    readonly endOfData: boolean;
  }[];
  readonly outputs: readonly { readonly channelId: number; readonly mark: number }[];
  /** The subtask had finished: it runs no life-cycle method and only passes on its end. */
  readonly finished: boolean;
  /** Other code than that which runs may have stored the values: their types are looked at. */
  readonly watchesTypes?: boolean;
}

export interface TaskDeployment {
  readonly execution: ExecutionRef;
  readonly parallelism: number;
  readonly maxParallelism: number;
  /** Times this subtask was deployed before in this run. */
  readonly attemptNumber: number;
  readonly slot: number;
  readonly inputs: readonly ChannelDescriptor[];
  readonly outputs: readonly ChannelDescriptor[];
  /** Maximum parallelism of the target of each outgoing edge, by index of the edge. */
  readonly targetMaxParallelism: Readonly<Record<number, number>>;
  readonly restore: TaskRestore | null;
  /** Barriers with an id up to this belong to earlier attempts and are dropped. */
  readonly ignoreUpTo: number;
  readonly lastCompletedCheckpointId: number;
}

/** Facts about one subtask's share of a checkpoint, for people. */
export interface SubtaskCheckpointMetrics {
  readonly syncMs: number;
  readonly asyncMs: number;
  readonly alignmentMs: number;
  /** From the trigger's receipt to the first barrier here. */
  readonly startDelayMs: number;
}

/** Why a task declines; see semantics B for which of them count as failures. */
export type DeclineReason =
  | 'CHECKPOINT_DECLINED'
  | 'CHECKPOINT_ASYNC_EXCEPTION'
  | 'DECLINED_TASK_NOT_READY'
  | 'DECLINED_TASK_CLOSING'
  | 'DECLINED_ON_CANCELLATION_BARRIER'
  | 'DECLINED_SUBSUMED'
  | 'DECLINED_INPUT_END_OF_STREAM'
  | 'IO_EXCEPTION';

/** JobManager → TaskManager. */
export type TaskManagerMessage =
  | { readonly type: 'deployTask'; readonly deployment: TaskDeployment }
  | { readonly type: 'cancelTask'; readonly execution: ExecutionRef }
  | {
      readonly type: 'triggerCheckpoint';
      readonly execution: ExecutionRef;
      readonly trigger: CheckpointTrigger;
    }
  | {
      readonly type: 'notifyCheckpointComplete';
      readonly execution: ExecutionRef;
      readonly checkpointId: number;
    }
  | {
      readonly type: 'notifyCheckpointAborted';
      readonly execution: ExecutionRef;
      readonly checkpointId: number;
      readonly latestCompletedId: number;
    }
  /** From a split enumerator to the reader in this subtask. */
  | {
      readonly type: 'readerEvent';
      readonly execution: ExecutionRef;
      readonly operatorId: OperatorId;
      readonly event: ReaderEvent;
    };

export type ReaderEvent =
  | { readonly type: 'addSplits'; readonly splits: readonly unknown[] }
  | { readonly type: 'noMoreSplits' }
  | { readonly type: 'custom'; readonly event: unknown };

export type EnumeratorEvent =
  | { readonly type: 'readerRegistered' }
  | { readonly type: 'splitRequest' }
  | { readonly type: 'custom'; readonly event: unknown };

/** Numbers a task reports about once a second; counts since the start of the attempt. */
/** Milliseconds, of the last markers; `count` of all. */
export interface LatencyNumbers {
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly stddev: number;
  readonly median: number;
  readonly p75: number;
  readonly p90: number;
  readonly p95: number;
  readonly p98: number;
  readonly p99: number;
  readonly p999: number;
}

/** How old the markers of a source were when they came to an operator of a task. */
export interface LatencyStatistics extends LatencyNumbers {
  readonly operatorId: OperatorId;
  /** `null`: of all sources, all subtasks. */
  readonly sourceId: OperatorId | null;
  readonly sourceSubtask: number | null;
}

export interface TaskMetrics {
  readonly execution: ExecutionRef;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly busyMs: number;
  readonly backPressuredMs: number;
  readonly idleMs: number;
  readonly watermark: number;
  /** User counters and counters of operators (`droppedLate`, `skippedRecords`), by name. */
  readonly counters: Readonly<Record<string, number>>;
  /** Empty unless `metrics.latency.interval` is set. */
  readonly latencies: readonly LatencyStatistics[];
}

/** TaskManager → JobManager. */
export type JobManagerMessage =
  | {
      readonly type: 'taskStateChanged';
      readonly execution: ExecutionRef;
      readonly state: ExecutionState;
      readonly error: ErrorInfo | null;
    }
  | {
      readonly type: 'acknowledgeCheckpoint';
      readonly execution: ExecutionRef;
      readonly checkpointId: number;
      readonly snapshot: SubtaskSnapshot;
      readonly metrics: SubtaskCheckpointMetrics;
    }
  | {
      readonly type: 'declineCheckpoint';
      readonly execution: ExecutionRef;
      readonly checkpointId: number;
      readonly reason: DeclineReason;
      readonly error: ErrorInfo | null;
    }
  | {
      readonly type: 'enumeratorEvent';
      readonly execution: ExecutionRef;
      readonly operatorId: OperatorId;
      readonly event: EnumeratorEvent;
    }
  /**
   * The subtask has handled all its input; it waits for a checkpoint that holds its last results.
   */
  | { readonly type: 'endOfDataReached'; readonly execution: ExecutionRef }
  | { readonly type: 'taskMetrics'; readonly metrics: readonly TaskMetrics[] };

/** Refers to a subtask by place in the graph. */
export interface SubtaskRef {
  readonly vertexId: VertexId;
  readonly subtask: number;
}

export type { Attempt, ErrorInfo };
