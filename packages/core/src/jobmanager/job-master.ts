/**
 * Runs one job: the shell around the pure machines of `protocol`. Every event (a task's message, a
 * timer, the answer of storage) goes into the execution graph or the checkpoint coordinator, and
 * what these decide is carried out here. Events are handled one at a time; what is asynchronous
 * answers by another event.
 */
import type { StreamGraph } from '../api/stream-graph.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { ErrorInfo } from '../base/errors.ts';
import { isWeirError, toErrorInfo, WeirError } from '../base/errors.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { ExecutionRef, JobId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { CheckpointCoordinatorConfig } from '../protocol/checkpoint/checkpoint-config.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import type { JobEffect, JobEvent } from '../protocol/execution/job-execution.ts';
import { JobExecution } from '../protocol/execution/job-execution.ts';
import type { RestartStrategyConfig } from '../protocol/execution/restart-strategy.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type {
  JobManagerMessage,
  JobStatus,
  TaskManagerMessage,
  TaskMetrics,
} from '../protocol/messages.ts';
import { slotLayoutOf } from '../protocol/slots/slot-layout.ts';
import type { SlotLayout } from '../protocol/slots/slot-layout.ts';
import type { SnapshotMetadata } from '../protocol/snapshot.ts';
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts';
import { CheckpointShell } from './checkpoint-shell.ts';
import { Deployer } from './deployer.ts';
import type { JobPersistence } from './job-persistence.ts';

/** What a run starts from. */
export interface InitialRestore {
  readonly metadata: SnapshotMetadata;
  readonly directory: string;
}

export interface JobMasterOptions {
  readonly jobId: JobId;
  readonly epoch: number;
  readonly jobGraph: JobGraph;
  /** Built for the JobManager's own use: enumerators and committers. */
  readonly streamGraph: StreamGraph;
  readonly clock: Clock;
  readonly random: Random;
  readonly fileSystem: FileSystem;
  readonly logger: Logger;
  /** `null`: checkpoints are off. */
  readonly checkpointing: CheckpointCoordinatorConfig | null;
  /** Files of several checkpoints that are no longer needed are removed at once. */
  readonly parallelCleaning: boolean;
  readonly restartStrategy: RestartStrategyConfig;
  readonly failoverStrategy: 'region' | 'full';
  /** Failures at the same record, or for the same cause, that end the job. */
  readonly maxRepeatedFailures: number;
  readonly storage: CheckpointStorage;
  readonly persistence: JobPersistence;
  /** Completed checkpoints that earlier runs of this job left, oldest first. */
  readonly completed: readonly CompletedCheckpoint[];
  readonly lastCheckpointId: number;
  readonly initial: InitialRestore | null;
  readonly allowNonRestored: boolean;
  /** An older snapshot than the newest was chosen on purpose: sinks may be ahead of it. */
  readonly allowOlder: boolean;
  readonly listener: JobMasterListener;
  /** Takes a message to the thread that runs the slot. */
  send(slot: number, message: TaskManagerMessage): void;
}

/** What others want to know; all calls are synchronous and must not throw. */
export interface JobMasterListener {
  statusChanged(status: JobStatus, error: ErrorInfo | null): void;
  restarting(facts: {
    readonly error: ErrorInfo;
    readonly delayMs: number;
    readonly tasks: number;
  }): void;
  checkpointCompleted(facts: {
    readonly checkpointId: number;
    readonly durationMs: number;
    readonly sizeBytes: number;
    readonly directory: string;
  }): void;
  checkpointFailed(facts: {
    readonly checkpointId: number | null;
    readonly reason: string;
    readonly message: string;
  }): void;
  metrics(metrics: readonly TaskMetrics[]): void;
}

const TERMINAL: ReadonlySet<JobStatus> = new Set(['FINISHED', 'CANCELED', 'FAILED', 'SUSPENDED']);

export class JobMaster {
  readonly #options: JobMasterOptions;
  readonly #slots: SlotLayout;
  readonly #job: JobExecution;
  readonly #checkpoints: CheckpointShell | null;
  readonly #deployer: Deployer;
  readonly #timers = new Set<Timer>();
  readonly #done: PromiseWithResolvers<{ status: JobStatus; error: ErrorInfo | null }>;
  readonly #events: JobEvent[] = [];
  #isHandling = false;
  #lastFailure: ErrorInfo | null = null;
  #pendingTasks = 0;

  constructor(options: JobMasterOptions) {
    this.#options = options;
    this.#done = Promise.withResolvers();
    this.#slots = slotLayoutOf(options.jobGraph);
    this.#job = new JobExecution(options);
    this.#deployer = new Deployer({
      ...options,
      slots: this.#slots,
      job: this.#job,
      sendTo: (execution, message) => this.#sendTo(execution, message),
      deployed: (execution) => this.#handle({ type: 'deployed', execution }),
      failGlobally: (error) => this.#failGlobally(error),
    });
    this.#checkpoints =
      options.checkpointing === null
        ? null
        : new CheckpointShell({
            ...options,
            config: options.checkpointing,
            executions: () => this.#job.executions(),
            sources: this.#deployer.sources,
            sendTo: (execution, message) => this.#sendTo(execution, message),
            failJob: (error) => this.#failGlobally(error),
            fenced: (error) => this.#failFinally(error),
          });
  }

  get status(): JobStatus {
    return this.#job.status;
  }

  get slotCount(): number {
    return this.#slots.slotCount;
  }

  /** Resolves when the run is over, with how it ended. */
  get ended(): Promise<{ status: JobStatus; error: ErrorInfo | null }> {
    return this.#done.promise;
  }

  /** The newest completed checkpoint. */
  get latestCheckpoint(): CompletedCheckpoint | null {
    return this.#checkpoints?.latestCompleted ?? null;
  }

  /** Unless the run was stopped before it began. */
  start(): void {
    if (this.#job.status === 'CREATED') this.#handle({ type: 'start' });
  }

  /** Asks every task to stop; the run ends CANCELED. */
  cancel(): void {
    this.#handle({ type: 'cancel' });
  }

  /** Stops the tasks and keeps everything for another run to go on. */
  suspend(): void {
    this.#handle({ type: 'suspend' });
  }

  /** The thread of these slots died. */
  slotsLost(slots: readonly number[], error: unknown): void {
    this.#handle({ type: 'slotsLost', slots, error: toErrorInfo(error) });
  }

  /** A message from a task. */
  receive(message: JobManagerMessage): void {
    if (message.type === 'taskMetrics') {
      this.#options.listener.metrics(
        message.metrics.filter(({ execution }) => this.#job.isPresent(execution)),
      );
      return;
    }
    if (message.type === 'taskStateChanged') return this.#taskStateChanged(message);
    if (message.type === 'enumeratorEvent') {
      const { execution, operatorId, event } = message;
      if (this.#job.isPresent(execution))
        this.#deployer.sources.get(operatorId)?.handle(execution.subtask, event);
      return;
    }
    this.#checkpoints?.receive(message);
  }

  #taskStateChanged(message: Extract<JobManagerMessage, { type: 'taskStateChanged' }>): void {
    const isPresent = this.#job.isPresent(message.execution);
    this.#handle(message);
    if (isPresent && message.state === 'FINISHED')
      this.#checkpoints?.taskFinished(message.execution);
    this.#startCheckpointsWhenRunning();
  }

  /** Every task runs for the first time, or again: periodic checkpoints begin. */
  #startCheckpointsWhenRunning(): void {
    if (this.#job.status === 'RUNNING' && this.#job.isAllRunning) this.#checkpoints?.start();
  }

  /** An event that comes while effects are carried out (a listener cancels) waits for its turn. */
  #handle(event: JobEvent): void {
    this.#events.push(event);
    if (this.#isHandling) return;
    this.#isHandling = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        const { clock, random } = this.#options;
        const moment = { now: clock.now(), draw: random.next() };
        for (const effect of this.#job.handle(next, moment)) this.#apply(effect);
      }
    } finally {
      this.#isHandling = false;
    }
  }

  #apply(effect: JobEffect): void {
    switch (effect.type) {
      case 'jobStatusChanged':
        return this.#statusChanged(effect.status, effect.error);
      case 'failover':
        this.#lastFailure = effect.error;
        this.#pendingTasks = effect.restarting.length;
        this.#checkpoints?.tasksFailed([...effect.failed, ...effect.restarting]);
        return;
      case 'cancelTask':
        return this.#sendTo(effect.execution, {
          type: 'cancelTask',
          execution: effect.execution,
        });
      case 'restartAfter':
        return this.#restartAfter(effect.restartId, effect.delayMs);
      case 'deploy':
        void this.#deploy(effect);
    }
  }

  #statusChanged(status: JobStatus, error: ErrorInfo | null): void {
    if (status !== 'RUNNING') this.#checkpoints?.stop();
    if (!TERMINAL.has(status)) {
      this.#options.listener.statusChanged(status, error);
      return;
    }
    void this.#end(status, error);
  }

  #restartAfter(restartId: number, delayMs: number): void {
    const error = this.#lastFailure;
    if (error !== null)
      this.#options.listener.restarting({ error, delayMs, tasks: this.#pendingTasks });
    const timer = this.#options.clock.schedule(delayMs, 'restart', () => {
      this.#timers.delete(timer);
      this.#handle({ type: 'restartDelayElapsed', restartId });
    });
    this.#timers.add(timer);
  }

  async #deploy(effect: Extract<JobEffect, { type: 'deploy' }>): Promise<void> {
    try {
      // A completion under way decides from which checkpoint the tasks restart.
      await this.#checkpoints?.settled();
      const latest = this.#checkpoints?.latestCompleted ?? null;
      const lastId = this.#checkpoints?.lastId ?? this.#options.lastCheckpointId;
      await this.#deployer.deploy(effect, { latest, lastId });
    } catch (error) {
      // What cannot be read now cannot be read after a restart either: say so instead of looping.
      if (isWeirError(error) && error.details['permanent'] === true) this.#failFinally(error);
      else this.#failGlobally(error);
    }
  }

  #failGlobally(error: unknown): void {
    this.#handle({ type: 'failGlobally', error: toErrorInfo(error) });
  }

  #failFinally(error: unknown): void {
    this.#handle({ type: 'failFinally', error: toErrorInfo(error) });
  }

  async #end(status: JobStatus, error: ErrorInfo | null): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    let final = { status, error };
    try {
      await this.#deployer.close();
      await this.#checkpoints?.settled();
      const isFenced = error?.kind === 'fenced';
      if (status === 'FINISHED' || status === 'CANCELED' || (status === 'FAILED' && !isFenced)) {
        // The mark comes first: what is then deleted is never needed for a resume.
        await this.#options.persistence.ended(status);
        await this.#checkpoints?.runEnded(status);
      } else {
        await this.#checkpoints?.runEnded('SUSPENDED');
      }
    } catch (failure) {
      const info = toErrorInfo(failure);
      this.#options.logger.log('error', `the end of the run is not recorded: ${info.message}`);
      final = { status: 'FAILED', error: error ?? info };
    }
    this.#options.listener.statusChanged(final.status, final.error);
    this.#done.resolve(final);
  }

  #sendTo(execution: ExecutionRef, message: TaskManagerMessage): void {
    this.#options.send(this.#slots.slotOf(execution.vertexId, execution.subtask), message);
  }
}

/** A failure of too many checkpoints, as an error for the restart strategy. */
export function checkpointFailures(message: string): WeirError {
  return new WeirError('transient', message, { code: 'CHECKPOINT_FAILURES' });
}
