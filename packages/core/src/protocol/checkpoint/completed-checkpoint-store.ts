/**
 * The completed checkpoints that are kept, oldest first: pure list logic. The newest is what
 * failover restores from. Kept are `num-retained`; beyond that the oldest go, but always one real
 * checkpoint stays beside savepoints (a later incremental one may build on it), unless the newest
 * entry is the savepoint that stops the job. Savepoints taken while the job runs never come in
 * here; one from which the job was started does.
 */
import { assert } from '../../base/assert.ts';
import type { SnapshotKind } from '../snapshot.ts';

export interface CompletedCheckpoint {
  readonly checkpointId: number;
  readonly kind: SnapshotKind;
  /** Taken to stop the job: the one kind of savepoint that serves recovery. */
  readonly stopsJob: boolean;
  readonly directory: string;
  /** Wall-clock milliseconds. */
  readonly triggeredAt: number;
  readonly sizeBytes: number;
  /** Whether Weir may delete its files: not those of savepoints or of unclaimed snapshots. */
  readonly isOwned: boolean;
}

export class CompletedCheckpointStore {
  readonly #numRetained: number;
  #checkpoints: readonly CompletedCheckpoint[] = [];

  constructor(numRetained: number, restored: readonly CompletedCheckpoint[]) {
    this.#numRetained = numRetained;
    for (const checkpoint of restored) this.#append(checkpoint);
  }

  get checkpoints(): readonly CompletedCheckpoint[] {
    return this.#checkpoints;
  }

  get latest(): CompletedCheckpoint | null {
    return this.#checkpoints.at(-1) ?? null;
  }

  has(checkpointId: number): boolean {
    return this.#checkpoints.some((checkpoint) => checkpoint.checkpointId === checkpointId);
  }

  /** Takes in the newest and returns those that it subsumes, oldest first. */
  add(checkpoint: CompletedCheckpoint): readonly CompletedCheckpoint[] {
    this.#append(checkpoint);
    const lastReal = checkpoint.stopsJob
      ? undefined
      : this.#checkpoints.findLast((candidate) => candidate.kind === 'checkpoint');
    const excess = this.#checkpoints.length - this.#numRetained;
    const subsumed = this.#checkpoints
      .filter((candidate) => candidate !== checkpoint && candidate !== lastReal)
      .slice(0, Math.max(0, excess));
    this.#checkpoints = this.#checkpoints.filter((candidate) => !subsumed.includes(candidate));
    return subsumed;
  }

  /** Empties the store and returns what was in it. */
  clear(): readonly CompletedCheckpoint[] {
    const all = this.#checkpoints;
    this.#checkpoints = [];
    return all;
  }

  #append(checkpoint: CompletedCheckpoint): void {
    const previous = this.latest?.checkpointId ?? 0;
    assert(
      checkpoint.checkpointId > previous,
      `checkpoint ${checkpoint.checkpointId} is stored after checkpoint ${previous}`,
    );
    this.#checkpoints = [...this.#checkpoints, checkpoint];
  }
}
