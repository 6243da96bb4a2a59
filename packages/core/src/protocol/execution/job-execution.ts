/** The execution graph of one job: a pure machine. */
import type { ErrorInfo } from '../../base/errors.ts';
import type { Attempt, ExecutionRef, VertexId } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import type { ExecutionState, JobStatus, SubtaskRef } from '../messages.ts';
import type { RestartStrategyConfig } from './restart-strategy.ts';

export type JobEvent =
  /** Begins the run: every subtask gets its first attempt. */
  | { readonly type: 'start' }
  /** The shell has sent the TaskDeployment. */
  | { readonly type: 'deployed'; readonly execution: ExecutionRef }
  | {
      readonly type: 'taskStateChanged';
      readonly execution: ExecutionRef;
      readonly state: ExecutionState;
      readonly error: ErrorInfo | null;
    }
  /** Slots are gone with all that ran in them: no cancellation will be confirmed. */
  | { readonly type: 'slotsLost'; readonly slots: readonly number[]; readonly error: ErrorInfo }
  /** Enumerator failure, too many failed checkpoints, …: everything restarts. */
  | { readonly type: 'failGlobally'; readonly error: ErrorInfo }
  /** Ends the job whatever the restart strategy says. */
  | { readonly type: 'failFinally'; readonly error: ErrorInfo }
  | { readonly type: 'cancel' }
  /** Leadership is lost or the process ends: stop the tasks, decide nothing about the job. */
  | { readonly type: 'suspend' }
  | { readonly type: 'restartDelayElapsed'; readonly restartId: number };

export type JobEffect =
  | {
      readonly type: 'jobStatusChanged';
      readonly status: JobStatus;
      readonly error: ErrorInfo | null;
    }
  /** Begin, before anything else: abort pending checkpoints, tell the enumerators. */
  | {
      readonly type: 'failover';
      readonly scope: 'region' | 'global';
      readonly failed: readonly ExecutionRef[];
      readonly restarting: readonly SubtaskRef[];
      readonly error: ErrorInfo;
    }
  | { readonly type: 'cancelTask'; readonly execution: ExecutionRef }
  | { readonly type: 'restartAfter'; readonly restartId: number; readonly delayMs: number }
  /**
   * Restore and deploy these, all at once; `global`: enumerators are reset too. At `start` the
   * scope is `global`. Answer each with `deployed`, or `failGlobally` when it cannot be done.
   */
  | {
      readonly type: 'deploy';
      readonly scope: 'region' | 'global';
      readonly executions: readonly ExecutionRef[];
    };

export interface Execution {
  readonly ref: ExecutionRef;
  readonly state: ExecutionState;
  /** Times the subtask was deployed before in this run. */
  readonly attemptNumber: number;
  readonly error: ErrorInfo | null;
}

export interface JobExecutionOptions {
  readonly jobGraph: JobGraph;
  /** Leader epoch of the attempts drawn here. */
  readonly epoch: number;
  readonly restartStrategy: RestartStrategyConfig;
  readonly failoverStrategy: 'region' | 'full';
}

export class JobExecution {
  constructor(_options: JobExecutionOptions) {}

  get status(): JobStatus {
    throw new Error('stub');
  }
  /** Every subtask runs: a checkpoint can be triggered. */
  get isAllRunning(): boolean {
    throw new Error('stub');
  }
  /** Present executions, by vertex in topological order, then subtask. */
  executions(): readonly Execution[] {
    throw new Error('stub');
  }
  execution(_vertexId: VertexId, _subtask: number): Execution {
    throw new Error('stub');
  }
  /** Whether this attempt is the subtask's present one: else its messages are outdated. */
  isPresent(_execution: ExecutionRef): boolean {
    throw new Error('stub');
  }
  attemptOf(_vertexId: VertexId, _subtask: number): Attempt {
    throw new Error('stub');
  }
  /** `now` in monotonic milliseconds, `draw` a random number in [0, 1) for jitter. */
  handle(
    _event: JobEvent,
    _moment: { readonly now: number; readonly draw: number },
  ): readonly JobEffect[] {
    throw new Error('stub');
  }
}
