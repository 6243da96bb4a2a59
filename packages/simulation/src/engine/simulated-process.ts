/**
 * `weir run` in a simulated process: the second composition root. The engine's own parts, built by
 * the constructors that cluster/local-run.ts uses, on a simulated platform.
 */
import { messageOf } from '@weir/core/internal/base/errors';
import type { Logger } from '@weir/core/internal/base/logger';
import { createJobMaster } from '@weir/core/internal/jobmanager/create-job-master';
import type { JobMaster, JobMasterListener } from '@weir/core/internal/jobmanager/job-master';
import { requireSamePlan } from '@weir/core/internal/jobmanager/prepare-run';
import type { PreparedJob } from '@weir/core/internal/jobmanager/prepare-run';
import { openRunState } from '@weir/core/internal/jobmanager/run-state';
import type { Ownership, RunState } from '@weir/core/internal/jobmanager/run-state';
import type { JobStatus, StopMode } from '@weir/core/internal/protocol/messages';
import { taskSettings } from '@weir/core/internal/taskmanager/task/task-settings';
import type { Life } from '../world/life.ts';
import type { SimulatedClock } from '../world/simulated-clock.ts';
import type { Machine } from './machine.ts';
import { SimulatedSlots } from './simulated-slots.ts';

export const DATA_DIRECTORY = '/data';

export interface SimulatedProcessOptions {
  readonly machine: Machine;
  readonly life: Life;
  /** Arguments of the job. */
  readonly arguments: readonly string[];
  /** Compiles the job with the parallelism of the process. */
  prepare(): PreparedJob;
  /** Builds it once more, for another attempt of a task. */
  rebuild(known: PreparedJob): PreparedJob;
  readonly ownership: Ownership;
  /** `-s`: the snapshot that a new run starts from. */
  readonly restorePath?: string;
  /** The process leads the job, and has not begun to run it. */
  leads?(): void;
  ended(how: ProcessEnd): void;
}

export interface ProcessEnd {
  readonly status: JobStatus | 'ALREADY_FINISHED' | 'REFUSED';
  readonly message: string;
}

export class SimulatedProcess {
  readonly life: Life;
  readonly #options: SimulatedProcessOptions;
  readonly #clock: SimulatedClock;
  #master: JobMaster | null = null;
  #slots: SimulatedSlots | null = null;

  constructor(options: SimulatedProcessOptions) {
    this.#options = options;
    this.life = options.life;
    this.#clock = options.machine.clockOf(options.life);
  }

  get slotCount(): number {
    return this.#slots?.slotCount ?? 0;
  }

  get status(): string {
    return this.#master?.status ?? 'STARTING';
  }

  /** What its tasks wait for. */
  describeWaiting(): readonly string[] {
    return this.#slots?.describeWaiting() ?? [];
  }

  start(): void {
    this.#run().then(
      (end) => this.#options.ended(end),
      (error: unknown) => this.#options.ended({ status: 'REFUSED', message: messageOf(error) }),
    );
  }

  killSlot(slot: number): void {
    this.#slots?.kill(slot);
  }

  /** SIGTERM. */
  suspend(): void {
    this.#master?.suspend();
  }

  /** Takes a savepoint, or stops the job with one; `null`: it leads no job at the moment. */
  savepoint(stop: StopMode | null, directory: string): Promise<{ directory: string }> | null {
    if (this.#master === null) return null;
    if (stop === null) return this.#master.triggerSavepoint(directory);
    return this.#master.stopWithSavepoint(stop, directory);
  }

  async #run(): Promise<ProcessEnd> {
    const { machine, life, ownership } = this.#options;
    const { world } = machine;
    const prepared = this.#options.prepare();
    requireSamePlan(this.#options.prepare().jobGraph, prepared.jobGraph.planHash);
    const fileSystem = machine.fileSystemOf(life);
    const warn = (message: string): void => world.note(life.name, message);
    const state = await openRunState(
      {
        clock: this.#clock,
        fileSystem,
        random: world.random(`state ${life.name}`),
        ownership,
        workingDirectory: '/',
        arguments: this.#options.arguments,
        jobId: null,
        restorePath: this.#options.restorePath ?? null,
        allowNonRestored: false,
        fresh: false,
        append: false,
        dataDirectory: DATA_DIRECTORY,
        warn,
        describePositions: () => Promise.resolve(''),
      },
      prepared,
    );
    if (state.type === 'alreadyEnded')
      return { status: 'ALREADY_FINISHED', message: state.message };
    world.note(life.name, state.startLine);
    machine.observer.runStarted(state);
    this.#options.leads?.();
    try {
      return await this.#lead(prepared, state);
    } finally {
      await state.close();
    }
  }

  async #lead(
    prepared: PreparedJob,
    state: Extract<RunState, { type: 'run' }>,
  ): Promise<ProcessEnd> {
    const { machine, life } = this.#options;
    const { world } = machine;
    const logger: Logger = {
      log: (level, message) => world.note(life.name, `${level}: ${message}`),
    };
    const master = createJobMaster(
      {
        clock: this.#clock,
        random: world.random(`jobmanager ${life.name}`),
        fileSystem: machine.fileSystemOf(life),
        logger,
        listener: this.#listener(state.epoch),
        send: (slot, message) => slots.send(slot, message),
      },
      prepared,
      state,
    );
    const slots = new SimulatedSlots({
      machine,
      process: life,
      jobId: state.jobId,
      slotCount: state.slotCount,
      settings: {
        ...taskSettings(prepared.configuration),
        freezeState: true,
        ...(machine.moods.shortcuts?.plainChains === true ? { generatesChains: false } : {}),
      },
      logger,
      buildJob: () => this.#options.rebuild(prepared),
      received: (message) => master.receive(message),
      lost: (slot, error) => master.slotsLost([slot], error),
    });
    this.#slots = slots;
    this.#master = master;
    try {
      master.start();
      const { status, error } = await master.ended;
      return { status, message: error?.message ?? '' };
    } finally {
      slots.close();
    }
  }

  #listener(epoch: number): JobMasterListener {
    const { machine, life } = this.#options;
    const { world, observer } = machine;
    return {
      statusChanged: (status, error) => {
        world.note(life.name, `job ${status} ${error?.message ?? ''}`);
        if (status === 'FAILED' && error !== null) observer.jobFailed(epoch, error);
      },
      restarting: ({ error, delayMs, tasks }) => {
        world.note(life.name, `restarting ${tasks} tasks in ${delayMs} ms: ${error.message}`);
        observer.failed(epoch, error);
      },
      checkpointCompleted: ({ checkpointId, directory }) => {
        world.note(life.name, `checkpoint ${checkpointId} complete`);
        observer.checkpointCompleted(epoch, checkpointId, directory);
      },
      checkpointFailed: ({ checkpointId, reason, message }) => {
        world.note(life.name, `checkpoint ${checkpointId} failed: ${reason} ${message}`);
        observer.checkpointFailed(checkpointId, message);
      },
      metrics: () => undefined,
    };
  }
}
