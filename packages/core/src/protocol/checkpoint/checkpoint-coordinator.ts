/**
 * Decides when snapshots are taken and when they are complete: a pure machine inside the JobMaster.
 * Every checkpoint takes the same way, each step after the answer to the one before:
 *
 *     request ─► tasks reported ─► id drawn, durably ─► location made ─► enumerators snapshotted
 *       ─► tasks triggered ─► all acknowledged ─► finalised, durably ─► stored ─► older dropped
 *       ─► tasks told
 *
 * What makes it safe:
 * - The id is durable before anything carries it, so ids only rise, whatever crashes.
 * - Enumerators come before tasks: a split assigned after the enumerator's snapshot is still in
 *   that snapshot; taken the other way round, it could be in neither.
 * - Only attempts for which it was triggered can acknowledge a checkpoint, and the failure of any
 *   task aborts it, so no checkpoint joins two histories.
 * - A checkpoint that is being made durable is out of reach of time-outs and failures: it may exist
 *   already. One at a time is made durable, so they become so in the order in which they are told.
 * - Nobody is told before it is durable; an older one is removed only when the newer is stored.
 *
 * Called for messages about checkpoints, never for records; a step costs at most one look at every
 * task and channel.
 */
import { assert, unreachable } from '../../base/assert.ts';
import type { JobId } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import type { CheckpointCoordinatorConfig, RunEnd } from './checkpoint-config.ts';
import { keepsCheckpoints } from './checkpoint-config.ts';
import { calculateCheckpointPlan } from './checkpoint-plan.ts';
import type { CheckpointPlan } from './checkpoint-plan.ts';
import { CheckpointScheduler } from './checkpoint-scheduler.ts';
import type { SchedulerSituation } from './checkpoint-scheduler.ts';
import { CompletedCheckpointStore } from './completed-checkpoint-store.ts';
import type { CompletedCheckpoint } from './completed-checkpoint-store.ts';
import type { CoordinatorEffect, CoordinatorEvent, EventOf } from './coordinator-messages.ts';
import type { CheckpointFailure } from './failure-reasons.ts';
import { JobTopology, keyOf } from './job-topology.ts';
import { PendingCheckpoint } from './pending-checkpoint.ts';
import { PendingCheckpoints } from './pending-checkpoints.ts';
import type { TriggerRequest } from './request-queue.ts';

export interface CheckpointCoordinatorOptions {
  readonly config: CheckpointCoordinatorConfig;
  readonly jobId: JobId;
  /** With the parallelism that runs. */
  readonly jobGraph: JobGraph;
  /** Completed checkpoints of earlier runs that are kept, oldest first. */
  readonly restored: readonly CompletedCheckpoint[];
  /** Highest id drawn so far, in any run; 0 if none. */
  readonly lastId: number;
}

/** A trigger from its start until its tasks are triggered. There is one at a time. */
interface Triggering {
  readonly triggerId: number;
  readonly request: TriggerRequest;
  plan: CheckpointPlan | null;
  /** Once there is an id, it is pending, and is aborted as such. */
  checkpointId: number | null;
}

const TRIGGER_TIMER = 'trigger';

const STOPPING: CheckpointFailure = {
  reason: 'CHECKPOINT_COORDINATOR_SUSPEND',
  message: 'the job is being stopped with a savepoint',
};

export class CheckpointCoordinator {
  readonly #config: CheckpointCoordinatorConfig;
  readonly #topology: JobTopology;
  readonly #scheduler: CheckpointScheduler;
  readonly #store: CompletedCheckpointStore;
  readonly #pending: PendingCheckpoints;
  #triggering: Triggering | null = null;
  #lastTriggerId = 0;
  #lastId: number;
  #runEnd: RunEnd | null = null;
  /** When the trigger timer fires; Infinity: it is not set. */
  #armedAt = Infinity;
  #effects: CoordinatorEffect[] = [];

  constructor(options: CheckpointCoordinatorOptions) {
    const { config, jobId, jobGraph, restored, lastId } = options;
    this.#config = config;
    this.#topology = new JobTopology(jobGraph);
    this.#scheduler = new CheckpointScheduler(config);
    this.#store = new CompletedCheckpointStore(config.numRetained, restored);
    this.#lastId = Math.max(lastId, this.#store.latest?.checkpointId ?? 0);
    this.#pending = new PendingCheckpoints({
      config,
      jobId,
      topology: this.#topology,
      scheduler: this.#scheduler,
      store: this.#store,
      emit: (effect) => this.#effects.push(effect),
    });
  }

  /** The newest from which failover restores; a savepoint taken while the job runs is never it. */
  get latestCompleted(): CompletedCheckpoint | null {
    return this.#store.latest;
  }

  /** Completed and kept, oldest first. */
  get completed(): readonly CompletedCheckpoint[] {
    return this.#store.checkpoints;
  }

  get pendingIds(): readonly number[] {
    return this.#pending.all.map((pending) => pending.checkpointId);
  }

  /** Whether a `finalise` awaits its answer. Until then no restore may be chosen. */
  get isFinalising(): boolean {
    return this.#pending.isFinalising;
  }

  /** Highest id drawn: `ignoreUpTo` of a deployment. */
  get lastId(): number {
    return this.#lastId;
  }

  handle(event: CoordinatorEvent): readonly CoordinatorEffect[] {
    this.#dispatch(event);
    this.#clearTriggering();
    this.#startNext(event.now);
    const timer = this.#timerEffect(event.now);
    const effects = this.#effects;
    this.#effects = [];
    // The timer goes first, lest it overwrite what the answer to a later effect sets.
    return timer === null ? effects : [timer, ...effects];
  }

  #dispatch(event: CoordinatorEvent): void {
    switch (event.type) {
      case 'jobRunning':
        assert(this.#runEnd === null, `the run has ended (${this.#runEnd}); it cannot run again`);
        return this.#scheduler.start(event.now, event.draw);
      case 'jobStopped':
        return this.#stop(event.now, 'CHECKPOINT_COORDINATOR_SUSPEND');
      case 'runEnded':
        return this.#onRunEnded(event);
      case 'timer':
        return this.#onTimer(event);
      case 'requested':
        return this.#onRequested(event);
      case 'tasksReported':
        return this.#onTasksReported(event);
      case 'idDrawn':
        return this.#onIdDrawn(event);
      case 'locationReady':
        return this.#onLocationReady(event);
      case 'coordinatorsSnapshotted':
        return this.#onCoordinatorsSnapshotted(event);
      case 'triggerFailed':
        return this.#onTriggerFailed(event);
      case 'acknowledged':
        return this.#pending.onAcknowledged(event);
      case 'declined':
        return this.#pending.onDeclined(event);
      case 'tasksFailed':
        return this.#onTasksFailed(event);
      case 'taskFinished':
        return this.#onTaskFinished(event);
      case 'endOfDataReached':
        return this.#scheduler.endOfDataReached(keyOf(event.execution));
      case 'finalised':
        this.#pending.onFinalised(event);
        return this.#discardIfRunEnded();
      case 'finaliseFailed':
        return this.#pending.onFinaliseFailed(event);
      case 'discarded':
        return this.#pending.onDiscarded(event);
      case 'backlogChanged':
        return this.#scheduler.setBacklog(event.operatorId, event.isBacklog, event.now);
      default:
        return unreachable(event);
    }
  }

  // ─── When ───

  #situation(now: number): SchedulerSituation {
    return {
      isTriggering: this.#triggering !== null,
      pendingCount: this.#pending.all.length,
      cleaningCount: this.#pending.cleaningCount,
      lastCompletionAt: this.#pending.lastCompletionAt,
      now,
      underWay: this.#pending.all,
    };
  }

  #startNext(now: number): void {
    for (;;) {
      const choice = this.#scheduler.next(this.#situation(now));
      if (choice.type === 'none') return;
      if (choice.type === 'drop') {
        this.#giveUp(choice.request, choice);
        continue;
      }
      const triggerId = ++this.#lastTriggerId;
      this.#triggering = { triggerId, request: choice.request, plan: null, checkpointId: null };
      this.#effects.push({ type: 'reportTasks', triggerId });
      return;
    }
  }

  #timerEffect(now: number): CoordinatorEffect | null {
    const at = this.#scheduler.wakeAt(this.#situation(now));
    if (at === this.#armedAt) return null;
    this.#armedAt = at;
    const timerId = TRIGGER_TIMER;
    return at === Infinity ? { type: 'cancelTimer', timerId } : { type: 'setTimer', timerId, at };
  }

  #onTimer(event: EventOf<'timer'>): void {
    // It has fired, so it is to be set again. What is due follows from the time alone.
    if (event.timerId === TRIGGER_TIMER) this.#armedAt = Infinity;
    else this.#pending.onExpiryTimer(event);
  }

  #onRequested({ request, now }: EventOf<'requested'>): void {
    const wanted: TriggerRequest = {
      cause: 'user',
      requestId: request.requestId,
      kind: request.kind,
      targetDirectory: request.targetDirectory,
      stop: request.stop,
      isForced: request.kind === 'savepoint',
    };
    if (!this.#scheduler.isActive)
      return this.#giveUp(wanted, {
        reason: 'NOT_ALL_REQUIRED_TASKS_RUNNING',
        message:
          'not every task of the job runs, since it is starting, restarting or ending: try again ' +
          'in a moment',
      });
    if (this.#scheduler.isPaused) return this.#giveUp(wanted, STOPPING);
    if (wanted.stop !== null) {
      for (const waiting of this.#scheduler.pause()) this.#giveUp(waiting, STOPPING);
      this.#abortAll(now, STOPPING);
    }
    const dropped = this.#scheduler.submit(wanted);
    if (dropped !== null)
      this.#giveUp(dropped, {
        reason: 'TOO_MANY_CHECKPOINT_REQUESTS',
        message: 'too many requests wait already; try again later',
      });
  }

  #giveUp(request: TriggerRequest, { reason, message }: CheckpointFailure): void {
    const { requestId } = request;
    if (requestId === null) this.#effects.push({ type: 'triggerDropped', reason, message });
    else this.#effects.push({ type: 'requestFailed', requestId, reason, message });
  }

  // ─── Trigger ───

  #onTasksReported({ triggerId, executions, now }: EventOf<'tasksReported'>): void {
    const triggering = this.#triggering;
    if (triggering?.triggerId !== triggerId) return;
    const result = calculateCheckpointPlan(this.#topology, executions, this.#config);
    if (!result.ok) {
      const { message } = result;
      return this.#abandonTrigger(now, { reason: 'NOT_ALL_REQUIRED_TASKS_RUNNING', message });
    }
    triggering.plan = result.plan;
    this.#effects.push({ type: 'drawId', triggerId });
  }

  #onIdDrawn({ triggerId, checkpointId, timestamp, now }: EventOf<'idDrawn'>): void {
    const previous = this.#lastId;
    this.#lastId = Math.max(previous, checkpointId);
    const triggering = this.#triggering;
    // Given up meanwhile: the id stays unused.
    if (triggering?.triggerId !== triggerId) return;
    const { request, plan } = triggering;
    assert(plan !== null, `checkpoint ${checkpointId} got its id before its plan`);
    assert(checkpointId > previous, `id ${checkpointId} was drawn after id ${previous}`);
    triggering.checkpointId = checkpointId;
    this.#pending.add(
      new PendingCheckpoint({ checkpointId, request, plan, timestamp, startedAt: now }),
    );
    const { kind, targetDirectory } = request;
    const effect = { triggerId, checkpointId, kind, targetDirectory };
    this.#effects.push({ type: 'prepareLocation', ...effect });
  }

  #onLocationReady({ checkpointId, directory }: EventOf<'locationReady'>): void {
    const pending = this.#pending.get(checkpointId);
    // Aborted while it was made: nobody else knows of the directory.
    if (pending === undefined) return this.#pending.discardPending(checkpointId, directory);
    assert(pending.directory === null, `checkpoint ${checkpointId} got a second directory`);
    pending.directory = directory;
    const triggerId = this.#triggering?.triggerId;
    assert(triggerId !== undefined, `checkpoint ${checkpointId} got a directory untriggered`);
    this.#effects.push({ type: 'snapshotCoordinators', triggerId, checkpointId });
  }

  #onCoordinatorsSnapshotted(event: EventOf<'coordinatorsSnapshotted'>): void {
    const { checkpointId, snapshots, now } = event;
    const pending = this.#pending.get(checkpointId);
    if (pending === undefined) return;
    const { directory, kind, timestamp, plan, request } = pending;
    assert(directory !== null, `checkpoint ${checkpointId} has no directory`);
    pending.moveTo('triggered');
    pending.coordinators = snapshots;
    // Tasks are not told of other savepoints, so none can end with one.
    if (kind === 'checkpoint' || pending.stopsJob) pending.endsFor = this.#scheduler.endingTasks;
    this.#triggering = null;
    const options = { kind: request.stop ?? kind, location: directory };
    const trigger = { checkpointId, timestamp, options };
    this.#effects.push({ type: 'triggerTasks', executions: plan.tasksToTrigger, trigger });
    this.#pending.completeIfAcknowledged(pending, now);
  }

  #onTriggerFailed({ triggerId, reason, error, now }: EventOf<'triggerFailed'>): void {
    if (this.#triggering?.triggerId !== triggerId) return;
    this.#abandonTrigger(now, { reason, message: `the trigger failed: ${error.message}` });
  }

  /** Ends what is being triggered, whether it has an id already or not. */
  #abandonTrigger(now: number, failure: CheckpointFailure): void {
    const triggering = this.#triggering;
    if (triggering === null) return;
    this.#triggering = null;
    const { checkpointId, request } = triggering;
    if (checkpointId !== null) {
      const pending = this.#pending.get(checkpointId);
      assert(pending !== undefined, `checkpoint ${checkpointId} is triggered, but not pending`);
      return this.#pending.abort(pending, now, failure);
    }
    this.#giveUp(request, failure);
    if (request.stop !== null) this.#scheduler.resume(now);
    this.#scheduler.checkpointFailed(now);
    if (request.kind === 'checkpoint') this.#pending.countFailure(failure, null);
  }

  /** A checkpoint aborted while it was being triggered frees the way for the next. */
  #clearTriggering(): void {
    const checkpointId = this.#triggering?.checkpointId ?? null;
    if (checkpointId !== null && this.#pending.get(checkpointId) === undefined)
      this.#triggering = null;
  }

  // ─── Stop ───

  #onTasksFailed({ executions, now }: EventOf<'tasksFailed'>): void {
    this.#scheduler.forget(executions.map(keyOf));
    const [first] = executions;
    const name = first === undefined ? 'a task' : this.#topology.nameOf(first);
    this.#abortAll(now, { reason: 'TASK_FAILURE', message: `${name} failed or is restarted` });
  }

  #onTaskFinished(event: EventOf<'taskFinished'>): void {
    const { execution, now } = event;
    this.#scheduler.forget([keyOf(execution)]);
    this.#pending.onTaskFinished(event);
    // What has a plan but no id yet counts on this task.
    if (this.#triggering?.checkpointId === null && this.#triggering.plan !== null) {
      const message = `${this.#topology.nameOf(execution)} finished during the trigger`;
      this.#abandonTrigger(now, { reason: 'DECLINED_TASK_CLOSING', message });
    }
  }

  #onRunEnded({ end, now }: EventOf<'runEnded'>): void {
    this.#runEnd = end;
    this.#stop(now, 'CHECKPOINT_COORDINATOR_SHUTDOWN');
    this.#discardIfRunEnded();
  }

  /** Also when a checkpoint under way at the end of the run completes only afterwards. */
  #discardIfRunEnded(): void {
    if (this.#runEnd === null || keepsCheckpoints(this.#config.retention, this.#runEnd)) return;
    for (const checkpoint of this.#store.clear()) this.#pending.discardCompleted(checkpoint);
  }

  #stop(now: number, reason: CheckpointFailure['reason']): void {
    const failure = { reason, message: 'the job does not run any more' };
    for (const request of this.#scheduler.stop()) this.#giveUp(request, failure);
    this.#abortAll(now, failure);
  }

  #abortAll(now: number, failure: CheckpointFailure): void {
    this.#abandonTrigger(now, failure);
    this.#pending.abortAll(now, failure);
  }
}
