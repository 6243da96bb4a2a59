/**
 * All checkpoints between their id and their end: collects acknowledgements, aborts, has them made
 * durable one after the other, stores them and drops older ones. The part of the coordinator that
 * decides whether a checkpoint exists; when one is begun is decided in `checkpoint-coordinator.ts`.
 */
import { assert } from '../../base/assert.ts';
import type { JobId } from '../../base/ids.ts';
import type { SubtaskSnapshot } from '../snapshot.ts';
import { findBrokenChannel } from './channel-cut.ts';
import type { CheckpointCoordinatorConfig } from './checkpoint-config.ts';
import type { CheckpointScheduler } from './checkpoint-scheduler.ts';
import type {
  CompletedCheckpoint,
  CompletedCheckpointStore,
} from './completed-checkpoint-store.ts';
import type { AcknowledgedSubtask, CoordinatorEffect, EventOf } from './coordinator-messages.ts';
import { expiryMessage } from './expiry-message.ts';
import { CheckpointFailureCounter } from './failure-counter.ts';
import type { CheckpointFailure } from './failure-reasons.ts';
import type { JobTopology } from './job-topology.ts';
import type { Acknowledgement, PendingCheckpoint } from './pending-checkpoint.ts';
import { assembleMetadata, findPartlyFinishedUnion } from './snapshot-assembly.ts';

export interface PendingCheckpointsOptions {
  readonly config: CheckpointCoordinatorConfig;
  readonly jobId: JobId;
  readonly topology: JobTopology;
  readonly scheduler: CheckpointScheduler;
  readonly store: CompletedCheckpointStore;
  readonly emit: (effect: CoordinatorEffect) => void;
}

const EXPIRY_TIMER = 'expire-';
/** Aborted checkpoints remembered, so that late acknowledgements can be cleaned up after. */
const ABORTED_MAX = 100;

export class PendingCheckpoints {
  readonly #options: PendingCheckpointsOptions;
  readonly #failures: CheckpointFailureCounter;
  /** By id. Ids rise, so in their order. */
  readonly #pending = new Map<number, PendingCheckpoint>();
  /** Directories of aborted checkpoints by id. */
  readonly #aborted = new Map<number, string>();
  /** Checkpoints whose files are being removed. */
  readonly #cleaning = new Set<number>();
  #lastCompletionAt = -Infinity;

  constructor(options: PendingCheckpointsOptions) {
    this.#options = options;
    this.#failures = new CheckpointFailureCounter(options.config.tolerableFailedCheckpoints);
  }

  /** In the order of their ids. */
  get all(): readonly PendingCheckpoint[] {
    return [...this.#pending.values()];
  }

  get isFinalising(): boolean {
    return this.all.some((pending) => pending.state === 'finalising');
  }

  get cleaningCount(): number {
    return this.#cleaning.size;
  }

  /** Monotonic milliseconds; -Infinity if none completed. */
  get lastCompletionAt(): number {
    return this.#lastCompletionAt;
  }

  get(checkpointId: number): PendingCheckpoint | undefined {
    return this.#pending.get(checkpointId);
  }

  add(pending: PendingCheckpoint): void {
    const { checkpointId, kind, timestamp, plan, startedAt, stopsJob } = pending;
    this.#pending.set(checkpointId, pending);
    const facts = { checkpointId, kind, timestamp, stopsJob, executions: plan.tasksToWaitFor };
    this.#options.emit({ type: 'checkpointStarted', ...facts });
    const at = startedAt + this.#options.config.timeoutMs;
    this.#options.emit({ type: 'setTimer', timerId: EXPIRY_TIMER + checkpointId, at });
  }

  // ─── Acknowledge ───

  onAcknowledged(event: EventOf<'acknowledged'>): void {
    const { execution, checkpointId, snapshot, metrics, now } = event;
    const pending = this.#pending.get(checkpointId);
    if (pending === undefined) {
      // Only what is known to be aborted is removed: a repeated acknowledgement of a completed
      // checkpoint names files that are part of it.
      this.#discardSnapshot(checkpointId, this.#aborted.get(checkpointId) ?? null, snapshot);
      return;
    }
    const result = pending.acknowledge({ execution, snapshot, metrics, at: now });
    if (result === 'unknown') this.#discardSnapshot(checkpointId, pending.directory, snapshot);
    if (result !== 'success') return;
    const acknowledged = forPeople({ execution, snapshot, metrics, at: now }, pending.startedAt);
    this.#options.emit({ type: 'subtaskAcknowledged', checkpointId, acknowledged });
    this.completeIfAcknowledged(pending, now);
  }

  onDeclined({ execution, checkpointId, reason, error, now }: EventOf<'declined'>): void {
    const pending = this.#pending.get(checkpointId);
    if (pending === undefined || !pending.awaits(execution)) return;
    const cause = error === null ? '' : `: ${error.message}`;
    const message = `${this.#options.topology.nameOf(execution)} declined it (${reason})${cause}`;
    this.abort(pending, now, { reason, message });
  }

  /** With nobody to wait for, since every task has finished, this is at once. */
  completeIfAcknowledged(pending: PendingCheckpoint, now: number): void {
    if (!pending.isFullyAcknowledged) return;
    const { config, topology, emit } = this.#options;
    pending.moveTo('acknowledged');
    emit({ type: 'cancelTimer', timerId: EXPIRY_TIMER + pending.checkpointId });
    const union = findPartlyFinishedUnion(pending, topology);
    if (union !== null)
      return this.abort(pending, now, { reason: 'DECLINED_TASK_CLOSING', message: union });
    const snapshots = [...pending.acknowledgements.values()].map(({ snapshot }) => snapshot);
    const broken = findBrokenChannel(topology, snapshots, config.mode);
    if (broken !== null) {
      const message = `its snapshots do not fit together, which is a bug of Weir: ${broken}`;
      return this.abort(pending, now, { reason: 'FINALIZE_CHECKPOINT_FAILURE', message });
    }
    this.#finaliseNext();
  }

  #finaliseNext(): void {
    if (this.isFinalising) return;
    const pending = this.all.find(({ state }) => state === 'acknowledged');
    if (pending === undefined) return;
    const { checkpointId, directory } = pending;
    assert(directory !== null, `checkpoint ${checkpointId} has no directory`);
    pending.moveTo('finalising');
    const { jobId, topology, emit } = this.#options;
    const metadata = assembleMetadata(pending, jobId, topology);
    const { stopsJob } = pending;
    emit({ type: 'finalise', checkpointId, directory, metadata, stopsJob });
  }

  // ─── Complete ───

  onFinalised({ checkpointId, sizeBytes, now }: EventOf<'finalised'>): void {
    const pending = this.#pending.get(checkpointId);
    if (pending === undefined) return;
    pending.moveTo('completed');
    this.#pending.delete(checkpointId);
    this.#lastCompletionAt = now;
    this.#failures.succeeded(checkpointId);
    const checkpoint = completedFrom(pending, sizeBytes);
    // Nobody commits for any other savepoint, and none is restored from by failover.
    if (pending.kind === 'checkpoint' || pending.stopsJob) this.#publish(pending, checkpoint, now);
    this.#reportEnd(pending, now, null);
    const { requestId } = pending.request;
    if (requestId !== null) this.#options.emit({ type: 'requestCompleted', requestId, checkpoint });
    this.#finaliseNext();
  }

  /** Stores it, and only then removes older ones and tells the tasks. */
  #publish(pending: PendingCheckpoint, checkpoint: CompletedCheckpoint, now: number): void {
    const { store, scheduler, emit } = this.#options;
    const { checkpointId, plan } = pending;
    const subsumed = store.add(checkpoint);
    for (const older of subsumed) this.discardCompleted(older);
    for (const older of this.all)
      if (older.checkpointId < checkpointId && older.kind === 'checkpoint')
        this.abort(older, now, {
          reason: 'CHECKPOINT_SUBSUMED',
          message: `checkpoint ${checkpointId} completed first`,
        });
    const ended = [...pending.acknowledgements].filter(([, { snapshot }]) => snapshot.finished);
    scheduler.forget(pending.endsFor);
    scheduler.forget(ended.map(([key]) => key));
    scheduler.checkpointCompleted();
    const subsumedId = subsumed.at(-1)?.checkpointId ?? null;
    emit({
      type: 'notifyComplete',
      executions: plan.tasksToCommitTo,
      checkpointId,
      subsumedId,
    });
  }

  onFinaliseFailed({ checkpointId, error, now }: EventOf<'finaliseFailed'>): void {
    const pending = this.#pending.get(checkpointId);
    if (pending === undefined) return;
    assert(pending.state === 'finalising', `checkpoint ${checkpointId} is not being finalised`);
    const message = `its metadata could not be written: ${error.message}`;
    this.abort(pending, now, { reason: 'FINALIZE_CHECKPOINT_FAILURE', message });
    this.#finaliseNext();
  }

  // ─── Abort ───

  onExpiryTimer({ timerId, now }: EventOf<'timer'>): void {
    assert(timerId.startsWith(EXPIRY_TIMER), `there is no timer ${timerId}`);
    const pending = this.#pending.get(Number(timerId.slice(EXPIRY_TIMER.length)));
    // Once all have acknowledged, nobody is late any more.
    if (pending?.state !== 'created' && pending?.state !== 'triggered') return;
    const at = pending.startedAt + this.#options.config.timeoutMs;
    if (now < at) return this.#options.emit({ type: 'setTimer', timerId, at });
    const message = expiryMessage(pending, this.#options.topology, now);
    this.abort(pending, now, { reason: 'CHECKPOINT_EXPIRED', message });
  }

  /** A task that has ended will not acknowledge any more, so waiting for it is pointless. */
  onTaskFinished({ execution, now }: EventOf<'taskFinished'>): void {
    const message = `${this.#options.topology.nameOf(execution)} finished before it acknowledged`;
    for (const pending of this.all)
      if (pending.awaits(execution))
        this.abort(pending, now, { reason: 'DECLINED_TASK_CLOSING', message });
  }

  /** All but one that is being finalised. */
  abortAll(now: number, failure: CheckpointFailure): void {
    for (const pending of this.all)
      if (pending.state !== 'finalising') this.abort(pending, now, failure);
  }

  abort(pending: PendingCheckpoint, now: number, failure: CheckpointFailure): void {
    const { store, scheduler, emit } = this.#options;
    const { checkpointId, directory, isKnownToTasks, request } = pending;
    const { reason, message } = failure;
    pending.moveTo('aborted');
    this.#pending.delete(checkpointId);
    emit({ type: 'cancelTimer', timerId: EXPIRY_TIMER + checkpointId });
    if (directory !== null) this.discardPending(checkpointId, directory);
    if (isKnownToTasks) {
      const executions = pending.plan.tasksToCommitTo;
      const latestCompletedId = store.latest?.checkpointId ?? 0;
      emit({ type: 'notifyAborted', executions, checkpointId, latestCompletedId, reason });
    }
    this.#reportEnd(pending, now, failure);
    const { requestId } = request;
    if (requestId !== null) emit({ type: 'requestFailed', requestId, reason, message });
    if (pending.stopsJob) scheduler.resume(now);
    if (reason !== 'CHECKPOINT_SUBSUMED') scheduler.checkpointFailed(now);
    // What befalls a savepoint concerns only who asked for it: its folder may be on a full disk,
    // while that of checkpoints is not. What cannot be snapshotted at all shows at the next one.
    if (pending.kind === 'checkpoint') this.countFailure(failure, checkpointId);
  }

  /** `checkpointId` is `null` when a trigger failed before it had one. */
  countFailure({ reason, message }: CheckpointFailure, checkpointId: number | null): void {
    if (!this.#failures.failed(reason, checkpointId)) return;
    const tolerated = this.#options.config.tolerableFailedCheckpoints;
    const which = checkpointId === null ? 'the last one' : `the last one, ${checkpointId},`;
    const text =
      `${tolerated + 1} checkpoints failed in a row, and execution.checkpointing.` +
      `tolerable-failed-checkpoints is ${tolerated}; ${which} failed: ${message}`;
    this.#options.emit({ type: 'failJob', checkpointId, reason, message: text });
  }

  // ─── Discard ───

  discardPending(checkpointId: number, directory: string): void {
    this.#aborted.set(checkpointId, directory);
    const oldest = this.#aborted.keys().next();
    if (this.#aborted.size > ABORTED_MAX && oldest.done !== true)
      this.#aborted.delete(oldest.value);
    this.#cleaning.add(checkpointId);
    this.#options.emit({ type: 'discardPending', checkpointId, directory });
  }

  discardCompleted(checkpoint: CompletedCheckpoint): void {
    if (!checkpoint.isOwned) return;
    this.#cleaning.add(checkpoint.checkpointId);
    this.#options.emit({ type: 'discardCheckpoint', checkpoint });
  }

  onDiscarded({ checkpointId }: EventOf<'discarded'>): void {
    this.#cleaning.delete(checkpointId);
  }

  #discardSnapshot(
    checkpointId: number,
    directory: string | null,
    snapshot: SubtaskSnapshot,
  ): void {
    if (directory === null || snapshot.data?.kind !== 'file') return;
    this.#options.emit({ type: 'discardSnapshot', checkpointId, directory, snapshot });
  }

  #reportEnd(pending: PendingCheckpoint, now: number, failure: CheckpointFailure | null): void {
    const { checkpointId, kind, startedAt, acknowledgements } = pending;
    this.#options.emit({
      type: 'checkpointEnded',
      checkpointId,
      kind,
      failure: failure === null ? null : { reason: failure.reason, message: failure.message },
      durationMs: now - startedAt,
      acknowledged: [...acknowledgements.values()].map((it) => forPeople(it, startedAt)),
    });
  }
}

function forPeople(
  { execution, metrics, snapshot, at }: Acknowledgement,
  startedAt: number,
): AcknowledgedSubtask {
  return { execution, metrics, sizeBytes: snapshot.sizeBytes, latencyMs: at - startedAt };
}

function completedFrom(pending: PendingCheckpoint, sizeBytes: number): CompletedCheckpoint {
  const { checkpointId, kind, directory, timestamp, stopsJob } = pending;
  assert(directory !== null, `checkpoint ${checkpointId} has no directory`);
  return {
    checkpointId,
    kind,
    stopsJob,
    directory,
    triggeredAt: timestamp,
    sizeBytes,
    isOwned: kind === 'checkpoint',
  };
}
