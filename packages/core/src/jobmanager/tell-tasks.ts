/** What tasks are told of a checkpoint, each by the JobManager itself. */
import type { ExecutionRef } from '../base/ids.ts';
import type { CoordinatorEffect } from '../protocol/checkpoint/coordinator-messages.ts';
import type { TaskManagerMessage } from '../protocol/messages.ts';

type Notice = Extract<
  CoordinatorEffect,
  { type: 'triggerTasks' | 'notifyComplete' | 'notifyAborted' }
>;

export function tellTasks(
  notice: Notice,
  send: (execution: ExecutionRef, message: TaskManagerMessage) => void,
): void {
  for (const execution of notice.executions) send(execution, messageTo(execution, notice));
}

function messageTo(execution: ExecutionRef, notice: Notice): TaskManagerMessage {
  switch (notice.type) {
    case 'triggerTasks':
      return { type: 'triggerCheckpoint', execution, trigger: notice.trigger };
    case 'notifyComplete': {
      const { checkpointId } = notice;
      return { type: 'notifyCheckpointComplete', execution, checkpointId };
    }
    case 'notifyAborted': {
      const { checkpointId, latestCompletedId } = notice;
      return { type: 'notifyCheckpointAborted', execution, checkpointId, latestCompletedId };
    }
  }
}
