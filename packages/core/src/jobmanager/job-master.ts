/**
 * Runs one job: the shell around the pure machines of `protocol`. Every event (a task's message, a
 * timer, the answer of storage) goes into the execution graph or the checkpoint coordinator, and
 * what these decide is carried out here. Events are handled one at a time; what is asynchronous
 * answers by another event.
 */
import type { StreamGraph } from '../api/stream-graph.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { ErrorInfo } from '../base/errors.ts';
import { fromErrorInfo, isWeirError, toErrorInfo, WeirError } from '../base/errors.ts';
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
  StopMode,
  TaskManagerMessage,
  TaskMetrics,
} from '../protocol/messages.ts';
import { slotLayoutOf } from '../protocol/slots/slot-layout.ts';
import type { SlotLayout } from '../protocol/slots/slot-layout.ts';
import type { SnapshotMetadata } from '../protocol/snapshot.ts';
import type { CheckpointStorage, CleanUpOptions } from '../storage/checkpoint-storage.ts';
import { CheckpointShell } from './checkpoint-shell.ts';
import { CheckpointStatistics } from './checkpoint-statistics.ts';
import { Deployer } from './deployer.ts';
import type { JobPersistence } from './job-persistence.ts';
import { RunHistory } from './run-history.ts';
import { savepointDirectory } from './savepoint-directory.ts';

/** What a run starts from. */
export interface InitialRestore {
  readonly metadata: SnapshotMetadata;
  readonly directory: string;
  /** As `TaskRestore.watchesTypes`. */
  readonly watchesTypes?: boolean;
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
  /** Without an interval there are only checkpoints and savepoints that somebody asks for. */
  readonly checkpointing: CheckpointCoordinatorConfig;
  /** `execution.checkpointing.savepoint-dir`, as configured. */
  readonly savepointDirectory: string | null;
  /** Where relative paths of the user begin. */
  readonly workingDirectory: string;
  /** Ended checkpoints that are remembered for people. */
  readonly checkpointHistoryMax: number;
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
  /** The clean-up at the start that did not remove everything. */
  readonly unfinishedCleanUp: CleanUpOptions | null;
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
  readonly #checkpoints: CheckpointShell;
  readonly #history: RunHistory;
  readonly #statistics: CheckpointStatistics;
  readonly #deployer: Deployer;
  readonly #timers = new Set<Timer>();
  readonly #done: PromiseWithResolvers<{ status: JobStatus; error: ErrorInfo | null }>;
  readonly #events: JobEvent[] = [];
  #isHandling = false;
  #lastFailure: ErrorInfo | null = null;
  #pendingTasks = 0;
  /** Complete: what fails from here on ends the job. */
  #stopSavepoint: CompletedCheckpoint | null = null;

  constructor(options: JobMasterOptions) {
    this.#options = options;
    this.#done = Promise.withResolvers();
    this.#slots = slotLayoutOf(options.jobGraph);
    this.#job = new JobExecution(options);
    const wallTime = (): number => options.clock.wallTime();
    this.#history = new RunHistory(wallTime);
    this.#statistics = new CheckpointStatistics(options.checkpointHistoryMax, wallTime);
    this.#deployer = new Deployer({
      ...options,
      slots: this.#slots,
      job: this.#job,
      sendTo: (execution, message) => this.#sendTo(execution, message),
      deployed: (execution) => this.#handle({ type: 'deployed', execution }),
      failGlobally: (error) => this.#failGlobally(error),
    });
    this.#checkpoints = new CheckpointShell({
      ...options,
      config: options.checkpointing,
      executions: () => this.#job.executions(),
      sources: this.#deployer.sources,
      statistics: this.#statistics,
      sendTo: (execution, message) => this.#sendTo(execution, message),
      failJob: (error) => this.#failGlobally(error),
      stopped: (savepoint) => this.#stopping(savepoint),
      giveUp: (error) => this.#failFinally(error),
    });
  }

  get jobId(): JobId {
    return this.#options.jobId;
  }

  get jobGraph(): JobGraph {
    return this.#options.jobGraph;
  }

  get checkpointing(): CheckpointCoordinatorConfig {
    return this.#options.checkpointing;
  }

  /** `execution.checkpointing.savepoint-dir`, as configured. */
  get savepointDirectory(): string | null {
    return this.#options.savepointDirectory;
  }

  /** When what happened. */
  get history(): RunHistory {
    return this.#history;
  }

  get statistics(): CheckpointStatistics {
    return this.#statistics;
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

  /** Of the completed ones that are kept: a restart from it needs its sources back to there. */
  get oldestCheckpoint(): CompletedCheckpoint | null {
    return this.#checkpoints.oldestCompleted;
  }

  /** The newest completed checkpoint, or the savepoint that stopped the job. */
  get latestCheckpoint(): CompletedCheckpoint | null {
    return this.#stopSavepoint ?? this.#checkpoints.latestCompleted;
  }

  /** The complete savepoint that stops the job, or has stopped it. */
  get stopSavepoint(): CompletedCheckpoint | null {
    return this.#stopSavepoint;
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

  /** Takes a checkpoint now; rejected with the reason when it comes to nothing. */
  triggerCheckpoint(): Promise<CompletedCheckpoint> {
    return this.#checkpoints.request({ kind: 'checkpoint', targetDirectory: null, stop: null });
  }

  /**
   * Takes a savepoint into a new folder in `directory` (a path or a `file:` URI; `null`: the
   * configured one) while the job goes on; rejected with the reason when it comes to nothing.
   */
  async triggerSavepoint(directory: string | null): Promise<CompletedCheckpoint> {
    const targetDirectory = this.#savepointDirectory(directory);
    return this.#checkpoints.request({ kind: 'savepoint', targetDirectory, stop: null });
  }

  /**
   * Ends the job with a savepoint, from which it can go on. Resolves when the job is FINISHED.
   * Rejected: before the savepoint was complete, and the job goes on; or after, naming the path,
   * and the job is FAILED.
   */
  async stopWithSavepoint(stop: StopMode, directory: string | null): Promise<CompletedCheckpoint> {
    const targetDirectory = this.#savepointDirectory(directory);
    const wanted = { kind: 'savepoint', targetDirectory, stop } as const;
    const savepoint = await this.#checkpoints.request(wanted);
    const { status, error } = await this.ended;
    if (status === 'FINISHED') return savepoint;
    throw fromErrorInfo(error ?? stopIncomplete(savepoint, `the job is ${status}`));
  }

  /** The thread of these slots died. */
  slotsLost(slots: readonly number[], error: unknown): void {
    this.#handle({ type: 'slotsLost', slots, error: toErrorInfo(error) });
  }

  /** A message from a task. */
  receive(message: JobManagerMessage): void {
    if (message.type === 'taskMetrics') {
      const present = message.metrics.filter(({ execution }) => this.#job.isPresent(execution));
      this.#history.metricsReported(present);
      return this.#options.listener.metrics(present);
    }
    if (message.type === 'taskStateChanged') return this.#taskStateChanged(message);
    if (message.type === 'enumeratorEvent') {
      const { execution, operatorId, event } = message;
      if (this.#job.isPresent(execution))
        this.#deployer.sources.get(operatorId)?.handle(execution.subtask, event);
      return;
    }
    this.#checkpoints.receive(message);
  }

  #savepointDirectory(asked: string | null): string {
    const { savepointDirectory: configured, workingDirectory } = this.#options;
    return savepointDirectory(asked, configured, workingDirectory);
  }

  /** From here on the job ends, one way or the other. */
  #stopping(savepoint: CompletedCheckpoint): void {
    this.#stopSavepoint = savepoint;
    if (this.#job.status === 'RUNNING' && this.#job.isAllRunning) return;
    const cause = this.#lastFailure?.message ?? `the job is ${this.#job.status}`;
    this.#handle({ type: 'failFinally', error: stopIncomplete(savepoint, cause) });
  }

  #taskStateChanged(message: Extract<JobManagerMessage, { type: 'taskStateChanged' }>): void {
    const isPresent = this.#job.isPresent(message.execution);
    this.#handle(message);
    if (isPresent && message.state === 'FINISHED')
      this.#checkpoints.taskFinished(message.execution);
    this.#startCheckpointsWhenRunning();
  }

  /** Every task runs for the first time, or again: periodic checkpoints begin. */
  #startCheckpointsWhenRunning(): void {
    if (this.#job.status === 'RUNNING' && this.#job.isAllRunning) this.#checkpoints.start();
  }

  /** An event that comes while effects are carried out (a listener cancels) waits for its turn. */
  #handle(event: JobEvent): void {
    this.#events.push(event);
    if (this.#isHandling) return;
    this.#isHandling = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        const failure = this.#failureOf(next);
        if (failure !== null) this.#handleNow(failure);
        this.#handleNow(next);
      }
    } finally {
      this.#isHandling = false;
    }
  }

  #handleNow(event: JobEvent): void {
    const { clock, random } = this.#options;
    const moment = { now: clock.now(), draw: random.next() };
    const effects = this.#job.handle(event, moment);
    this.#history.update(this.#job.executions());
    for (const effect of effects) this.#apply(effect);
  }

  /** Once the savepoint that stops the job is complete, whatever fails fails the job for good. */
  #failureOf(event: JobEvent): JobEvent | null {
    const savepoint = this.#stopSavepoint;
    if (savepoint === null) return null;
    if (event.type === 'taskStateChanged') {
      if (event.state !== 'FAILED' || !this.#job.isPresent(event.execution)) return null;
    } else if (event.type !== 'failGlobally' && event.type !== 'slotsLost') return null;
    const cause = event.error?.message ?? 'a task failed';
    return { type: 'failFinally', error: stopIncomplete(savepoint, cause) };
  }

  #apply(effect: JobEffect): void {
    switch (effect.type) {
      case 'jobStatusChanged':
        return this.#statusChanged(effect.status, effect.error);
      case 'failover':
        this.#lastFailure = effect.error;
        this.#pendingTasks = effect.restarting.length;
        this.#checkpoints.tasksFailed([...effect.failed, ...effect.restarting]);
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
    this.#history.statusChanged(status);
    if (status !== 'RUNNING') this.#checkpoints.stop();
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
      await this.#checkpoints.settled();
      const { latestCompleted: latest, lastId } = this.#checkpoints;
      const restored = await this.#deployer.deploy(effect, { latest, lastId });
      if (restored !== null) this.#statistics.restored(restored);
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
      await this.#checkpoints.settled();
      const isFenced = error?.kind === 'fenced';
      if (status === 'FINISHED' || status === 'CANCELED' || (status === 'FAILED' && !isFenced)) {
        // The mark comes first: what is then deleted is never needed for a resume.
        const savepoint = this.#stopSavepoint?.directory ?? null;
        await this.#options.persistence.ended(status, savepoint);
        await this.#checkpoints.runEnded(status);
      } else {
        await this.#checkpoints.runEnded('SUSPENDED');
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

function stopIncomplete(
  { checkpointId, directory }: CompletedCheckpoint,
  cause: string,
): ErrorInfo {
  return toErrorInfo(
    new WeirError(
      'transient',
      `savepoint ${checkpointId}, which was to stop the job, is complete in ${directory}, but ` +
        `the job did not finish: ${cause}; the savepoint is consistent, but may hold ` +
        `transactions that are not committed: start from it with -s ${directory}`,
      { code: 'STOP_INCOMPLETE', details: { path: directory, checkpointId } },
    ),
  );
}
