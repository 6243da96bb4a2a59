/**
 * Runs the tasks of one thread: takes the JobManager's messages, steps the tasks in turn, and gives
 * way to I/O after each round. A round steps every task once, at most a batch each, so no task
 * waits long for another; a thread without work sleeps until a frame, a message, a timer or I/O
 * wakes it.
 */
import type { ExecutionRef } from '../base/ids.ts';
import { attemptName, subtaskKey } from '../base/ids.ts';
import type { Timer } from '../base/clock.ts';
import { toErrorInfo } from '../base/errors.ts';
import type { TaskDeployment, TaskManagerMessage } from '../protocol/messages.ts';
import { Task } from './task/task.ts';
import type { TaskEnvironment } from './task/task-environment.ts';

const METRICS_INTERVAL_MS = 1000;

export interface TaskExecutorOptions {
  readonly environment: Omit<TaskEnvironment, 'wakeUp'>;
  /** Called when no task can go on: until `wakeUp` the thread may sleep. */
  readonly onIdle?: () => void;
  /** A step that takes longer is reported, in threads that nobody watches from outside. */
  readonly stallWarningMs: number;
}

export class TaskExecutor {
  readonly #environment: TaskEnvironment;
  readonly #onIdle: () => void;
  readonly #stallWarningMs: number;
  readonly #tasks = new Map<string, Task>();
  readonly #runNextRound = (): void => this.#runRound();
  #round: Timer | null = null;
  #timer: Timer | null = null;
  #metricsTimer: Timer | null = null;
  #inRound = false;
  #again = false;
  #isClosed = false;

  constructor(options: TaskExecutorOptions) {
    this.#environment = { ...options.environment, wakeUp: () => this.wakeUp() };
    this.#onIdle = options.onIdle ?? ((): void => undefined);
    this.#stallWarningMs = options.stallWarningMs;
    this.#scheduleMetrics();
  }

  handle(message: TaskManagerMessage): void {
    if (message.type === 'deployTask') return this.#deploy(message.deployment);
    const task = this.#tasks.get(keyOf(message.execution));
    if (task === undefined) return this.#handleUnknown(message);
    switch (message.type) {
      case 'cancelTask':
        return task.cancel();
      case 'triggerCheckpoint':
        return task.triggerCheckpoint(message.trigger);
      case 'notifyCheckpointComplete':
        return task.notifyCheckpointComplete(message.checkpointId);
      case 'notifyCheckpointAborted':
        return task.notifyCheckpointAborted(message.checkpointId);
      case 'readerEvent':
        return task.handleReaderEvent(message.operatorId, message.event);
    }
  }

  /** Something can go on. Cheap, and may be called from anywhere in this thread. */
  wakeUp(): void {
    if (this.#inRound) {
      this.#again = true;
      return;
    }
    if (this.#round !== null || this.#isClosed) return;
    this.#round = this.#environment.clock.defer('task-round', this.#runNextRound);
  }

  /** Number of tasks that are not closed. */
  get taskCount(): number {
    return this.#tasks.size;
  }

  /** Stops everything at once, without a word to the JobManager. */
  close(): void {
    this.#isClosed = true;
    this.#round?.cancel();
    this.#timer?.cancel();
    this.#metricsTimer?.cancel();
    for (const task of this.#tasks.values()) task.cancel();
  }

  #deploy(deployment: TaskDeployment): void {
    const key = keyOf(deployment.execution);
    if (this.#tasks.has(key)) return;
    const task = new Task(this.#environment, deployment, () => this.#tasks.delete(key));
    this.#tasks.set(key, task);
    task.start();
  }

  #handleUnknown(message: Exclude<TaskManagerMessage, { type: 'deployTask' }>): void {
    if (message.type !== 'triggerCheckpoint') return;
    this.#environment.send({
      type: 'declineCheckpoint',
      execution: message.execution,
      checkpointId: message.trigger.checkpointId,
      reason: 'DECLINED_TASK_CLOSING',
      error: toErrorInfo(new Error('the task is not here any more')),
    });
  }

  #runRound(): void {
    this.#round = null;
    if (this.#isClosed) return;
    this.#inRound = true;
    let more = this.#environment.exchange.pump();
    // Whom that has woken up is stepped in this round.
    this.#again = false;
    for (const task of this.#tasks.values()) {
      if (this.#step(task)) more = true;
      this.#environment.active.tick();
    }
    this.#inRound = false;
    if (more || this.#again) {
      this.wakeUp();
      return;
    }
    this.#scheduleNextStep();
    this.#onIdle();
  }

  #step(task: Task): boolean {
    const { clock, logger, active } = this.#environment;
    const startedAt = clock.now();
    const more = task.step();
    const tookMs = clock.now() - startedAt;
    if (tookMs >= this.#stallWarningMs) {
      const operator = task.operatorName((active.cells[0] ?? 0) - 1);
      logger.log(
        'warn',
        `slow operator: ${operator} of ${task.name} blocked its thread for ` +
          `${Math.round(tookMs)} ms; checkpoints wait as long`,
      );
    }
    return more;
  }

  #scheduleNextStep(): void {
    this.#timer?.cancel();
    this.#timer = null;
    let next: number | null = null;
    for (const task of this.#tasks.values()) {
      const delay = task.nextStepIn();
      if (delay !== null && (next === null || delay < next)) next = delay;
    }
    if (next !== null)
      this.#timer = this.#environment.clock.schedule(next, 'task-step', () => this.wakeUp());
  }

  #scheduleMetrics(): void {
    this.#metricsTimer = this.#environment.clock.schedule(
      METRICS_INTERVAL_MS,
      'task-metrics',
      () => {
        const metrics = [...this.#tasks.values()].map((task) => task.metrics());
        if (metrics.length > 0) this.#environment.send({ type: 'taskMetrics', metrics });
        this.#scheduleMetrics();
      },
    );
  }
}

function keyOf(execution: ExecutionRef): string {
  const { vertexId, subtask, attempt } = execution;
  return `${subtaskKey(vertexId, subtask)}:${attemptName(attempt)}`;
}
