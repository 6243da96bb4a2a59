/**
 * A checkpoint from the moment it has an id until it is complete or aborted.
 *
 *     created ──► triggered ──► acknowledged ──► finalising ──► completed
 *        │            │              │               │
 *        └────────────┴──────────────┴───────────────┴────────► aborted
 *
 * - created: location and enumerators are seen to; no task knows of it
 * - triggered: tasks were told; acknowledgements come in
 * - acknowledged: all are there; it waits for its turn to be finalised
 * - finalising: being made durable. Only the answer to that decides: nothing else may abort it now,
 *   since it may already exist, and then its sinks' transactions are promised.
 */
import { assert } from '../../base/assert.ts';
import { isSameAttempt } from '../../base/ids.ts';
import type { ExecutionRef, SubtaskKey } from '../../base/ids.ts';
import type { SubtaskCheckpointMetrics } from '../messages.ts';
import type { CoordinatorSnapshot, SnapshotKind, SubtaskSnapshot } from '../snapshot.ts';
import type { CheckpointPlan } from './checkpoint-plan.ts';
import { keyOf } from './job-topology.ts';
import type { TriggerRequest } from './request-queue.ts';

export type PendingState =
  | 'created'
  | 'triggered'
  | 'acknowledged'
  | 'finalising'
  | 'completed'
  | 'aborted';

export const PENDING_TRANSITIONS: Readonly<Record<PendingState, readonly PendingState[]>> = {
  created: ['triggered', 'aborted'],
  triggered: ['acknowledged', 'aborted'],
  acknowledged: ['finalising', 'aborted'],
  finalising: ['completed', 'aborted'],
  completed: [],
  aborted: [],
};

export interface Acknowledgement {
  readonly execution: ExecutionRef;
  readonly snapshot: SubtaskSnapshot;
  readonly metrics: SubtaskCheckpointMetrics;
  /** Monotonic milliseconds. */
  readonly at: number;
}

export interface PendingCheckpointOptions {
  readonly checkpointId: number;
  readonly request: TriggerRequest;
  readonly plan: CheckpointPlan;
  /** Wall-clock milliseconds of the trigger, for people. */
  readonly timestamp: number;
  /** Monotonic milliseconds of the trigger. */
  readonly startedAt: number;
}

export class PendingCheckpoint {
  readonly checkpointId: number;
  readonly request: TriggerRequest;
  readonly plan: CheckpointPlan;
  readonly timestamp: number;
  readonly startedAt: number;
  /** `null` until the location is ready. */
  directory: string | null = null;
  coordinators: readonly CoordinatorSnapshot[] = [];
  /** Tasks that waited for a checkpoint to end with when this one was triggered. */
  endsFor: ReadonlySet<SubtaskKey> = new Set();
  readonly #expected: ReadonlyMap<SubtaskKey, ExecutionRef>;
  readonly #acknowledged = new Map<SubtaskKey, Acknowledgement>();
  #state: PendingState = 'created';

  constructor(options: PendingCheckpointOptions) {
    this.checkpointId = options.checkpointId;
    this.request = options.request;
    this.plan = options.plan;
    this.timestamp = options.timestamp;
    this.startedAt = options.startedAt;
    this.#expected = new Map(options.plan.tasksToWaitFor.map((task) => [keyOf(task), task]));
  }

  get state(): PendingState {
    return this.#state;
  }

  get kind(): SnapshotKind {
    return this.request.kind;
  }

  /** A savepoint with which the tasks finish: the one kind that they are told of. */
  get stopsJob(): boolean {
    return this.request.stop !== null;
  }

  /** Whether tasks have heard of it. */
  get isKnownToTasks(): boolean {
    return this.#state !== 'created';
  }

  get acknowledgements(): ReadonlyMap<SubtaskKey, Acknowledgement> {
    return this.#acknowledged;
  }

  get isFullyAcknowledged(): boolean {
    return this.#acknowledged.size === this.#expected.size;
  }

  /** Those that have not acknowledged. */
  get missing(): readonly ExecutionRef[] {
    return this.plan.tasksToWaitFor.filter((task) => !this.#acknowledged.has(keyOf(task)));
  }

  moveTo(state: PendingState): void {
    assert(
      PENDING_TRANSITIONS[this.#state].includes(state),
      `checkpoint ${this.checkpointId} cannot become ${state}: it is ${this.#state}`,
    );
    this.#state = state;
  }

  /** Whether this very attempt must still acknowledge. */
  awaits(execution: ExecutionRef): boolean {
    return this.#concerns(execution) && !this.#acknowledged.has(keyOf(execution));
  }

  /** `unknown`: not an attempt that this checkpoint was triggered for; nothing of it counts. */
  acknowledge(acknowledgement: Acknowledgement): 'success' | 'duplicate' | 'unknown' {
    const { execution, snapshot } = acknowledgement;
    if (!this.isKnownToTasks || !this.#concerns(execution)) return 'unknown';
    const key = keyOf(execution);
    assert(
      key === keyOf(snapshot) && isSameAttempt(execution.attempt, snapshot.attempt),
      `an acknowledgement of ${key} carries the snapshot of ${keyOf(snapshot)}`,
    );
    if (this.#acknowledged.has(key)) return 'duplicate';
    assert(this.#state === 'triggered', `${key} was missing, yet the state is ${this.#state}`);
    this.#acknowledged.set(key, acknowledgement);
    return 'success';
  }

  #concerns(execution: ExecutionRef): boolean {
    const expected = this.#expected.get(keyOf(execution));
    return expected !== undefined && isSameAttempt(expected.attempt, execution.attempt);
  }
}
