/**
 * What goes into the `CheckpointCoordinator` and what comes out. Events and effects are plain data.
 * `now` is monotonic milliseconds. The shell carries out effects in the order given; those marked
 * with an answer it may carry out asynchronously, and feeds the answer back as an event, at most
 * once. An answer that is no longer wanted is recognised and ignored here, so nothing need be
 * cancelled; the one that must come is that of `finalise`.
 */
import type { ErrorInfo } from '../../base/errors.ts';
import type { ExecutionRef } from '../../base/ids.ts';
import type { Execution } from '../execution/job-execution.ts';
import type {
  CheckpointTrigger,
  DeclineReason,
  StopMode,
  SubtaskCheckpointMetrics,
  SubtaskRef,
} from '../messages.ts';
import type {
  CoordinatorSnapshot,
  SnapshotKind,
  SnapshotMetadata,
  SubtaskSnapshot,
} from '../snapshot.ts';
import type { RunEnd } from './checkpoint-config.ts';
import type { CompletedCheckpoint } from './completed-checkpoint-store.ts';
import type { CheckpointFailureReason } from './failure-reasons.ts';

/** Asked for by a person or a program, and answered by `requestCompleted` or `requestFailed`. */
export interface CheckpointRequest {
  readonly requestId: string;
  readonly kind: SnapshotKind;
  /** Directory under which a savepoint makes its own; `null` for checkpoints. */
  readonly targetDirectory: string | null;
  /** Of a savepoint after which the tasks finish; `null`: the job goes on. */
  readonly stop: StopMode | null;
}

export type CoordinatorEvent =
  /** The job has become RUNNING. `draw` in [0, 1) spreads the first trigger. */
  | { readonly type: 'jobRunning'; readonly draw: number; readonly now: number }
  /** The job has left RUNNING, for whatever status: what is pending or queued is aborted. */
  | { readonly type: 'jobStopped'; readonly now: number }
  /** The run is over: stored checkpoints are kept or discarded by the configured retention. */
  | { readonly type: 'runEnded'; readonly end: RunEnd; readonly now: number }
  | { readonly type: 'timer'; readonly timerId: string; readonly now: number }
  | { readonly type: 'requested'; readonly request: CheckpointRequest; readonly now: number }
  /** Answers `reportTasks`: the present execution of every subtask. */
  | {
      readonly type: 'tasksReported';
      readonly triggerId: number;
      readonly executions: readonly Pick<Execution, 'ref' | 'state'>[];
      readonly now: number;
    }
  /** Answers `drawId`: the id is durable. `timestamp`: wall-clock milliseconds. */
  | {
      readonly type: 'idDrawn';
      readonly triggerId: number;
      readonly checkpointId: number;
      readonly timestamp: number;
      readonly now: number;
    }
  /** Answers `prepareLocation`. */
  | {
      readonly type: 'locationReady';
      readonly checkpointId: number;
      readonly directory: string;
      readonly now: number;
    }
  /** Answers `snapshotCoordinators`. */
  | {
      readonly type: 'coordinatorsSnapshotted';
      readonly checkpointId: number;
      readonly snapshots: readonly CoordinatorSnapshot[];
      readonly now: number;
    }
  /** Answers `drawId`, `prepareLocation` or `snapshotCoordinators` when it failed. */
  | {
      readonly type: 'triggerFailed';
      readonly triggerId: number;
      /** `IO_EXCEPTION` (counted) for storage and log, else `TRIGGER_CHECKPOINT_FAILURE`. */
      readonly reason: 'IO_EXCEPTION' | 'TRIGGER_CHECKPOINT_FAILURE';
      readonly error: ErrorInfo;
      readonly now: number;
    }
  | {
      readonly type: 'acknowledged';
      readonly execution: ExecutionRef;
      readonly checkpointId: number;
      readonly snapshot: SubtaskSnapshot;
      readonly metrics: SubtaskCheckpointMetrics;
      readonly now: number;
    }
  | {
      readonly type: 'declined';
      readonly execution: ExecutionRef;
      readonly checkpointId: number;
      readonly reason: DeclineReason;
      readonly error: ErrorInfo | null;
      readonly now: number;
    }
  /**
   * These failed, or are to be restarted with one that failed: whatever is pending is aborted at
   * once, except what is being finalised.
   */
  | {
      readonly type: 'tasksFailed';
      readonly executions: readonly SubtaskRef[];
      readonly now: number;
    }
  | { readonly type: 'taskFinished'; readonly execution: ExecutionRef; readonly now: number }
  /** A task has processed its last record and waits for a checkpoint to end with. */
  | { readonly type: 'endOfDataReached'; readonly execution: ExecutionRef; readonly now: number }
  /** Answers `finalise`: `_metadata` and the job's pointer to it are durable. */
  | {
      readonly type: 'finalised';
      readonly checkpointId: number;
      readonly sizeBytes: number;
      readonly now: number;
    }
  /** Answers `finalise` when it is certain that the snapshot does not exist. */
  | {
      readonly type: 'finaliseFailed';
      readonly checkpointId: number;
      readonly error: ErrorInfo;
      readonly now: number;
    }
  /** Answers `discardCheckpoint` and `discardPending`, also when discarding failed. */
  | { readonly type: 'discarded'; readonly checkpointId: number; readonly now: number }
  /** A source's enumerator has begun or ended catching up with old data. */
  | {
      readonly type: 'backlogChanged';
      readonly operatorId: string;
      readonly isBacklog: boolean;
      readonly now: number;
    };

/** One subtask's acknowledgement, for people. */
export interface AcknowledgedSubtask {
  readonly execution: ExecutionRef;
  readonly metrics: SubtaskCheckpointMetrics;
  readonly sizeBytes: number;
  /** Milliseconds from the trigger to the acknowledgement. */
  readonly latencyMs: number;
}

export type CoordinatorEffect =
  /** Replaces a timer of the same id. Answer: `timer`, at or after `at`. */
  | { readonly type: 'setTimer'; readonly timerId: string; readonly at: number }
  | { readonly type: 'cancelTimer'; readonly timerId: string }
  /** Answer at once, in the same turn: `tasksReported`. */
  | { readonly type: 'reportTasks'; readonly triggerId: number }
  /** Draw a checkpoint id and make that durable. Answer: `idDrawn` or `triggerFailed`. */
  | { readonly type: 'drawId'; readonly triggerId: number }
  /** Answer: `locationReady` or `triggerFailed`. */
  | {
      readonly type: 'prepareLocation';
      readonly triggerId: number;
      readonly checkpointId: number;
      readonly kind: SnapshotKind;
      readonly targetDirectory: string | null;
    }
  /** Snapshot the split enumerators. Answer: `coordinatorsSnapshotted` or `triggerFailed`. */
  | {
      readonly type: 'snapshotCoordinators';
      readonly triggerId: number;
      readonly checkpointId: number;
    }
  | {
      readonly type: 'triggerTasks';
      readonly executions: readonly ExecutionRef[];
      readonly trigger: CheckpointTrigger;
    }
  /**
   * Write `_metadata` and the pointer, durably. Answer: `finalised` or `finaliseFailed`, and no
   * other than the truth: an unknown outcome is to be resolved first. Meanwhile nothing may be
   * restored (`isFinalising`).
   */
  | {
      readonly type: 'finalise';
      readonly checkpointId: number;
      readonly directory: string;
      readonly metadata: SnapshotMetadata;
      /** Of any other savepoint no pointer is kept: it is the user's. */
      readonly stopsJob: boolean;
    }
  /** Tell the tasks, and the enumerators. Best effort: executions that are gone are skipped. */
  | {
      readonly type: 'notifyComplete';
      readonly executions: readonly ExecutionRef[];
      readonly checkpointId: number;
      /** Newest checkpoint that this one has displaced from the store. */
      readonly subsumedId: number | null;
    }
  /** Tell the tasks and the enumerators. Best effort. `latestCompletedId` is 0 if there is none. */
  | {
      readonly type: 'notifyAborted';
      readonly executions: readonly ExecutionRef[];
      readonly checkpointId: number;
      readonly latestCompletedId: number;
      readonly reason: CheckpointFailureReason;
    }
  /**
   * Remove the data file of one acknowledgement that came too late or from an outdated attempt.
   * Names of data files must contain the attempt, else this could remove another attempt's.
   */
  | {
      readonly type: 'discardSnapshot';
      readonly checkpointId: number;
      readonly directory: string;
      readonly snapshot: SubtaskSnapshot;
    }
  /** Remove a completed checkpoint. Answer: `discarded`. */
  | { readonly type: 'discardCheckpoint'; readonly checkpoint: CompletedCheckpoint }
  /** Remove the whole directory of a checkpoint that never completed. Answer: `discarded`. */
  | {
      readonly type: 'discardPending';
      readonly checkpointId: number;
      readonly directory: string;
    }
  /** Too many failures: global failover under the restart strategy. */
  | {
      readonly type: 'failJob';
      readonly checkpointId: number | null;
      readonly reason: CheckpointFailureReason;
      readonly message: string;
    }
  | {
      readonly type: 'requestCompleted';
      readonly requestId: string;
      readonly checkpoint: CompletedCheckpoint;
    }
  | {
      readonly type: 'requestFailed';
      readonly requestId: string;
      readonly reason: CheckpointFailureReason;
      readonly message: string;
    }
  /** A trigger came to nothing before it had an id. */
  | {
      readonly type: 'triggerDropped';
      readonly reason: CheckpointFailureReason;
      readonly message: string;
    }
  /** A checkpoint has an id and is pending; for statistics and the log. */
  | {
      readonly type: 'checkpointStarted';
      readonly checkpointId: number;
      readonly kind: SnapshotKind;
      readonly timestamp: number;
      readonly stopsJob: boolean;
      /** Those that must acknowledge. */
      readonly executions: readonly ExecutionRef[];
    }
  /** `failure` is `null` if it completed. Every started checkpoint ends once. */
  /** One more of the subtasks of a checkpoint that is in progress. */
  | {
      readonly type: 'subtaskAcknowledged';
      readonly checkpointId: number;
      readonly acknowledged: AcknowledgedSubtask;
    }
  | {
      readonly type: 'checkpointEnded';
      readonly checkpointId: number;
      readonly kind: SnapshotKind;
      readonly failure: {
        readonly reason: CheckpointFailureReason;
        readonly message: string;
      } | null;
      readonly durationMs: number;
      readonly acknowledged: readonly AcknowledgedSubtask[];
    };

/** The events of one type. */
export type EventOf<T extends CoordinatorEvent['type']> = Extract<CoordinatorEvent, { type: T }>;
