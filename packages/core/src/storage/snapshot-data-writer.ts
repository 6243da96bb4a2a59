import type { StateHandle } from '../protocol/snapshot.ts';
import type { StorageIo } from './storage-io.ts';

/** Takes the bytes of a subtask's snapshot one after the other. */
export interface SnapshotDataSink {
  /** Bytes written so far: where the next section begins. */
  readonly offset: number;
  /** Appends. The bytes must not change before this resolves. */
  write(bytes: Uint8Array): Promise<void>;
}

export interface SnapshotDataTarget {
  /** `CheckpointOptions.location`. */
  readonly location: string;
  /** From `dataFileName`. */
  readonly fileName: string;
  /** `execution.checkpointing.data-inline-threshold`: data up to this size stands in `_metadata`. */
  readonly inlineBytesMax: number;
}

/**
 * Writes a subtask's data and makes it durable; `null` when there is none. `produce` is called again
 * from the start when the storage fails for a passing reason, so it must be repeatable.
 */
export declare function writeSnapshotData(
  io: StorageIo,
  target: SnapshotDataTarget,
  produce: (sink: SnapshotDataSink) => Promise<void>,
): Promise<StateHandle | null>;
