/**
 * The ExecutionGraph of one job as a pure machine: which attempt of each subtask is present, what
 * state it is in, what must restart when something fails, and what becomes of the job. `JobMaster`
 * feeds it events and carries out its effects. The states are those of `execution-state.ts`.
 *
 * - At most one attempt of a subtask is present; events of others are outdated and ignored.
 * - At most one restart is pending. What fails meanwhile joins it, so that one fault that shows in
 *   many places counts once.
 * - Members of a restart are deployed together, once all of them have ended and the delay is over:
 *   two attempts of a subtask never run side by side, as far as this process can know.
 */
import { assert, unreachable } from '../../base/assert.ts';
import { fromErrorInfo, toErrorInfo, WeirError } from '../../base/errors.ts';
import type { ErrorInfo, ErrorKind } from '../../base/errors.ts';
import { isSameAttempt, subtaskKey } from '../../base/ids.ts';
import type { Attempt, ExecutionRef, SubtaskKey, VertexId } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import type { ExecutionState, JobStatus } from '../messages.ts';
import { slotLayoutOf } from '../slots/slot-layout.ts';
import type { SlotLayout } from '../slots/slot-layout.ts';
import { channelsOf } from './channels.ts';
import type { Channel } from './channels.ts';
import {
  EXECUTION_TRANSITIONS,
  isTerminalExecutionState,
  isTerminalJobStatus,
  JOB_TRANSITIONS,
} from './execution-state.ts';
import { createFailoverStrategy } from './failover-strategy.ts';
import type { FailoverStrategy, FailoverStrategyType } from './failover-strategy.ts';
import type { FailoverScope, JobEffect, JobEvent } from './job-events.ts';
import { PoisonDetector } from './poison-detector.ts';
import type { Poison } from './poison-detector.ts';
import { createRestartStrategy } from './restart-strategy.ts';
import type { RestartStrategy, RestartStrategyConfig } from './restart-strategy.ts';
import { subtasksOf } from './subtasks.ts';

export type { JobEffect, JobEvent } from './job-events.ts';

/** One attempt of one subtask. */
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
  readonly failoverStrategy: FailoverStrategyType;
  /** Failures at the same record, or for the same cause, that end the job; by default 3. */
  readonly maxRepeatedFailures?: number;
}

/** `now` in monotonic milliseconds, `draw` a random number in [0, 1) for jitter. */
export interface Moment {
  readonly now: number;
  readonly draw: number;
}

interface PendingRestart {
  readonly id: number;
  readonly members: Set<SubtaskKey>;
  delayElapsed: boolean;
}

/** Restarting cannot help, or would do harm. */
const FINAL_KINDS: ReadonlySet<ErrorKind> = new Set(['user', 'corrupt', 'fenced']);

export class JobExecution {
  readonly #epoch: number;
  readonly #slots: SlotLayout;
  readonly #restartStrategy: RestartStrategy;
  readonly #failoverStrategy: FailoverStrategy;
  readonly #channels: readonly Channel[];
  readonly #poisonDetector: PoisonDetector;
  readonly #executions = new Map<SubtaskKey, Execution>();
  #status: JobStatus = 'CREATED';
  /** Counts waves of deployment; all attempts of a wave carry its number. */
  #attemptCounter = 1;
  #restarts = 0;
  #pendingRestart: PendingRestart | null = null;
  #finalError: ErrorInfo | null = null;
  #effects: JobEffect[] = [];

  constructor(options: JobExecutionOptions) {
    const { jobGraph, epoch, restartStrategy, failoverStrategy } = options;
    this.#poisonDetector = new PoisonDetector(options.maxRepeatedFailures);
    this.#epoch = epoch;
    this.#slots = slotLayoutOf(jobGraph);
    this.#restartStrategy = createRestartStrategy(restartStrategy);
    this.#channels = channelsOf(jobGraph);
    this.#failoverStrategy = createFailoverStrategy(failoverStrategy, jobGraph, this.#channels);
    const attempt: Attempt = { epoch, counter: this.#attemptCounter };
    for (const { vertexId, subtask } of subtasksOf(jobGraph))
      this.#executions.set(subtaskKey(vertexId, subtask), {
        ref: { vertexId, subtask, attempt },
        state: 'CREATED',
        attemptNumber: 0,
        error: null,
      });
  }

  get status(): JobStatus {
    return this.#status;
  }

  /** Every subtask runs or has finished, but not all have: a checkpoint can be triggered. */
  get isAllRunning(): boolean {
    let hasRunning = false;
    for (const { state } of this.#executions.values()) {
      if (state === 'RUNNING') hasRunning = true;
      else if (state !== 'FINISHED') return false;
    }
    return hasRunning;
  }

  /** The present executions: vertices in topological order, then by subtask. */
  executions(): readonly Execution[] {
    return [...this.#executions.values()];
  }

  execution(vertexId: VertexId, subtask: number): Execution {
    const execution = this.#executions.get(subtaskKey(vertexId, subtask));
    assert(execution !== undefined, `the job has no subtask ${subtask} of ${vertexId}`);
    return execution;
  }

  /** Whether this attempt is the subtask's present one: else its messages are outdated. */
  isPresent({ vertexId, subtask, attempt }: ExecutionRef): boolean {
    const execution = this.#executions.get(subtaskKey(vertexId, subtask));
    return execution !== undefined && isSameAttempt(execution.ref.attempt, attempt);
  }

  /**
   * Whether this attempt still waits for its deployment. One that was cancelled while the shell
   * prepared it does not: sent nevertheless, it would run unseen.
   */
  mayDeploy(ref: ExecutionRef): boolean {
    return this.isPresent(ref) && this.execution(ref.vertexId, ref.subtask).state === 'SCHEDULED';
  }

  handle(event: JobEvent, moment: Moment): readonly JobEffect[] {
    this.#effects = [];
    switch (event.type) {
      case 'start':
        this.#start();
        break;
      case 'deployed':
        if (this.isPresent(event.execution)) this.#move(event.execution, 'DEPLOYING', null);
        break;
      case 'taskStateChanged':
        if (this.isPresent(event.execution)) this.#report(event, moment);
        break;
      case 'slotsLost':
        this.#loseSlots(event, moment);
        break;
      case 'failGlobally':
        this.#fail(new Set(this.#executions.keys()), [], event.error, moment);
        break;
      case 'failFinally':
        this.#failFinally(event.error);
        break;
      case 'cancel':
        this.#cancelJob();
        break;
      case 'suspend':
        this.#suspend();
        break;
      case 'restartDelayElapsed':
        if (this.#pendingRestart?.id === event.restartId) this.#pendingRestart.delayElapsed = true;
        break;
      default:
        unreachable(event);
    }
    this.#settle();
    return this.#effects;
  }

  #start(): void {
    assert(this.#status === 'CREATED', `a job is started once, but is ${this.#status}`);
    this.#setStatus('RUNNING', null);
    this.#deploy('global', this.executions());
  }

  #report(
    { execution, state, error }: Extract<JobEvent, { type: 'taskStateChanged' }>,
    moment: Moment,
  ): void {
    const before = this.execution(execution.vertexId, execution.subtask).state;
    if (before === 'CANCELING') {
      // However it ended: it was asked to, and nobody waits for its result any more.
      if (isTerminalExecutionState(state)) this.#move(execution, 'CANCELED', null);
      return;
    }
    if (state !== 'FAILED' && state !== 'CANCELED') {
      this.#move(execution, state, null);
      return;
    }
    const cause = error ?? stoppedUnasked(execution);
    if (this.#move(execution, 'FAILED', cause)) this.#failSubtasks([execution], cause, moment);
  }

  #loseSlots({ slots, error }: Extract<JobEvent, { type: 'slotsLost' }>, moment: Moment): void {
    const lost = new Set(slots);
    const failed: ExecutionRef[] = [];
    for (const { ref, state } of this.executions()) {
      if (!lost.has(this.#slots.slotOf(ref.vertexId, ref.subtask))) continue;
      if (state === 'CANCELING') this.#move(ref, 'CANCELED', null);
      else if (state === 'FINISHED') {
        if (this.#isRead(ref)) failed.push(ref);
      }
      // What is only scheduled was not in the slot yet: the shell waits for another slot.
      else if (state !== 'CREATED' && state !== 'SCHEDULED' && this.#move(ref, 'FAILED', error))
        failed.push(ref);
    }
    if (failed.length > 0) this.#failSubtasks(failed, error, moment);
  }

  /** A finished subtask whose last records may not have reached everyone: they are lost with it. */
  #isRead({ vertexId, subtask }: ExecutionRef): boolean {
    return this.#channels.some(
      ({ producer, consumer }) =>
        producer.vertexId === vertexId &&
        producer.subtask === subtask &&
        this.execution(consumer.vertexId, consumer.subtask).state !== 'FINISHED',
    );
  }

  #failSubtasks(failed: readonly ExecutionRef[], error: ErrorInfo, moment: Moment): void {
    const keys = failed.map((ref) => subtaskKey(ref.vertexId, ref.subtask));
    this.#fail(this.#failoverStrategy.tasksToRestart(keys), failed, error, moment);
  }

  #fail(
    toRestart: ReadonlySet<SubtaskKey>,
    failed: readonly ExecutionRef[],
    error: ErrorInfo,
    moment: Moment,
  ): void {
    if (this.#status !== 'RUNNING' && this.#status !== 'RESTARTING') return;
    if (FINAL_KINDS.has(error.kind)) return this.#failFinally(error);
    const round = this.#pendingRestart === null ? this.#restarts + 1 : this.#restarts;
    const poison = this.#poisonDetector.failed(error, round, moment.now);
    if (poison !== null) return this.#failFinally(poisonError({ ...poison, round }, error));
    let delayMs: number | null = null;
    if (this.#pendingRestart === null) {
      const decision = this.#restartStrategy.failed(moment.now, moment.draw);
      if (!decision.restart) return this.#failFinally(noRestartError(decision.reason, error));
      delayMs = decision.delayMs;
      this.#restarts = round;
      this.#pendingRestart = { id: round, members: new Set(), delayElapsed: false };
    }
    const { id, members } = this.#pendingRestart;
    for (const key of toRestart) members.add(key);
    const restarting = this.#members(members).map(({ ref: { vertexId, subtask } }) => ({
      vertexId,
      subtask,
    }));
    this.#effects.push({
      type: 'failover',
      scope: this.#scopeOf(members),
      failed,
      restarting,
      error,
    });
    if (this.#status === 'RUNNING') this.#setStatus('RESTARTING', error);
    for (const execution of this.#members(members)) this.#cancel(execution);
    if (delayMs !== null) this.#effects.push({ type: 'restartAfter', restartId: id, delayMs });
  }

  #failFinally(error: ErrorInfo): void {
    if (!JOB_TRANSITIONS[this.#status].includes('FAILING')) return;
    this.#finalError = error;
    this.#pendingRestart = null;
    this.#setStatus('FAILING', error);
    for (const execution of this.executions()) this.#cancel(execution);
  }

  #cancelJob(): void {
    if (!JOB_TRANSITIONS[this.#status].includes('CANCELLING')) return;
    this.#pendingRestart = null;
    this.#setStatus('CANCELLING', null);
    for (const execution of this.executions()) this.#cancel(execution);
  }

  #suspend(): void {
    if (isTerminalJobStatus(this.#status)) return;
    this.#pendingRestart = null;
    for (const execution of this.executions()) this.#cancel(execution);
    this.#setStatus('SUSPENDED', null);
  }

  /** Goes on once what was waited for has come: the end of tasks, the end of a delay. */
  #settle(): void {
    const states = this.executions().map((execution) => execution.state);
    const allEnded = states.every(isTerminalExecutionState);
    if (this.#status === 'CANCELLING' && allEnded) this.#setStatus('CANCELED', null);
    else if (this.#status === 'FAILING' && allEnded) this.#setStatus('FAILED', this.#finalError);
    else if (this.#status === 'RESTARTING') this.#restartIfReady();
    else if (this.#status === 'RUNNING' && states.every((state) => state === 'FINISHED'))
      this.#setStatus('FINISHED', null);
  }

  #restartIfReady(): void {
    const pending = this.#pendingRestart;
    assert(pending !== null, 'a job is RESTARTING only while a restart is pending');
    const members = this.#members(pending.members);
    if (!pending.delayElapsed) return;
    if (!members.every((execution) => isTerminalExecutionState(execution.state))) return;
    this.#pendingRestart = null;
    this.#attemptCounter++;
    const attempt: Attempt = { epoch: this.#epoch, counter: this.#attemptCounter };
    const restarted = members.map(({ ref, attemptNumber }): Execution => {
      const execution: Execution = {
        ref: { vertexId: ref.vertexId, subtask: ref.subtask, attempt },
        state: 'CREATED',
        attemptNumber: attemptNumber + 1,
        error: null,
      };
      this.#executions.set(subtaskKey(ref.vertexId, ref.subtask), execution);
      return execution;
    });
    this.#setStatus('RUNNING', null);
    this.#deploy(this.#scopeOf(pending.members), restarted);
  }

  #deploy(scope: FailoverScope, executions: readonly Execution[]): void {
    for (const { ref } of executions) this.#move(ref, 'SCHEDULED', null);
    this.#effects.push({ type: 'deploy', scope, executions: executions.map(({ ref }) => ref) });
  }

  #cancel({ ref, state }: Execution): void {
    if (state === 'CREATED' || state === 'SCHEDULED') this.#move(ref, 'CANCELED', null);
    else if (this.#move(ref, 'CANCELING', null))
      this.#effects.push({ type: 'cancelTask', execution: ref });
  }

  /** Moves an execution, unless its state does not allow it; answers whether it did. */
  #move(ref: ExecutionRef, state: ExecutionState, error: ErrorInfo | null): boolean {
    const execution = this.execution(ref.vertexId, ref.subtask);
    if (!EXECUTION_TRANSITIONS[execution.state].includes(state)) return false;
    const moved = { ...execution, state, error };
    this.#executions.set(subtaskKey(ref.vertexId, ref.subtask), moved);
    return true;
  }

  #setStatus(status: JobStatus, error: ErrorInfo | null): void {
    const allowed = JOB_TRANSITIONS[this.#status].includes(status);
    assert(allowed, `a job does not go from ${this.#status} to ${status}`);
    this.#status = status;
    this.#effects.push({ type: 'jobStatusChanged', status, error });
  }

  #members(keys: ReadonlySet<SubtaskKey>): readonly Execution[] {
    return this.executions().filter(({ ref }) => keys.has(subtaskKey(ref.vertexId, ref.subtask)));
  }

  #scopeOf(members: ReadonlySet<SubtaskKey>): FailoverScope {
    return members.size === this.#executions.size ? 'global' : 'region';
  }
}

function stoppedUnasked({ vertexId, subtask }: ExecutionRef): ErrorInfo {
  return toErrorInfo(
    new WeirError('transient', `subtask ${subtask} of ${vertexId} stopped without being asked to`, {
      code: 'JOB_FAILED',
    }),
  );
}

function noRestartError(reason: string, error: ErrorInfo): ErrorInfo {
  return jobFailed(`the job is not restarted, since ${reason}: ${error.message}`, error);
}

/** `round`: failures of the job so far, others among them. */
function poisonError(
  { position, failures, round }: Poison & { readonly round: number },
  error: ErrorInfo,
): ErrorInfo {
  const times = `${failures} times${round > failures ? `, of ${round} failures of the job` : ''}`;
  const message =
    position === null
      ? `the job failed ${times} for the same cause, which a restart does not cure: ` +
        `correct it, then resume: ${error.message}`
      : `the same record failed ${times}, at ${position}: correct the function or the ` +
        `record, or let bad records be skipped or set aside, then resume: ${error.message}`;
  return jobFailed(message, error);
}

function jobFailed(message: string, error: ErrorInfo): ErrorInfo {
  const { position } = error.details;
  return toErrorInfo(
    new WeirError(error.kind, message, {
      code: 'JOB_FAILED',
      details: position === undefined ? {} : { position },
      cause: fromErrorInfo(error),
    }),
  );
}
