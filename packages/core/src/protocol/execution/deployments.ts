/** Builds the TaskDeployments of executions that are to start together. */
import type { ExecutionRef, SubtaskKey } from '../../base/ids.ts';
import type { TaskDeployment, TaskRestore } from '../messages.ts';
import type { Channel } from './channels.ts';
import type { JobGraph } from '../job-graph.ts';
import type { SlotLayout } from '../slots/slot-layout.ts';
import type { JobExecution } from './job-execution.ts';

export interface DeploymentPlan {
  readonly jobGraph: JobGraph;
  readonly channels: readonly Channel[];
  readonly slots: SlotLayout;
  /** Knows the present attempts, of the peers too. */
  readonly job: Pick<JobExecution, 'execution'>;
  readonly restores: ReadonlyMap<SubtaskKey, TaskRestore>;
  readonly ignoreUpTo: number;
  readonly lastCompletedCheckpointId: number;
}

export function deploymentsOf(
  _executions: readonly ExecutionRef[],
  _plan: DeploymentPlan,
): readonly TaskDeployment[] {
  throw new Error('stub');
}
