/**
 * Brings executions to their slots: chooses what they restore, recovers sinks, resets enumerators,
 * and sends the deployments. All of it before the first task starts, since a task may read and
 * write as soon as it is there.
 */
import type { StreamGraph } from '../api/stream-graph.ts';
import type { Clock } from '../base/clock.ts';
import { errorKind, messageOf, WeirError } from '../base/errors.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { ExecutionRef, JobId, OperatorId, SubtaskKey } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import { channelsOf } from '../protocol/execution/channels.ts';
import type { Channel } from '../protocol/execution/channels.ts';
import { deploymentsOf } from '../protocol/execution/deployments.ts';
import type { JobEffect, JobExecution } from '../protocol/execution/job-execution.ts';
import { assignState } from '../protocol/execution/state-assignment.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { TaskManagerMessage, TaskRestore } from '../protocol/messages.ts';
import type { SlotLayout } from '../protocol/slots/slot-layout.ts';
import type { CoordinatorSnapshot, SnapshotKind } from '../protocol/snapshot.ts';
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import type { InitialRestore } from './job-master.ts';
import { recoverSinks } from './sink-recovery.ts';
import { SourceCoordinator } from './source-coordinator.ts';

export interface DeployerOptions {
  readonly jobId: JobId;
  readonly jobGraph: JobGraph;
  readonly streamGraph: StreamGraph;
  readonly clock: Clock;
  readonly random: Random;
  readonly fileSystem: FileSystem;
  readonly logger: Logger;
  readonly storage: CheckpointStorage;
  readonly slots: SlotLayout;
  readonly job: JobExecution;
  readonly initial: InitialRestore | null;
  readonly allowNonRestored: boolean;
  readonly allowOlder: boolean;
  sendTo(execution: ExecutionRef, message: TaskManagerMessage): void;
  /** The deployment of this execution is on its way. */
  deployed(execution: ExecutionRef): void;
  failGlobally(error: unknown): void;
}

/** What there is to restore from. */
export interface RestorePoint {
  readonly latest: CompletedCheckpoint | null;
  /** Highest checkpoint id drawn so far. */
  readonly lastId: number;
}

/** A snapshot that tasks were restored from. */
export interface RestoredSnapshot {
  readonly checkpointId: number;
  readonly kind: SnapshotKind;
  readonly directory: string;
}

interface Restores {
  readonly snapshot: RestoredSnapshot | null;
  /** With the maximum parallelism that the snapshot demands. */
  readonly jobGraph: JobGraph;
  readonly checkpointId: number;
  readonly restores: ReadonlyMap<SubtaskKey, TaskRestore>;
  readonly coordinators: ReadonlyMap<OperatorId, CoordinatorSnapshot>;
}

const NOTHING: Omit<Restores, 'jobGraph'> = {
  snapshot: null,
  checkpointId: 0,
  restores: new Map(),
  coordinators: new Map(),
};

export class Deployer {
  /** Present source coordinators by operator. */
  readonly sources: Map<OperatorId, SourceCoordinator> = new Map();
  readonly #options: DeployerOptions;
  readonly #channels: readonly Channel[];
  /** Restores of the snapshot used last: a region that restarts again need not read it again. */
  #cached: Restores | null = null;
  readonly #ending = new AbortController();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: DeployerOptions) {
    this.#options = options;
    this.#channels = channelsOf(options.jobGraph);
  }

  /**
   * Sends what is not outdated by then, and says so by `deployed`. One at a time. Resolves with
   * what it restored.
   */
  deploy(
    effect: Extract<JobEffect, { type: 'deploy' }>,
    point: RestorePoint,
  ): Promise<RestoredSnapshot | null> {
    const result = this.#queue.then(() => this.#deploy(effect, point));
    this.#queue = result.catch(() => undefined);
    return result;
  }

  /** A recovery of sinks whose system is away is given up; the next start begins with it. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#queue;
    await this.#closeSources();
  }

  async #deploy(
    { scope, executions }: Extract<JobEffect, { type: 'deploy' }>,
    point: RestorePoint,
  ): Promise<RestoredSnapshot | null> {
    const restored = await this.#restoresOf(point.latest);
    const present = executions.filter((execution) => this.#options.job.mayDeploy(execution));
    if (present.length === 0) return null;
    const { fileSystem, clock, random, logger } = this.#options;
    const environment = { fileSystem, clock, random, logger, signal: this.#ending.signal };
    await recoverSinks({ ...this.#options, environment }, present, restored.restores);
    if (scope === 'global') await this.#resetSources(restored);
    else this.#resetReaders(present, restored.checkpointId);
    const deployments = deploymentsOf(present, {
      jobGraph: restored.jobGraph,
      channels: this.#channels,
      slots: this.#options.slots,
      job: this.#options.job,
      restores: restored.restores,
      ignoreUpTo: point.lastId,
      lastCompletedCheckpointId: restored.checkpointId,
    });
    // An attempt may have been cancelled meanwhile; from here on it is told in the same turn.
    for (const deployment of deployments) {
      const { execution } = deployment;
      if (!this.#options.job.mayDeploy(execution)) continue;
      this.#options.sendTo(execution, { type: 'deployTask', deployment });
      this.#options.deployed(execution);
    }
    return restored.snapshot;
  }

  async #restoresOf(latest: CompletedCheckpoint | null): Promise<Restores> {
    const { initial, jobGraph } = this.#options;
    if (latest === null && initial === null) return { ...NOTHING, jobGraph };
    const id = latest?.checkpointId ?? initial?.metadata.checkpointId;
    if (this.#cached !== null && this.#cached.checkpointId === id) return this.#cached;
    const isInitial = latest === null || latest.checkpointId === initial?.metadata.checkpointId;
    const { metadata, directory } =
      isInitial && initial !== null ? initial : await this.#load(latest as CompletedCheckpoint);
    const assigned = assignState(metadata, jobGraph, {
      directory,
      // Within a run the graph stays as it is; the choice was made when the run started.
      allowNonRestored: this.#options.allowNonRestored,
      watchesTypes: isInitial && initial?.watchesTypes === true,
    });
    const { checkpointId, kind } = metadata;
    const snapshot = { checkpointId, kind, directory };
    this.#cached = { snapshot, checkpointId, ...assigned };
    return this.#cached;
  }

  /**
   * A completed checkpoint that is gone was removed by somebody else: no restart brings it back.
   */
  async #load({ checkpointId, directory }: CompletedCheckpoint): Promise<StoredSnapshot> {
    try {
      return await this.#options.storage.load(directory);
    } catch (error) {
      if (errorKind(error) !== 'user') throw error;
      throw new WeirError(
        'corrupt',
        `checkpoint ${checkpointId}, from which the job has to restart, is gone: ` +
          messageOf(error),
        { code: 'JOB_STATE_UNPROVEN', details: { path: directory }, cause: error },
      );
    }
  }

  async #resetSources(restored: Restores): Promise<void> {
    await this.#closeSources();
    for (const coordinator of this.#createSources(restored)) {
      this.sources.set(coordinator.operatorId, coordinator);
      coordinator.start();
    }
  }

  #createSources({ coordinators, checkpointId }: Restores): readonly SourceCoordinator[] {
    const { jobGraph, streamGraph, job } = this.#options;
    return jobGraph.vertices.flatMap((vertex) => {
      const operator = vertex.operators[0];
      const spec = streamGraph.nodes.find((node) => node.id === operator?.node)?.spec;
      if (operator === undefined || spec?.type !== 'source') return [];
      const { operatorId, uid } = operator;
      const coordinator = new SourceCoordinator(
        {
          ...this.#options,
          operatorId,
          uid,
          source: spec.source,
          parallelism: vertex.parallelism,
          send: (subtask, event) => {
            const execution = job.execution(vertex.id, subtask).ref;
            const message = { type: 'readerEvent', execution, operatorId, event } as const;
            this.#options.sendTo(execution, message);
          },
          fail: (error) => this.#options.failGlobally(error),
        },
        coordinators.get(operatorId) ?? null,
        checkpointId,
      );
      return [coordinator];
    });
  }

  #resetReaders(executions: readonly ExecutionRef[], checkpointId: number): void {
    for (const vertex of this.#options.jobGraph.vertices) {
      const coordinator = this.sources.get(vertex.operators[0]?.operatorId as OperatorId);
      const subtasks = executions
        .filter((execution) => execution.vertexId === vertex.id)
        .map((execution) => execution.subtask);
      if (coordinator !== undefined && subtasks.length > 0)
        coordinator.readersReset(subtasks, checkpointId);
    }
  }

  async #closeSources(): Promise<void> {
    const old = [...this.sources.values()];
    this.sources.clear();
    await Promise.all(old.map((coordinator) => coordinator.close()));
  }
}
