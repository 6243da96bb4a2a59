/**
 * The life of an execution and of a job, as in Flink.
 *
 * Execution:
 *
 *     CREATED      → SCHEDULED CANCELED FAILED
 *     SCHEDULED    → DEPLOYING INITIALIZING RUNNING FINISHED CANCELED FAILED
 *     DEPLOYING    → INITIALIZING RUNNING FINISHED CANCELING FAILED
 *     INITIALIZING → RUNNING FINISHED CANCELING FAILED
 *     RUNNING      → FINISHED CANCELING FAILED
 *     CANCELING    → CANCELED
 *
 * Job:
 *
 *     CREATED    → RUNNING FAILING CANCELLING SUSPENDED
 *     RUNNING    → RESTARTING FAILING CANCELLING FINISHED SUSPENDED
 *     RESTARTING → RUNNING FAILING CANCELLING SUSPENDED
 *     FAILING    → FAILED CANCELLING SUSPENDED
 *     CANCELLING → CANCELED SUSPENDED
 *
 * A state may be skipped (a report may overtake another), but none is entered again: an attempt
 * that is to run once more is a new execution.
 */
import type { ExecutionState, JobStatus } from '../messages.ts';

export const EXECUTION_TRANSITIONS: Readonly<Record<ExecutionState, readonly ExecutionState[]>> = {
  CREATED: ['SCHEDULED', 'CANCELED', 'FAILED'],
  SCHEDULED: ['DEPLOYING', 'INITIALIZING', 'RUNNING', 'FINISHED', 'CANCELED', 'FAILED'],
  DEPLOYING: ['INITIALIZING', 'RUNNING', 'FINISHED', 'CANCELING', 'FAILED'],
  INITIALIZING: ['RUNNING', 'FINISHED', 'CANCELING', 'FAILED'],
  RUNNING: ['FINISHED', 'CANCELING', 'FAILED'],
  CANCELING: ['CANCELED'],
  FINISHED: [],
  CANCELED: [],
  FAILED: [],
};

export const JOB_TRANSITIONS: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  CREATED: ['RUNNING', 'FAILING', 'CANCELLING', 'SUSPENDED'],
  RUNNING: ['RESTARTING', 'FAILING', 'CANCELLING', 'FINISHED', 'SUSPENDED'],
  RESTARTING: ['RUNNING', 'FAILING', 'CANCELLING', 'SUSPENDED'],
  FAILING: ['FAILED', 'CANCELLING', 'SUSPENDED'],
  CANCELLING: ['CANCELED', 'SUSPENDED'],
  CANCELED: [],
  FAILED: [],
  FINISHED: [],
  SUSPENDED: [],
};

/** The execution has ended and uses nothing any more. */
export function isTerminalExecutionState(state: ExecutionState): boolean {
  return EXECUTION_TRANSITIONS[state].length === 0;
}

/** The job has ended here; a SUSPENDED one may go on under another leader. */
export function isTerminalJobStatus(status: JobStatus): boolean {
  return JOB_TRANSITIONS[status].length === 0;
}
