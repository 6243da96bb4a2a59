/**
 * Why a checkpoint did not come to be. The names are Flink's. Only five of them count as failures
 * of the job's checkpointing; the others are the normal course of things, or are handled elsewhere.
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
