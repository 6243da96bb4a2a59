/**
 * Where snapshots live: `<dir>/<job-id>/{chk-N,shared,taskowned}`, savepoints in
 * `<dir>/savepoint-<6 of job id>-<random>`. A snapshot exists exactly if its directory holds a
 * valid `_metadata`, which is published last and removed first. The coordinator on the JobManager
 * is the only caller; tasks only write data files into a prepared location
 * (`snapshot-data-writer.ts`). Two implementations: `FileCheckpointStorage` and
 * `MemoryCheckpointStorage`.
 */
import type { SnapshotKind, SnapshotMetadata, StateHandle } from '../protocol/snapshot.ts';
import type { StoredSnapshot } from './stored-snapshot.ts';

export type ScannedSnapshot =
  | {
      readonly status: 'valid';
      readonly checkpointId: number;
      readonly directory: string;
      readonly kind: SnapshotKind;
      readonly completedAt: number;
    }
  | {
      /** `_metadata` is there, but cannot be read or names files that are missing. */
      readonly status: 'damaged';
      readonly checkpointId: number;
      readonly directory: string;
      readonly reason: string;
    }
  | { readonly status: 'incomplete'; readonly checkpointId: number; readonly directory: string };

export interface DiscardReport {
  /** Files left in place because Weir did not write them; their directory stays too. */
  readonly foreign: readonly string[];
}

export interface CleanUpOptions {
  /** Ids of checkpoints to keep, or `published` to keep each that was completed. */
  readonly keep: readonly number[] | 'published';
  /** Only ids below this are touched: those from it on may belong to a newer leader. */
  readonly below: number;
}

export interface CleanUpReport {
  readonly removed: readonly string[];
  readonly foreign: readonly string[];
  /** Damaged snapshots; they are never removed. */
  readonly damaged: readonly string[];
  /** What could not be removed, and why; tried again at the next start. */
  readonly failed: readonly { readonly path: string; readonly reason: string }[];
}

export interface CheckpointStorage {
  readonly kind: 'filesystem' | 'jobmanager';

  /** Makes an empty place for a checkpoint; the result goes into `CheckpointOptions.location`. */
  prepareCheckpoint(checkpointId: number): Promise<string>;

  /** Makes `savepoint-<6 of job id>-<suffix>` in `targetDirectory`; `suffix` should be random. */
  prepareSavepoint(targetDirectory: string, suffix: string): Promise<string>;

  /**
   * Makes the snapshot exist, durably: once resolved it survives any crash; if rejected it does not
   * exist. Idempotent. Fails with STATE_CORRUPT if a file it names is missing or has another size.
   * `mayTakeBack` is asked before a snapshot that was visible for a moment is removed again: who
   * leads the job by then may have begun from it. If that rejects, the snapshot stays.
   */
  publish(
    location: string,
    metadata: SnapshotMetadata,
    mayTakeBack?: () => Promise<void>,
  ): Promise<void>;

  /**
   * Reads a snapshot back; fails with STATE_CORRUPT when damaged, ARGUMENT_INVALID when missing.
   */
  load(location: string): Promise<StoredSnapshot>;

  /** Removes a snapshot, complete or not: `_metadata` first, then its own files. Idempotent. */
  discard(location: string): Promise<DiscardReport>;

  /**
   * Removes the data of an acknowledgement that is not wanted in a checkpoint still pending; of a
   * published snapshot nothing. For a checkpoint that is gone, call `discard` again instead.
   */
  discardData(location: string, data: StateHandle | null): Promise<void>;

  /** What is left of earlier runs, by ascending id; savepoints are not among it. */
  scan(): Promise<readonly ScannedSnapshot[]>;

  /** Removes never-completed checkpoints, checkpoints not to keep and unreferenced shared files. */
  cleanUp(options: CleanUpOptions): Promise<CleanUpReport>;
}
