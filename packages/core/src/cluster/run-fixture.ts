/**
 * For tests: a whole run, JobManager and tasks in one thread, on a clock that tests move and a disk
 * in memory.
 */
import type { Job } from '../api/job.ts';
import { ManualClock } from '../base/clock.ts';
import type { ConfigSettings } from '../base/config-options.ts';
import { Configuration } from '../base/configuration.ts';
import type { ErrorInfo } from '../base/errors.ts';
import type { Logger, LogLevel } from '../base/logger.ts';
import { seededRandom } from '../base/random.ts';
import { createExchange } from '../network/data-exchange.ts';
import type { JobStatus, TaskManagerMessage } from '../protocol/messages.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { ActiveOperator } from '../taskmanager/operators/active-operator.ts';
import { taskSettings } from '../taskmanager/task/task-settings.ts';
import { TaskExecutor } from '../taskmanager/task-executor.ts';
import { createJobMaster } from '../jobmanager/create-job-master.ts';
import type { JobMaster, JobMasterListener } from '../jobmanager/job-master.ts';
import { prepareJob } from '../jobmanager/prepare-run.ts';
import { openRunState } from '../jobmanager/run-state.ts';

export class TestRun {
  readonly clock: ManualClock = new ManualClock();
  readonly fileSystem: MemoryFileSystem;
  readonly logged: string[] = [];
  /** What the listener was told, a word or two each, with the time. */
  readonly told: { readonly at: number; readonly what: string }[] = [];
  readonly #random = seededRandom(1);
  readonly #job: Job;
  readonly #configuration: Configuration;
  #master: JobMaster | null = null;

  constructor(job: Job, config: ConfigSettings) {
    this.#job = job;
    this.#configuration = Configuration.of(config, 'test');
    this.fileSystem = new MemoryFileSystem(() => this.clock.wallTime());
  }

  get master(): JobMaster {
    if (this.#master === null) throw new Error('the run is not started');
    return this.#master;
  }

  get status(): JobStatus {
    return this.master.status;
  }

  /** When the listener was told this. */
  timesOf(what: string): number[] {
    return this.told.filter((it) => it.what === what).map(({ at }) => at);
  }

  /** Brings up the JobManager and one thread for all slots, and starts the run. */
  async start(): Promise<void> {
    const prepared = prepareJob(this.#job, { configuration: this.#configuration, arguments: [] });
    const { clock, fileSystem } = this;
    const logger: Logger = {
      log: (level: LogLevel, text: string) => void this.logged.push(`${level} ${text}`),
    };
    const opening = openRunState(
      {
        clock,
        fileSystem,
        random: this.#random,
        ownership: {
          self: { pid: 1, host: 'test', startedAt: 0, token: 'test' },
          livingOwner: () => Promise.resolve(null),
          holdLease: () => () => undefined,
        },
        workingDirectory: '/',
        arguments: [],
        jobId: null,
        restorePath: null,
        allowNonRestored: false,
        fresh: false,
        append: false,
        dataDirectory: '/data',
        warn: (message) => void this.logged.push(`warn ${message}`),
        describePositions: () => Promise.resolve(''),
      },
      prepared,
    );
    await this.settle();
    const state = await opening;
    if (state.type !== 'run') throw new Error(state.message);
    const executor = this.#createExecutor(prepared.configuration, logger);
    const platform = { clock, fileSystem, logger, random: this.#random };
    const send = (_slot: number, message: TaskManagerMessage): void => {
      const copy = structuredClone(message);
      clock.defer('message', () => executor.handle(copy));
    };
    this.#master = createJobMaster(
      { ...platform, listener: this.#listener(), send },
      prepared,
      state,
    );
    this.#master.start();
    await this.settle();
  }

  /** Lets everything run that is due within `ms`; what follows from it may be a step late. */
  async run(ms: number, stepMs = 20): Promise<void> {
    const until = this.clock.now() + ms;
    while (this.clock.now() < until) {
      this.clock.advance(Math.min(stepMs, until - this.clock.now()));
      await this.settle();
    }
  }

  /** Lets everything run that is due now. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 8; turn++) {
      for (let i = 0; i < 20; i++) await Promise.resolve();
      this.clock.advance(0);
    }
  }

  #createExecutor(configuration: Configuration, logger: Logger): TaskExecutor {
    const { clock, fileSystem } = this;
    const executor: TaskExecutor = new TaskExecutor({
      environment: {
        jobId: '1'.repeat(32) as never,
        clock,
        fileSystem,
        random: this.#random.derive('tasks'),
        logger,
        exchange: createExchange({
          threadId: 0,
          threadOfSlot: () => 0,
          onActivity: () => executor.wakeUp(),
        }),
        settings: taskSettings(configuration),
        active: new ActiveOperator(),
        buildJob: () =>
          prepareJob(this.#job, { configuration: this.#configuration, arguments: [] }),
        send: (message) => {
          const copy = structuredClone(message);
          clock.defer('message', () => this.master.receive(copy));
        },
      },
      stallWarningMs: 1000,
    });
    return executor;
  }

  #listener(): JobMasterListener {
    const tell = (what: string): void => void this.told.push({ at: this.clock.now(), what });
    return {
      statusChanged: (status: JobStatus, error: ErrorInfo | null) =>
        tell(error === null ? status : `${status} ${error.message}`),
      restarting: ({ delayMs }) => tell(`restart in ${Math.round(delayMs)}`),
      checkpointCompleted: () => tell('completed'),
      checkpointFailed: ({ reason }) => tell(`failed ${reason}`),
      metrics: () => undefined,
    };
  }
}
