/**
 * Checkpoints in the JobManager's memory: `execution.checkpointing.storage: jobmanager`, for tests
 * and for jobs that only need to survive the failure of a task. All state travels in the
 * acknowledgements. Savepoints are files even here.
 */
import { StateCorruptionError } from '../base/errors.ts';
import type { SnapshotMetadata } from '../protocol/snapshot.ts';
import type {
  CheckpointStorage,
  CleanUpOptions,
  CleanUpReport,
  DiscardReport,
  ScannedSnapshot,
} from './checkpoint-storage.ts';
import { discardSnapshot } from './discard-snapshot.ts';
import { loadSnapshot } from './locate-snapshot.ts';
import { retryTransient } from './retry.ts';
import { makeSavepointDirectory } from './savepoint-location.ts';
import { isMemoryLocation, memoryLocation } from './snapshot-layout.ts';
import type { StorageIo } from './storage-io.ts';
import { publishSnapshot, snapshotData, type StoredSnapshot } from './stored-snapshot.ts';

export class MemoryCheckpointStorage implements CheckpointStorage {
  readonly kind = 'jobmanager';
  readonly #io: StorageIo;
  readonly #jobId: string;
  readonly #published = new Map<string, StoredSnapshot>();

  constructor(io: StorageIo, jobId: string) {
    this.#io = io;
    this.#jobId = jobId;
  }

  async prepareCheckpoint(checkpointId: number): Promise<string> {
    return memoryLocation(checkpointId);
  }

  prepareSavepoint(targetDirectory: string, suffix: string): Promise<string> {
    return makeSavepointDirectory(this.#io, this.#jobId, targetDirectory, suffix);
  }

  async publish(
    location: string,
    metadata: SnapshotMetadata,
    mayTakeBack?: () => Promise<void>,
  ): Promise<void> {
    if (!isMemoryLocation(location))
      return publishSnapshot(this.#io, location, { metadata, mayTakeBack });
    for (const { handle, owner } of snapshotData(metadata)) {
      if (handle.kind === 'file')
        throw new StateCorruptionError(
          `${owner} wrote ${handle.path}, but checkpoints of this job are kept in memory; this ` +
            'is a fault of its state backend, please report it',
          { details: { path: handle.path } },
        );
    }
    const completedAt = this.#io.clock.wallTime();
    this.#published.set(location, { directory: location, metadata, completedAt });
  }

  async load(location: string): Promise<StoredSnapshot> {
    return this.#published.get(location) ?? loadSnapshot(this.#io, location);
  }

  async discard(location: string): Promise<DiscardReport> {
    if (isMemoryLocation(location)) {
      this.#published.delete(location);
      return { foreign: [] };
    }
    const { fileSystem, clock } = this.#io;
    return { foreign: await retryTransient(clock, () => discardSnapshot(fileSystem, location)) };
  }

  async discardData(): Promise<void> {
    // The bytes were in the acknowledgement, which nobody holds any more.
  }

  async scan(): Promise<readonly ScannedSnapshot[]> {
    return [...this.#published.values()]
      .map(({ directory, metadata, completedAt }) => {
        const { checkpointId, kind } = metadata;
        return { status: 'valid', checkpointId, directory, kind, completedAt } as const;
      })
      .sort((a, b) => a.checkpointId - b.checkpointId);
  }

  async cleanUp({ keep, below }: CleanUpOptions): Promise<CleanUpReport> {
    const removed: string[] = [];
    for (const { directory, metadata } of this.#published.values()) {
      const id = metadata.checkpointId;
      if (keep === 'published' || id >= below || keep.includes(id)) continue;
      this.#published.delete(directory);
      removed.push(directory);
    }
    return { removed, foreign: [], damaged: [], failed: [] };
  }
}
