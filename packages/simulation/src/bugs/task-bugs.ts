/** Mistakes of tasks: when they acknowledge, commit, and end. */
import { SinkOperator } from '@weir/core/internal/taskmanager/operators/sink';
import { TaskCheckpoints } from '@weir/core/internal/taskmanager/task/task-checkpoints';
import { Task } from '@weir/core/internal/taskmanager/task/task';
import type { PlantedBug } from './planted-bugs.ts';
import { substituteMethod } from './substitute.ts';

export const taskBugs: readonly PlantedBug[] = [
  {
    name: 'acknowledgement before the sink is durable',
    plant: () =>
      substituteMethod(
        SinkOperator.prototype,
        'prepareSnapshot',
        (original) =>
          function (this: SinkOperator, checkpointId, endOfInput) {
            original.call(this, checkpointId, endOfInput).catch(() => undefined);
            return Promise.resolve();
          },
      ),
  },
  {
    name: 'commit of what an aborted checkpoint prepared',
    plant: () =>
      substituteMethod(
        Task.prototype,
        'notifyCheckpointAborted',
        (original) =>
          function (this: Task, checkpointId) {
            this.notifyCheckpointComplete(checkpointId);
            original.call(this, checkpointId);
          },
      ),
  },
  {
    name: 'task ends with a checkpoint from before its end',
    plant: () => substituteMethod(TaskCheckpoints.prototype, 'isFinal', () => () => true),
  },
  {
    name: 'commit that failed taken for done',
    scenario: 'commits-fail',
    plant: () =>
      substituteMethod(
        SinkOperator.prototype,
        'notifyCheckpointComplete',
        (original) =>
          function (this: SinkOperator, checkpointId) {
            return original.call(this, checkpointId).catch(() => undefined);
          },
      ),
  },
];
