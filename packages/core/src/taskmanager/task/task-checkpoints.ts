/**
 * A task's part in checkpoints: feeds the barrier machine, and carries out what it decides. A
 * snapshot is one synchronous step between two frames: barrier to every output, operator state and
 * keyed state taken as they are; writing it out goes on beside the records. The checkpoint is
 * acknowledged when the data is durable and every sink has made durable what it promises.
 */
import type { Timer } from '../../base/clock.ts';
import { messageOf, toErrorInfo } from '../../base/errors.ts';
import { MIN_WATERMARK } from '../../base/records.ts';
import type { InputChannel } from '../../network/input-channel.ts';
import type { BarrierEffect, BarrierHandler } from '../../protocol/barrier/barrier-handler.ts';
import { createBarrierHandler } from '../../protocol/barrier/barrier-handler.ts';
import type { CheckpointTrigger, DeclineReason, TaskDeployment } from '../../protocol/messages.ts';
import type { InputChannelSnapshot, OutputChannelSnapshot } from '../../protocol/snapshot.ts';
import {
  dataFileName,
  SubtaskSnapshotWriter,
} from '../../state/snapshot/subtask-snapshot-writer.ts';
import type { Subtask } from './build-subtask.ts';
import type { TaskEnvironment } from './task-environment.ts';
import type { WatermarkValve } from './watermark-valve.ts';

/** What the task answers to its checkpoints. */
export interface CheckpointedTask {
  /** All records are handled and the end of data was sent. */
  hasEnded(): boolean;
  /** A savepoint ended the data, not the source: when restored, the task reads on. */
  isDrained(): boolean;
  /** The savepoint that ended the channel's data; 0: it ended by itself; null: it goes on. */
  endOf(channel: number): number | null;
  /** Nothing may happen after this snapshot unless its savepoint fails. */
  suspend(checkpointId: number): void;
  /** No record or watermark is half handled. */
  canSnapshot(): boolean;
  fail(error: unknown): void;
}

export interface TaskCheckpointsOptions {
  readonly environment: TaskEnvironment;
  readonly deployment: TaskDeployment;
  readonly subtask: Subtask;
  readonly valve: WatermarkValve;
  readonly task: CheckpointedTask;
}

interface RunningSnapshot {
  readonly checkpointId: number;
  readonly writer: SubtaskSnapshotWriter;
  /** Positions of the channels at the cut. */
  readonly inputs: readonly InputChannelSnapshot[];
  readonly outputs: readonly OutputChannelSnapshot[];
  readonly durables: readonly Promise<void>[];
  readonly finished: boolean;
  readonly alignmentMs: number;
  readonly startDelayMs: number;
  readonly startedAt: number;
  cancelled: boolean;
}

const FRESH_CHANNEL = { watermark: MIN_WATERMARK, idle: false };

export class TaskCheckpoints {
  readonly #options: TaskCheckpointsOptions;
  readonly #barriers: BarrierHandler;
  readonly #running = new Map<number, RunningSnapshot>();
  readonly #yields = new Set<Timer>();
  #deferred: CheckpointTrigger[] = [];
  #finalId: number | null = null;
  #isClosed = false;

  constructor(options: TaskCheckpointsOptions) {
    this.#options = options;
    const { settings } = options.environment;
    this.#barriers = createBarrierHandler(settings.checkpointingMode ?? 'EXACTLY_ONCE', {
      channels: (options.subtask.gate?.channels ?? []).map((channel) => channel.index),
      ignoreUpTo: options.deployment.ignoreUpTo,
      checkpointsAfterTasksFinish: settings.checkpointsAfterTasksFinish,
    });
  }

  /** Whether the task may end once this checkpoint is complete: it holds the last results. */
  isFinal(checkpointId: number): boolean {
    return this.#finalId !== null && checkpointId >= this.#finalId;
  }

  barrier(channel: InputChannel, trigger: CheckpointTrigger): void {
    const now = this.#now();
    this.#apply(this.#barriers.handle({ type: 'barrier', channel: channel.index, trigger, now }));
  }

  cancelled(channel: InputChannel, checkpointId: number): void {
    const event = { type: 'cancel', channel: channel.index, checkpointId } as const;
    this.#apply(this.#barriers.handle(event));
  }

  endOfPartition(channel: InputChannel): void {
    const event = { type: 'endOfPartition', channel: channel.index, now: this.#now() } as const;
    this.#apply(this.#barriers.handle(event));
  }

  /** The JobManager triggers this task itself. Waits until nothing is half handled. */
  triggered(trigger: CheckpointTrigger): void {
    this.#deferred.push(trigger);
    this.runDeferred();
  }

  runDeferred(): void {
    while (this.#deferred.length > 0 && this.#options.task.canSnapshot()) {
      const trigger = this.#deferred.shift() as CheckpointTrigger;
      this.#apply(this.#barriers.handle({ type: 'triggered', trigger, now: this.#now() }));
    }
  }

  aborted(checkpointId: number): void {
    this.#deferred = this.#deferred.filter((trigger) => trigger.checkpointId !== checkpointId);
    this.#stop(checkpointId);
    for (const partition of this.#options.subtask.partitions) partition.abort(checkpointId);
    this.#apply(this.#barriers.handle({ type: 'aborted', checkpointId }));
  }

  close(): void {
    this.#isClosed = true;
    for (const checkpointId of this.#running.keys()) this.#stop(checkpointId);
    for (const timer of this.#yields) timer.cancel();
  }

  #apply(effects: readonly BarrierEffect[]): void {
    const { subtask } = this.#options;
    for (const effect of effects) {
      switch (effect.type) {
        case 'block':
          subtask.gate?.block(this.#channel(effect.channel));
          break;
        case 'unblock':
          for (const channel of effect.channels) subtask.gate?.unblock(this.#channel(channel));
          break;
        case 'snapshot':
          this.#snapshot(effect.trigger, effect.alignmentStart);
          break;
        case 'broadcastCancel':
          for (const partition of subtask.partitions)
            partition.broadcastCancel(effect.checkpointId);
          break;
        case 'decline':
          this.#decline(effect.checkpointId, effect.reason, new Error(effect.message));
          break;
      }
    }
  }

  #snapshot(trigger: CheckpointTrigger, alignmentStart: number): void {
    const { environment, deployment, subtask, valve, task } = this.#options;
    const { checkpointId } = trigger;
    const startedAt = this.#now();
    subtask.gate?.consumed();
    const positions = subtask.gate?.positions(checkpointId) ?? [];
    // With barriers that are only counted the task may have gone on: what it found behind the mark,
    // the end too, comes again after a restore.
    const isPast = positions.map(
      ({ mark }, index) => (subtask.gate?.channels[index]?.k ?? 0) > mark,
    );
    const hasEnded = task.hasEnded() && !isPast.includes(true);
    const finished = hasEnded && !task.isDrained();
    if (hasEnded) this.#finalId ??= checkpointId;
    const stops = trigger.options.kind === 'suspend';
    const outputs = subtask.partitions.flatMap((partition) => partition.broadcastBarrier(trigger));
    const inputs = positions.map((position, index): InputChannelSnapshot => {
      const end = task.endOf(index);
      // What a drained channel came to at its end does not hold for who reads on.
      const isFresh = isPast[index] === true || (end !== null && end !== 0);
      const { watermark, idle } = isFresh ? FRESH_CHANNEL : valve.stateOf(index);
      return { ...position, watermark, idle, endOfData: end === 0 && !isFresh, frames: [] };
    });
    const writer = new SubtaskSnapshotWriter(environment.fileSystem, environment.clock, {
      location: trigger.options.location,
      fileName: dataFileName(deployment.execution),
      inlineThresholdBytes: environment.settings.inlineThresholdBytes,
    });
    const durables: Promise<void>[] = [];
    for (const [index, operator] of subtask.chain.operators.entries()) {
      const durable = operator.prepareSnapshot(checkpointId, hasEnded, stops);
      if (durable !== null) {
        // Observed at once, so that an early rejection is not taken for an unhandled one.
        durable.catch(() => undefined);
        durables.push(durable);
      }
      const state = subtask.operatorStates[index];
      const { operatorId, uid, name, type } = operator.context.operator;
      writer.addOperator({
        operatorId,
        uid,
        name,
        type,
        keyed: state?.keyed ?? null,
        timers: state?.timers ?? null,
        operatorState: state?.states ?? null,
      });
    }
    const running: RunningSnapshot = {
      checkpointId,
      writer,
      inputs,
      outputs: outputs.map((output) => ({ ...output, frames: [] })),
      durables,
      finished,
      alignmentMs: Math.max(0, startedAt - alignmentStart),
      startDelayMs: Math.max(0, environment.clock.wallTime() - trigger.timestamp),
      startedAt,
      cancelled: false,
    };
    this.#running.set(checkpointId, running);
    if (trigger.options.kind === 'suspend' && !hasEnded) task.suspend(checkpointId);
    const syncMs = this.#now() - startedAt;
    void this.#finishSnapshot(running, syncMs);
  }

  async #finishSnapshot(running: RunningSnapshot, syncMs: number): Promise<void> {
    const { environment, deployment, task } = this.#options;
    const { checkpointId, writer } = running;
    try {
      await Promise.all(running.durables);
    } catch (error) {
      // What the sink was given is lost with it: only going back brings it again.
      if (!running.cancelled) task.fail(error);
      return;
    }
    try {
      if (running.cancelled) return;
      const written = await writer.finish(() => this.#yield());
      if (running.cancelled) return;
      this.#running.delete(checkpointId);
      environment.send({
        type: 'acknowledgeCheckpoint',
        execution: deployment.execution,
        checkpointId,
        snapshot: {
          ...deployment.execution,
          ...written,
          inputs: running.inputs,
          outputs: running.outputs,
          finished: running.finished,
        },
        metrics: {
          syncMs,
          asyncMs: this.#now() - running.startedAt - syncMs,
          alignmentMs: running.alignmentMs,
          startDelayMs: running.startDelayMs,
        },
      });
    } catch (error) {
      if (running.cancelled) return;
      this.#stop(checkpointId);
      this.#decline(checkpointId, 'CHECKPOINT_ASYNC_EXCEPTION', error);
    }
  }

  #stop(checkpointId: number): void {
    const running = this.#running.get(checkpointId);
    if (running === undefined) return;
    running.cancelled = true;
    this.#running.delete(checkpointId);
    running.writer.cancel().catch((error: unknown) => {
      const text = `data of aborted checkpoint ${checkpointId} is left behind: ${messageOf(error)}`;
      this.#options.environment.logger.log('debug', text);
    });
  }

  #decline(checkpointId: number, reason: DeclineReason, error: unknown): void {
    const { environment, deployment } = this.#options;
    environment.send({
      type: 'declineCheckpoint',
      execution: deployment.execution,
      checkpointId,
      reason,
      error: toErrorInfo(error),
    });
  }

  /** Between two slices of a snapshot the records have their turn. */
  #yield(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#options.environment.clock.defer('snapshot-slice', () => {
        this.#yields.delete(timer);
        resolve();
      });
      this.#yields.add(timer);
    });
  }

  #channel(index: number): InputChannel {
    return this.#options.subtask.gate?.channels[index] as InputChannel;
  }

  #now(): number {
    return this.#options.environment.clock.now();
  }
}
