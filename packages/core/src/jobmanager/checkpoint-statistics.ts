/**
 * What happened to the checkpoints of a run, for people: counts, sums, and the newest ones in full.
 * Fed by the `CheckpointShell` with the coordinator's own words; read by the REST API. Bounded: at
 * most as many checkpoints are remembered as `web.checkpoints.history` says.
 */
import type {
  AcknowledgedSubtask,
  CoordinatorEffect,
} from '../protocol/checkpoint/coordinator-messages.ts';
import type { VertexId } from '../base/ids.ts';
import type { SnapshotKind } from '../protocol/snapshot.ts';

export type CheckpointStatus = 'IN_PROGRESS' | 'COMPLETED' | 'FAILED';

export interface CheckpointFacts {
  readonly checkpointId: number;
  readonly kind: SnapshotKind;
  readonly stopsJob: boolean;
  readonly status: CheckpointStatus;
  /** Wall-clock milliseconds of the trigger. */
  readonly triggeredAt: number;
  /** Milliseconds from the trigger to the end; so far, while it is in progress. */
  readonly durationMs: number;
  readonly sizeBytes: number;
  /** Subtasks that must acknowledge, by vertex. */
  readonly subtasks: ReadonlyMap<VertexId, number>;
  /** Known when it has ended. */
  readonly acknowledged: readonly AcknowledgedSubtask[];
  /** `null` unless it is completed. */
  readonly directory: string | null;
  /** `null` unless it has failed. */
  readonly failure: { readonly reason: string; readonly message: string } | null;
}

export interface RestoredFacts {
  readonly checkpointId: number;
  readonly kind: SnapshotKind;
  readonly directory: string;
  /** Wall-clock milliseconds. */
  readonly restoredAt: number;
}

export interface ProvenFacts {
  readonly checkpointId: number;
  /** Wall-clock milliseconds. */
  readonly provenAt: number;
}

export interface CheckpointSummary {
  readonly counts: {
    readonly restored: number;
    readonly total: number;
    readonly inProgress: number;
    readonly completed: number;
    readonly failed: number;
  };
  readonly latest: {
    readonly completed: CheckpointFacts | null;
    readonly savepoint: CheckpointFacts | null;
    readonly failed: CheckpointFacts | null;
    readonly restored: RestoredFacts | null;
    /** Was restored on the side, as a proof. */
    readonly proven: ProvenFacts | null;
  };
  /** Newest first. */
  readonly history: readonly CheckpointFacts[];
}

type Started = Extract<CoordinatorEffect, { type: 'checkpointStarted' }>;
type Acknowledged = Extract<CoordinatorEffect, { type: 'subtaskAcknowledged' }>;
type Ended = Extract<CoordinatorEffect, { type: 'checkpointEnded' }>;

export class CheckpointStatistics {
  readonly #historyMax: number;
  readonly #wallTime: () => number;
  /** Oldest first. */
  #history: readonly CheckpointFacts[] = [];
  #restored: RestoredFacts | null = null;
  #proven: ProvenFacts | null = null;
  #restores = 0;
  #completed = 0;
  #failed = 0;
  #latestCompleted: CheckpointFacts | null = null;
  #latestSavepoint: CheckpointFacts | null = null;
  #latestFailed: CheckpointFacts | null = null;

  constructor(historyMax: number, wallTime: () => number) {
    this.#historyMax = historyMax;
    this.#wallTime = wallTime;
  }

  restored(facts: Omit<RestoredFacts, 'restoredAt'>): void {
    this.#restores++;
    this.#restored = { ...facts, restoredAt: this.#wallTime() };
  }

  proven(checkpointId: number): void {
    this.#proven = { checkpointId, provenAt: this.#wallTime() };
  }

  started({ checkpointId, kind, stopsJob, timestamp, executions }: Started): void {
    const subtasks = new Map<VertexId, number>();
    for (const { vertexId } of executions)
      subtasks.set(vertexId, (subtasks.get(vertexId) ?? 0) + 1);
    this.#remember({
      checkpointId,
      kind,
      stopsJob,
      status: 'IN_PROGRESS',
      triggeredAt: timestamp,
      durationMs: 0,
      sizeBytes: 0,
      subtasks,
      acknowledged: [],
      directory: null,
      failure: null,
    });
  }

  acknowledged({ checkpointId, acknowledged }: Acknowledged): void {
    this.#history = this.#history.map((it) =>
      it.checkpointId === checkpointId
        ? { ...it, acknowledged: [...it.acknowledged, acknowledged] }
        : it,
    );
  }

  ended(
    { checkpointId, failure, durationMs, acknowledged }: Ended,
    stored: { readonly directory: string; readonly sizeBytes: number },
  ): void {
    const started = this.#history.find((it) => it.checkpointId === checkpointId);
    if (started === undefined) return;
    const sizeBytes =
      failure === null
        ? stored.sizeBytes
        : acknowledged.reduce((sum, subtask) => sum + subtask.sizeBytes, 0);
    const facts: CheckpointFacts = {
      ...started,
      status: failure === null ? 'COMPLETED' : 'FAILED',
      durationMs,
      sizeBytes,
      acknowledged,
      directory: failure === null ? stored.directory : null,
      failure,
    };
    this.#remember(facts);
    if (failure !== null) {
      this.#failed++;
      this.#latestFailed = facts;
      return;
    }
    this.#completed++;
    if (facts.kind === 'savepoint') this.#latestSavepoint = facts;
    else this.#latestCompleted = facts;
  }

  summary(): CheckpointSummary {
    const now = this.#wallTime();
    const history = this.#history.map((facts) => soFar(facts, now)).toReversed();
    const inProgress = history.filter(({ status }) => status === 'IN_PROGRESS').length;
    return {
      counts: {
        restored: this.#restores,
        total: this.#completed + this.#failed + inProgress,
        inProgress,
        completed: this.#completed,
        failed: this.#failed,
      },
      latest: {
        completed: this.#latestCompleted,
        savepoint: this.#latestSavepoint,
        failed: this.#latestFailed,
        restored: this.#restored,
        proven: this.#proven,
      },
      history,
    };
  }

  /** Ended ones make room first, so that each started one is still there when it ends. */
  #remember(facts: CheckpointFacts): void {
    const others = this.#history.filter((it) => it.checkpointId !== facts.checkpointId);
    const all = [...others, facts].toSorted((a, b) => a.checkpointId - b.checkpointId);
    const excess = all.length - this.#historyMax;
    const gone = new Set(
      all.filter(({ status }) => status !== 'IN_PROGRESS').slice(0, Math.max(0, excess)),
    );
    this.#history = all.filter((it) => !gone.has(it));
  }
}

function soFar(facts: CheckpointFacts, now: number): CheckpointFacts {
  if (facts.status !== 'IN_PROGRESS') return facts;
  return { ...facts, durationMs: Math.max(0, now - facts.triggeredAt) };
}
