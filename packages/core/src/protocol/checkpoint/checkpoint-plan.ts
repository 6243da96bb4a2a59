/**
 * Whom a checkpoint concerns, computed from the state of every task at the moment of the trigger:
 * whom to trigger, for whom to wait, whom to tell of its completion, and who has finished before.
 * Triggered are the running tasks that no running task feeds: barriers reach all others.
 */
import { assert } from '../../base/assert.ts';
import type { ExecutionRef, SubtaskKey, VertexId } from '../../base/ids.ts';
import type { Execution } from '../execution/job-execution.ts';
import { keyOf } from './job-topology.ts';
import type { JobTopology } from './job-topology.ts';

export interface CheckpointPlan {
  readonly tasksToTrigger: readonly ExecutionRef[];
  /** All that run: each must acknowledge. */
  readonly tasksToWaitFor: readonly ExecutionRef[];
  readonly tasksToCommitTo: readonly ExecutionRef[];
  readonly finishedTasks: readonly ExecutionRef[];
  /** All their subtasks have finished. */
  readonly fullyFinishedVertices: ReadonlySet<VertexId>;
}

export type PlanResult =
  | { readonly ok: true; readonly plan: CheckpointPlan }
  /** A NOT_ALL_REQUIRED_TASKS_RUNNING: no checkpoint is possible now. */
  | { readonly ok: false; readonly message: string };

export function calculateCheckpointPlan(
  topology: JobTopology,
  executions: readonly Pick<Execution, 'ref' | 'state'>[],
  options: { readonly checkpointsAfterTasksFinish: boolean },
): PlanResult {
  const running = new Map<SubtaskKey, ExecutionRef>();
  const finishedTasks: ExecutionRef[] = [];
  for (const { ref, state } of executions) {
    if (state === 'RUNNING') running.set(keyOf(ref), ref);
    else if (state === 'FINISHED' && options.checkpointsAfterTasksFinish) finishedTasks.push(ref);
    else return { ok: false, message: `${topology.nameOf(ref)} is ${state}, not RUNNING` };
  }
  const subtaskCount = topology.jobGraph.vertices.reduce((sum, v) => sum + v.parallelism, 0);
  assert(
    executions.length === subtaskCount,
    `${executions.length} executions were reported, the job has ${subtaskCount} subtasks`,
  );
  const tasks = [...running.values()];
  const unfinished = new Set(tasks.map((task) => task.vertexId));
  const finished = finishedTasks.map((task) => task.vertexId);
  return {
    ok: true,
    plan: {
      tasksToTrigger: tasks.filter(
        (task) => !topology.producersOf(task).some((producer) => running.has(producer)),
      ),
      tasksToWaitFor: tasks,
      tasksToCommitTo: tasks,
      finishedTasks,
      fullyFinishedVertices: new Set(finished.filter((vertexId) => !unfinished.has(vertexId))),
    },
  };
}
