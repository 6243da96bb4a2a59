/**
 * When what happened in a run, and what its tasks last said of themselves; for people. Fed by the
 * JobMaster after each event of the job (never for records), read by the REST API.
 */
import type { ExecutionRef, SubtaskKey } from '../base/ids.ts';
import { isSameAttempt, subtaskKey } from '../base/ids.ts';
import type { Execution } from '../protocol/execution/job-execution.ts';
import type { ExecutionState, JobStatus, TaskMetrics } from '../protocol/messages.ts';

/** The present attempt of a subtask. */
export interface TaskFacts {
  readonly execution: ExecutionRef;
  readonly state: ExecutionState;
  readonly attemptNumber: number;
  /** Wall-clock milliseconds of each state it has been in. */
  readonly times: Readonly<Partial<Record<ExecutionState, number>>>;
  /** `null` until the first report. */
  readonly metrics: TaskMetrics | null;
}

const NO_FACTS: Pick<TaskFacts, 'times' | 'metrics'> = { times: {}, metrics: null };

export class RunHistory {
  readonly #wallTime: () => number;
  readonly #tasks = new Map<SubtaskKey, TaskFacts>();
  #latest: readonly Execution[] = [];
  #statusTimes: Readonly<Partial<Record<JobStatus, number>>>;

  constructor(wallTime: () => number) {
    this.#wallTime = wallTime;
    this.#statusTimes = { CREATED: wallTime() };
  }

  /** Wall-clock milliseconds at which the job last came into each status. */
  get statusTimes(): Readonly<Partial<Record<JobStatus, number>>> {
    return this.#statusTimes;
  }

  get tasks(): readonly TaskFacts[] {
    return [...this.#tasks.values()];
  }

  statusChanged(status: JobStatus): void {
    this.#statusTimes = { ...this.#statusTimes, [status]: this.#wallTime() };
  }

  /** The present executions, whether changed or not. */
  update(executions: readonly Execution[]): void {
    const before = this.#latest;
    this.#latest = executions;
    for (let index = 0; index < executions.length; index++) {
      const execution = executions[index] as Execution;
      // As it was at the last event, like nearly all.
      if (execution === before[index]) continue;
      const { ref, state, attemptNumber } = execution;
      const key = subtaskKey(ref.vertexId, ref.subtask);
      const known = this.#tasks.get(key);
      const isKnown = known !== undefined && isSameAttempt(known.execution.attempt, ref.attempt);
      if (isKnown && known.state === state) continue;
      const facts = isKnown ? known : NO_FACTS;
      const times: Partial<Record<ExecutionState, number>> = { ...facts.times };
      times[state] = this.#wallTime();
      const { metrics } = facts;
      this.#tasks.set(key, { execution: ref, state, attemptNumber, times, metrics });
    }
  }

  metricsReported(reports: readonly TaskMetrics[]): void {
    for (const metrics of reports) {
      const { vertexId, subtask, attempt } = metrics.execution;
      const key = subtaskKey(vertexId, subtask);
      const known = this.#tasks.get(key);
      if (known !== undefined && isSameAttempt(known.execution.attempt, attempt))
        this.#tasks.set(key, { ...known, metrics });
    }
  }
}
