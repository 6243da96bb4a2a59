/**
 * Why a checkpoint did not come to be. The names are Flink's. Only five of them count as failures
 * of the job's checkpointing; the others are the normal course of things, or something else fails
 * the job anyway.
 */
import type { DeclineReason } from '../messages.ts';

export type CheckpointFailureReason =
  | DeclineReason
  | 'CHECKPOINT_EXPIRED'
  | 'FINALIZE_CHECKPOINT_FAILURE'
  | 'TRIGGER_CHECKPOINT_FAILURE'
  | 'MINIMUM_TIME_BETWEEN_CHECKPOINTS'
  | 'TOO_MANY_CHECKPOINT_REQUESTS'
  | 'NOT_ALL_REQUIRED_TASKS_RUNNING'
  | 'CHECKPOINT_SUBSUMED'
  | 'CHECKPOINT_COORDINATOR_SUSPEND'
  | 'CHECKPOINT_COORDINATOR_SHUTDOWN'
  | 'TASK_FAILURE';

/** A table, so that a new reason cannot be added without deciding whether it counts. */
const COUNTED: Readonly<Record<CheckpointFailureReason, boolean>> = {
  IO_EXCEPTION: true,
  CHECKPOINT_ASYNC_EXCEPTION: true,
  CHECKPOINT_DECLINED: true,
  CHECKPOINT_EXPIRED: true,
  FINALIZE_CHECKPOINT_FAILURE: true,

  DECLINED_TASK_NOT_READY: false,
  DECLINED_TASK_CLOSING: false,
  DECLINED_ON_CANCELLATION_BARRIER: false,
  DECLINED_SUBSUMED: false,
  DECLINED_INPUT_END_OF_STREAM: false,
  TRIGGER_CHECKPOINT_FAILURE: false,
  MINIMUM_TIME_BETWEEN_CHECKPOINTS: false,
  TOO_MANY_CHECKPOINT_REQUESTS: false,
  NOT_ALL_REQUIRED_TASKS_RUNNING: false,
  CHECKPOINT_SUBSUMED: false,
  CHECKPOINT_COORDINATOR_SUSPEND: false,
  CHECKPOINT_COORDINATOR_SHUTDOWN: false,
  TASK_FAILURE: false,
};

/** Every reason there is, in the order of the table. */
export const CHECKPOINT_FAILURE_REASONS: readonly CheckpointFailureReason[] = Object.keys(
  COUNTED,
) as CheckpointFailureReason[];

/** Whether a failure for this reason counts against the tolerable failures. */
export function isCountedFailure(reason: CheckpointFailureReason): boolean {
  return COUNTED[reason];
}

/** Why one checkpoint failed. */
export interface CheckpointFailure {
  readonly reason: CheckpointFailureReason;
  /** A clause without a full stop, to follow "the checkpoint failed: ". */
  readonly message: string;
}
