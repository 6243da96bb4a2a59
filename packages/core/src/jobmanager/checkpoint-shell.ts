/**
 * Carries out what the checkpoint coordinator decides: timers, ids, storage, messages to tasks.
 * Storage answers later, by an event; its truth about a completion is awaited before anything is
 * restored (`settled`).
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { ErrorInfo } from '../base/errors.ts';
import {
  errorKind,
  fromErrorInfo,
  isWeirError,
  messageOf,
  toErrorInfo,
  WeirError,
} from '../base/errors.ts';
import type { ExecutionRef, JobId, OperatorId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import { CheckpointCoordinator } from '../protocol/checkpoint/checkpoint-coordinator.ts';
import type {
  CheckpointCoordinatorConfig,
  RunEnd,
} from '../protocol/checkpoint/checkpoint-config.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import type {
  CheckpointRequest,
  CoordinatorEffect,
  CoordinatorEvent,
} from '../protocol/checkpoint/coordinator-messages.ts';
import type { Execution } from '../protocol/execution/job-execution.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { JobManagerMessage, SubtaskRef, TaskManagerMessage } from '../protocol/messages.ts';
import type { CheckpointStorage, CleanUpOptions } from '../storage/checkpoint-storage.ts';
import { joinPath } from '../storage/paths.ts';
import { savepointDirectoryName } from '../storage/snapshot-layout.ts';
import type { CheckpointStatistics } from './checkpoint-statistics.ts';
import type { JobMasterListener } from './job-master.ts';
import type { JobPersistence } from './job-persistence.ts';
import type { SourceCoordinator } from './source-coordinator.ts';
import { tellTasks } from './tell-tasks.ts';

export interface CheckpointShellOptions {
  readonly jobId: JobId;
  readonly jobGraph: JobGraph;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly config: CheckpointCoordinatorConfig;
  readonly parallelCleaning: boolean;
  readonly storage: CheckpointStorage;
  readonly persistence: JobPersistence;
  readonly completed: readonly CompletedCheckpoint[];
  readonly lastCheckpointId: number;
  /** The clean-up at the start that did not remove everything. */
  readonly unfinishedCleanUp: CleanUpOptions | null;
  readonly listener: JobMasterListener;
  readonly sources: ReadonlyMap<OperatorId, SourceCoordinator>;
  readonly statistics: CheckpointStatistics;
  executions(): readonly Execution[];
  readonly sendTo: (execution: ExecutionRef, message: TaskManagerMessage) => void;
  /** Too many failed checkpoints: global failover. */
  failJob(error: unknown): void;
  /** The savepoint that stops the job is complete: its tasks finish now. */
  stopped(savepoint: CompletedCheckpoint): void;
  /** Another process leads this job, or nobody knows what is on the disk: stop for good. */
  giveUp(error: unknown): void;
}

type CheckpointMessage = Extract<
  JobManagerMessage,
  { type: 'acknowledgeCheckpoint' | 'declineCheckpoint' | 'endOfDataReached' }
>;

export class CheckpointShell {
  readonly #options: CheckpointShellOptions;
  readonly #coordinator: CheckpointCoordinator;
  readonly #timers = new Map<string, Timer>();
  /** Storage work under way; `settled` waits for it. */
  readonly #work = new Set<Promise<void>>();
  /** Who waits for a checkpoint that he asked for. */
  readonly #requests = new Map<string, PromiseWithResolvers<CompletedCheckpoint>>();
  readonly #pathOf = new Map<number, string>();
  readonly #sizeOf = new Map<number, number>();
  /** The newest removal of a checkpoint, which the next waits for unless they go in parallel. */
  #cleaning: Promise<void> = Promise.resolve();
  /** Directories of checkpoints that could not be removed, by id. */
  readonly #leftBehind = new Map<number, string>();
  #isStarted = false;

  constructor(options: CheckpointShellOptions) {
    this.#options = options;
    const { config, jobId, jobGraph, completed } = options;
    this.#coordinator = new CheckpointCoordinator({
      config,
      jobId,
      jobGraph,
      restored: completed,
      lastId: options.lastCheckpointId,
    });
  }

  get oldestCompleted(): CompletedCheckpoint | null {
    return this.#coordinator.completed[0] ?? null;
  }

  get latestCompleted(): CompletedCheckpoint | null {
    return this.#coordinator.latestCompleted;
  }

  get lastId(): number {
    return this.#coordinator.lastId;
  }

  /** The job runs: checkpoints begin. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#handle({ type: 'jobRunning', draw: this.#options.random.next(), now: this.#now() });
  }

  /** The job has left RUNNING. */
  stop(): void {
    if (!this.#isStarted) return;
    this.#isStarted = false;
    this.#handle({ type: 'jobStopped', now: this.#now() });
  }

  /** Of restarting subtasks too: nothing of what they had pending counts any more. */
  tasksFailed(executions: readonly SubtaskRef[]): void {
    this.#handle({ type: 'tasksFailed', executions, now: this.#now() });
  }

  taskFinished(execution: ExecutionRef): void {
    this.#handle({ type: 'taskFinished', execution, now: this.#now() });
  }

  receive(message: CheckpointMessage): void {
    const now = this.#now();
    switch (message.type) {
      case 'acknowledgeCheckpoint': {
        const { execution, checkpointId, snapshot, metrics } = message;
        const event = { execution, checkpointId, snapshot, metrics, now };
        return this.#handle({ type: 'acknowledged', ...event });
      }
      case 'declineCheckpoint': {
        const { execution, checkpointId, reason, error } = message;
        return this.#handle({ type: 'declined', execution, checkpointId, reason, error, now });
      }
      case 'endOfDataReached':
        return this.#handle({ type: 'endOfDataReached', execution: message.execution, now });
    }
  }

  /**
   * Takes a checkpoint or a savepoint now. The promise is rejected with a `WeirError` that says why
   * when it comes to nothing.
   */
  request(wanted: Omit<CheckpointRequest, 'requestId'>): Promise<CompletedCheckpoint> {
    const requestId = this.#options.random.hex(16);
    const request = Promise.withResolvers<CompletedCheckpoint>();
    this.#requests.set(requestId, request);
    this.#handle({ type: 'requested', request: { ...wanted, requestId }, now: this.#now() });
    return request.promise;
  }

  /** Resolves when no storage work is under way. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }

  /** The run is over: what the retention rule does not keep is removed. */
  async runEnded(end: RunEnd): Promise<void> {
    this.#handle({ type: 'runEnded', end, now: this.#now() });
    await this.settled();
    // What could not be removed is removed by the next run; after these ends there may be none.
    if (end === 'FINISHED' || end === 'CANCELED') await this.#discardLeftBehind();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #handle(event: CoordinatorEvent): void {
    const cause = 'error' in event ? event.error : null;
    for (const effect of this.#coordinator.handle(event)) this.#apply(effect, cause);
  }

  /** `cause`: the error that the event told of which this effect is the answer to. */
  #apply(effect: CoordinatorEffect, cause: ErrorInfo | null): void {
    const now = this.#now();
    switch (effect.type) {
      case 'setTimer':
        return this.#setTimer(effect.timerId, effect.at);
      case 'cancelTimer':
        this.#timers.get(effect.timerId)?.cancel();
        this.#timers.delete(effect.timerId);
        return;
      case 'reportTasks': {
        const { triggerId } = effect;
        const executions = this.#options.executions();
        return this.#handle({ type: 'tasksReported', triggerId, executions, now });
      }
      case 'drawId':
        return this.#attempt(effect.triggerId, async () => {
          const checkpointId = await this.#options.persistence.drawCheckpointId();
          const timestamp = this.#options.clock.wallTime();
          const { triggerId } = effect;
          const drawn = { triggerId, checkpointId, timestamp, now: this.#now() };
          this.#handle({ type: 'idDrawn', ...drawn });
        });
      case 'prepareLocation':
        return this.#prepareLocation(effect);
      case 'snapshotCoordinators':
        return this.#snapshotCoordinators(effect.triggerId, effect.checkpointId);
      case 'finalise':
        return this.#finalise(effect);
      case 'triggerTasks':
      case 'notifyAborted':
        return tellTasks(effect, this.#options.sendTo);
      case 'notifyComplete':
        tellTasks(effect, this.#options.sendTo);
        for (const source of this.#options.sources.values())
          source.notifyCheckpointComplete(effect.checkpointId);
        return;
      case 'discardSnapshot':
        return this.#discardSnapshot(effect);
      case 'discardCheckpoint':
        return this.#discard(effect.checkpoint.checkpointId, effect.checkpoint.directory, true);
      case 'discardPending':
        return this.#discard(effect.checkpointId, effect.directory, false);
      case 'failJob':
        return this.#options.failJob(tooManyFailures(effect.message, cause));
      case 'triggerDropped':
        return this.#options.logger.log('debug', `no checkpoint: ${effect.message}`);
      case 'checkpointStarted':
        return this.#options.statistics.started(effect);
      case 'subtaskAcknowledged':
        return this.#options.statistics.acknowledged(effect);
      case 'checkpointEnded':
        return this.#reportEnd(effect);
      case 'requestCompleted':
        return this.#answer(effect.requestId)?.resolve(effect.checkpoint);
      case 'requestFailed':
        return this.#answer(effect.requestId)?.reject(requestFailed(effect));
    }
  }

  #answer(requestId: string): PromiseWithResolvers<CompletedCheckpoint> | undefined {
    const request = this.#requests.get(requestId);
    this.#requests.delete(requestId);
    return request;
  }

  #setTimer(timerId: string, at: number): void {
    this.#timers.get(timerId)?.cancel();
    const timer = this.#options.clock.schedule(at - this.#now(), timerId, () => {
      this.#timers.delete(timerId);
      this.#handle({ type: 'timer', timerId, now: this.#now() });
    });
    this.#timers.set(timerId, timer);
  }

  #prepareLocation(effect: Extract<CoordinatorEffect, { type: 'prepareLocation' }>): void {
    const { triggerId, checkpointId, kind, targetDirectory } = effect;
    const { storage } = this.#options;
    this.#attempt(triggerId, async () => {
      const directory =
        kind === 'savepoint' && targetDirectory !== null
          ? await this.#prepareSavepoint(targetDirectory)
          : await storage.prepareCheckpoint(checkpointId);
      this.#pathOf.set(checkpointId, directory);
      this.#handle({ type: 'locationReady', checkpointId, directory, now: this.#now() });
    });
  }

  /** Nobody would find the folder again if this process died before it is written down. */
  async #prepareSavepoint(targetDirectory: string): Promise<string> {
    const { storage, random, persistence, jobId } = this.#options;
    const suffix = random.hex(12);
    const planned = joinPath(targetDirectory, savepointDirectoryName(jobId, suffix));
    await persistence.savepointBegun(planned);
    try {
      return await storage.prepareSavepoint(targetDirectory, suffix);
    } catch (error) {
      persistence.savepointEnded(planned);
      throw error;
    }
  }

  #snapshotCoordinators(triggerId: number, checkpointId: number): void {
    try {
      const sources = [...this.#options.sources.values()];
      const snapshots = sources
        .map((source) => source.snapshot(checkpointId))
        .filter((snapshot) => snapshot !== null);
      const now = this.#now();
      this.#handle({ type: 'coordinatorsSnapshotted', checkpointId, snapshots, now });
    } catch (error) {
      this.#triggerFailed(triggerId, 'TRIGGER_CHECKPOINT_FAILURE', error);
    }
  }

  #finalise(effect: Extract<CoordinatorEffect, { type: 'finalise' }>): void {
    const { checkpointId, directory, metadata, stopsJob } = effect;
    const { kind, triggeredAt } = metadata;
    void this.#track(async () => {
      const sizeBytes = sizeOf(metadata);
      // No run begins from a savepoint unasked.
      const takeBack = (): Promise<void> =>
        this.#options.persistence.checkpointTakenBack(checkpointId);
      const mayTakeBack = kind === 'checkpoint' ? takeBack : undefined;
      try {
        await this.#options.storage.publish(directory, metadata, mayTakeBack);
      } catch (error) {
        if (errorKind(error) === 'fenced') return this.#options.giveUp(error);
        // If it exists, the next start goes on from it: nothing may be done until that is known.
        if (kind === 'checkpoint' && isOutcomeUnknown(error)) {
          // Unless the job has finished meanwhile: then nobody goes on from it, or removes it.
          this.#leftBehind.set(checkpointId, directory);
          return this.#options.giveUp(error);
        }
        const now = this.#now();
        this.#handle({ type: 'finaliseFailed', checkpointId, error: toErrorInfo(error), now });
        return;
      }
      const isOwned = kind === 'checkpoint';
      const facts = { checkpointId, kind, stopsJob, directory, triggeredAt, sizeBytes, isOwned };
      await this.#recordCompletion(facts);
    });
  }

  /**
   * The snapshot exists, so a restart would use it: it counts as completed, whatever becomes of the
   * pointer to it; only a newer leader forbids to tell anyone.
   */
  async #recordCompletion(completed: CompletedCheckpoint): Promise<void> {
    const { checkpointId, sizeBytes, kind, stopsJob, directory } = completed;
    if (kind === 'savepoint') this.#options.persistence.savepointEnded(directory);
    try {
      // Any other savepoint belongs to the user: no run goes on from it unasked.
      if (kind === 'checkpoint' || stopsJob)
        await this.#options.persistence.checkpointCompleted(completed);
    } catch (error) {
      if (errorKind(error) === 'fenced') return this.#options.giveUp(error);
      const text = `checkpoint ${checkpointId} is stored, its pointer is not: ${messageOf(error)}`;
      this.#options.logger.log('warn', text);
    }
    this.#sizeOf.set(checkpointId, sizeBytes);
    // Before the tasks are told, since the first may fail at once.
    if (stopsJob) this.#options.stopped(completed);
    this.#handle({ type: 'finalised', checkpointId, sizeBytes, now: this.#now() });
  }

  #discardSnapshot(effect: Extract<CoordinatorEffect, { type: 'discardSnapshot' }>): void {
    const { directory, snapshot } = effect;
    void this.#track(async () => {
      await this.#options.storage.discardData(directory, snapshot.data);
    });
  }

  #discard(checkpointId: number, directory: string, completed: boolean): void {
    const { storage, persistence, logger, parallelCleaning } = this.#options;
    const turn = parallelCleaning ? Promise.resolve() : this.#cleaning;
    this.#cleaning = this.#track(async () => {
      await turn;
      try {
        if (completed) await persistence.checkpointDiscarded(checkpointId);
        const { foreign } = await storage.discard(directory);
        persistence.savepointEnded(directory);
        if (foreign.length > 0)
          logger.log('warn', `not deleted, since Weir did not write it: ${foreign.join(', ')}`);
      } catch (error) {
        if (errorKind(error) === 'fenced') this.#options.giveUp(error);
        else {
          this.#leftBehind.set(checkpointId, directory);
          logger.log('warn', `checkpoint ${checkpointId} is left behind: ${messageOf(error)}`);
        }
      }
      this.#handle({ type: 'discarded', checkpointId, now: this.#now() });
    });
  }

  async #discardLeftBehind(): Promise<void> {
    const left = [...this.#leftBehind];
    this.#leftBehind.clear();
    for (const [checkpointId, directory] of left) this.#discard(checkpointId, directory, false);
    await this.settled();
    const { unfinishedCleanUp, storage, logger } = this.#options;
    if (unfinishedCleanUp === null) return;
    try {
      const { failed } = await storage.cleanUp(unfinishedCleanUp);
      for (const { path, reason } of failed)
        logger.log('warn', `${path} is left behind: ${reason}`);
    } catch (error) {
      logger.log('warn', `old checkpoints are left behind: ${messageOf(error)}`);
    }
  }

  #reportEnd(effect: Extract<CoordinatorEffect, { type: 'checkpointEnded' }>): void {
    const { checkpointId, failure, durationMs } = effect;
    const { listener, statistics } = this.#options;
    const directory = this.#pathOf.get(checkpointId) ?? '';
    const sizeBytes = this.#sizeOf.get(checkpointId) ?? 0;
    statistics.ended(effect, { directory, sizeBytes });
    this.#pathOf.delete(checkpointId);
    this.#sizeOf.delete(checkpointId);
    if (failure === null)
      listener.checkpointCompleted({ checkpointId, durationMs, sizeBytes, directory });
    else listener.checkpointFailed({ checkpointId, ...failure });
  }

  /** Work that a trigger waits for. */
  #attempt(triggerId: number, work: () => Promise<void>): void {
    void this.#track(async () => {
      try {
        await work();
      } catch (error) {
        if (errorKind(error) === 'fenced') this.#options.giveUp(error);
        else this.#triggerFailed(triggerId, 'IO_EXCEPTION', error);
      }
    });
  }

  #triggerFailed(
    triggerId: number,
    reason: 'IO_EXCEPTION' | 'TRIGGER_CHECKPOINT_FAILURE',
    error: unknown,
  ): void {
    const now = this.#now();
    this.#handle({ type: 'triggerFailed', triggerId, reason, error: toErrorInfo(error), now });
  }

  /** What fails here is a fault of ours: it must not pass unseen. */
  #track(work: () => Promise<void>): Promise<void> {
    const promise = work()
      .catch((error: unknown) => this.#options.giveUp(fromErrorInfo(toErrorInfo(error))))
      .finally(() => this.#work.delete(promise));
    this.#work.add(promise);
    return promise;
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

/**
 * What a function of the job brought about (a value that cannot be stored) stays its fault: a
 * restart does not cure it. A disk may come back; but a place that is full or forbidden round after
 * round is a cause that no restart gets over, and ends the job with path and reason.
 */
function tooManyFailures(message: string, cause: ErrorInfo | null): WeirError {
  const { permanent, path, errno } = cause?.details ?? {};
  const isPlace = permanent === true && typeof path === 'string';
  return new WeirError(cause?.kind === 'function' ? 'function' : 'transient', message, {
    code: 'CHECKPOINT_FAILURES',
    details: isPlace ? { storagePlace: `${placeOf(path)} (${String(errno)})` } : {},
    cause: cause === null ? undefined : fromErrorInfo(cause),
  });
}

function isOutcomeUnknown(error: unknown): boolean {
  return isWeirError(error) && error.details['outcome'] === 'unknown';
}

/** Without what is new each time, so that the same place is seen to fail again. */
function placeOf(path: string): string {
  return path.replace(/\/(chk-\d+(\/.*)?|\.append-[0-9a-f]+)$/, '');
}

function sizeOf(metadata: {
  readonly vertices: readonly { readonly subtasks: readonly { readonly sizeBytes: number }[] }[];
}): number {
  return metadata.vertices
    .flatMap((vertex) => vertex.subtasks)
    .reduce((sum, subtask) => sum + subtask.sizeBytes, 0);
}

function requestFailed({
  reason,
  message,
}: Extract<CoordinatorEffect, { type: 'requestFailed' }>): WeirError {
  const code = reason === 'CHECKPOINT_EXPIRED' ? reason : 'CHECKPOINT_DECLINED';
  return new WeirError('declined', message, { code, details: { reason } });
}
