/** The completed checkpoints that are kept, oldest first: pure list logic. */
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
