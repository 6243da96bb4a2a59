/**
 * What one attempt of a subtask tells the JobManager of itself: its states, a checkpoint it cannot
 * take, the end of its data, and what its source has to say to the enumerator. Called by the task.
 */
import { toErrorInfo } from '../../base/errors.ts';
import type { ExecutionRef, OperatorId } from '../../base/ids.ts';
import type { EnumeratorEvent, ExecutionState } from '../../protocol/messages.ts';
import type { TaskEnvironment } from './task-environment.ts';

export class TaskReports {
  readonly #environment: TaskEnvironment;
  readonly #execution: ExecutionRef;

  constructor(environment: TaskEnvironment, execution: ExecutionRef) {
    this.#environment = environment;
    this.#execution = execution;
  }

  state(state: ExecutionState, error: unknown = null): void {
    this.#environment.send({
      type: 'taskStateChanged',
      execution: this.#execution,
      state,
      error: error === null ? null : toErrorInfo(error),
    });
  }

  cannotTake(
    checkpointId: number,
    reason: 'DECLINED_TASK_NOT_READY' | 'DECLINED_TASK_CLOSING',
  ): void {
    const execution = this.#execution;
    this.#environment.send({
      type: 'declineCheckpoint',
      execution,
      checkpointId,
      reason,
      error: null,
    });
  }

  endOfData(): void {
    this.#environment.send({ type: 'endOfDataReached', execution: this.#execution });
  }

  toEnumerator(operatorId: OperatorId, event: EnumeratorEvent): void {
    const execution = this.#execution;
    this.#environment.send({ type: 'enumeratorEvent', execution, operatorId, event });
  }
}
