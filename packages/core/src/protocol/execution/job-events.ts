/** What a `JobExecution` is told, and what it asks its shell to do. */
import type { ErrorInfo } from '../../base/errors.ts';
import type { ExecutionRef } from '../../base/ids.ts';
import type { ExecutionState, JobStatus, SubtaskRef } from '../messages.ts';

export type JobEvent =
  /** Begins the run: every subtask gets its first attempt. */
  | { readonly type: 'start' }
  /** The TaskDeployment was sent, in this very turn and after asking `mayDeploy`. */
  | { readonly type: 'deployed'; readonly execution: ExecutionRef }
  | {
      readonly type: 'taskStateChanged';
      readonly execution: ExecutionRef;
      readonly state: ExecutionState;
      readonly error: ErrorInfo | null;
    }
  /** Slots are gone with all that ran in them: no cancellation will be confirmed. */
  | { readonly type: 'slotsLost'; readonly slots: readonly number[]; readonly error: ErrorInfo }
  /** An enumerator failed, too many checkpoints failed, nothing can be deployed: all restart. */
  | { readonly type: 'failGlobally'; readonly error: ErrorInfo }
  /** Ends the job whatever the restart strategy says. */
  | { readonly type: 'failFinally'; readonly error: ErrorInfo }
  | { readonly type: 'cancel' }
  /** Leadership is lost or the process ends: stop the tasks, decide nothing about the job. */
  | { readonly type: 'suspend' }
  | { readonly type: 'restartDelayElapsed'; readonly restartId: number };

/** `global`: all subtasks, and the split enumerators with them. */
export type FailoverScope = 'region' | 'global';

/** To be carried out in order. */
export type JobEffect =
  /**
   * Subtasks failed and are going to restart: abort pending checkpoints before anything else. Comes
   * again when further failures enlarge the set; `restarting` is then the whole of it.
   */
  | {
      readonly type: 'failover';
      readonly scope: FailoverScope;
      readonly failed: readonly ExecutionRef[];
      readonly restarting: readonly SubtaskRef[];
      readonly error: ErrorInfo;
    }
  | {
      readonly type: 'jobStatusChanged';
      readonly status: JobStatus;
      /** Why, for RESTARTING, FAILING and FAILED. */
      readonly error: ErrorInfo | null;
    }
  | { readonly type: 'cancelTask'; readonly execution: ExecutionRef }
  /** Answer with `restartDelayElapsed`; an outdated answer does no harm. */
  | { readonly type: 'restartAfter'; readonly restartId: number; readonly delayMs: number }
  /**
   * Restore and deploy these, all at once; with the scope `global`, as at the start, reset the
   * split enumerators first. Answer each with `deployed`, or `failGlobally` when it cannot be done.
   */
  | {
      readonly type: 'deploy';
      readonly scope: FailoverScope;
      readonly executions: readonly ExecutionRef[];
    };
