/**
 * Checkpoint storage in a directory: `execution.checkpointing.storage: filesystem`. Nothing here
 * remembers what it did: all answers come from the disk, so a restarted JobManager sees the same.
 */
import { messageOf, StateCorruptionError, StorageUnavailableError } from '../base/errors.ts';
import type { SnapshotMetadata, StateHandle } from '../protocol/snapshot.ts';
import type {
  CheckpointStorage,
  CleanUpOptions,
  CleanUpReport,
  DiscardReport,
  ScannedSnapshot,
} from './checkpoint-storage.ts';
import { cleanUpCheckpoints } from './clean-up.ts';
import { discardSnapshot } from './discard-snapshot.ts';
import { makeDirectoryDurably } from './durable-file.ts';
import { loadSnapshot } from './locate-snapshot.ts';
import { baseName, joinPath, parentPath } from './paths.ts';
import { retryTransient } from './retry.ts';
import { makeSavepointDirectory } from './savepoint-location.ts';
import * as layout from './snapshot-layout.ts';
import type { StorageIo } from './storage-io.ts';
import { publishSnapshot, readStoredSnapshot, type StoredSnapshot } from './stored-snapshot.ts';

export interface FileCheckpointStorageOptions {
  /** `execution.checkpointing.dir`, absolute. */
  readonly directory: string;
  readonly jobId: string;
  /** `execution.checkpointing.create-subdir`: a folder per job id in it; default true. */
  readonly createSubdirectory?: boolean;
}

export class FileCheckpointStorage implements CheckpointStorage {
  readonly kind = 'filesystem';
  readonly #io: StorageIo;
  readonly #jobId: string;
  readonly #jobDirectory: string;
  #isPrepared = false;

  constructor(io: StorageIo, options: FileCheckpointStorageOptions) {
    this.#io = io;
    this.#jobId = options.jobId;
    this.#jobDirectory =
      options.createSubdirectory === false
        ? joinPath(options.directory)
        : joinPath(options.directory, options.jobId);
  }

  /** `<dir>/<job-id>`. */
  get jobDirectory(): string {
    return this.#jobDirectory;
  }

  async prepareCheckpoint(checkpointId: number): Promise<string> {
    const { fileSystem, clock } = this.#io;
    const directory = joinPath(this.#jobDirectory, layout.checkpointDirectoryName(checkpointId));
    await retryTransient(clock, () => this.#prepareJobDirectory());
    await retryTransient(clock, async () => {
      // Ids only rise, so whoever made it uses the same folder for another run.
      if ((await fileSystem.stat(layout.metadataPath(directory))) !== null)
        throw occupied(directory);
      await fileSystem.makeDirectory(directory);
    });
    return directory;
  }

  prepareSavepoint(targetDirectory: string, suffix: string): Promise<string> {
    return makeSavepointDirectory(this.#io, this.#jobId, targetDirectory, suffix);
  }

  publish(
    location: string,
    metadata: SnapshotMetadata,
    mayTakeBack?: () => Promise<void>,
  ): Promise<void> {
    return publishSnapshot(this.#io, location, { metadata, mayTakeBack });
  }

  load(location: string): Promise<StoredSnapshot> {
    return loadSnapshot(this.#io, location);
  }

  async discard(location: string): Promise<DiscardReport> {
    const { fileSystem, clock } = this.#io;
    return { foreign: await retryTransient(clock, () => discardSnapshot(fileSystem, location)) };
  }

  async discardData(location: string, data: StateHandle | null): Promise<void> {
    if (data === null || data.kind === 'inline') return;
    const { fileSystem, clock } = this.#io;
    const path = layout.handlePath(location, data);
    if (parentPath(path) !== joinPath(location) || !layout.isDataFileName(baseName(path))) return;
    await retryTransient(clock, async () => {
      if ((await fileSystem.stat(layout.metadataPath(location))) !== null) return;
      await fileSystem.remove(path);
    });
  }

  async scan(): Promise<readonly ScannedSnapshot[]> {
    const { fileSystem, clock } = this.#io;
    const names = await retryTransient(clock, () => fileSystem.list(this.#jobDirectory));
    const ids = names.map(layout.parseCheckpointDirectoryName).filter((id) => id !== null);
    const snapshots: ScannedSnapshot[] = [];
    for (const checkpointId of ids.sort((a, b) => a - b))
      snapshots.push(await this.#scanOne(checkpointId));
    return snapshots;
  }

  cleanUp(options: CleanUpOptions): Promise<CleanUpReport> {
    return cleanUpCheckpoints(this.#io, this.#jobDirectory, options);
  }

  async #scanOne(checkpointId: number): Promise<ScannedSnapshot> {
    const directory = joinPath(this.#jobDirectory, layout.checkpointDirectoryName(checkpointId));
    try {
      const snapshot = await readStoredSnapshot(this.#io, directory);
      if (snapshot === null) return { status: 'incomplete', checkpointId, directory };
      const { completedAt, metadata } = snapshot;
      return { status: 'valid', checkpointId, directory, kind: metadata.kind, completedAt };
    } catch (error) {
      // A disk that does not answer says nothing about the snapshot.
      if (!(error instanceof StateCorruptionError)) throw error;
      return { status: 'damaged', checkpointId, directory, reason: messageOf(error) };
    }
  }

  async #prepareJobDirectory(): Promise<void> {
    if (this.#isPrepared) return;
    const { fileSystem } = this.#io;
    for (const name of [layout.SHARED_DIRECTORY, layout.TASK_OWNED_DIRECTORY])
      await makeDirectoryDurably(fileSystem, joinPath(this.#jobDirectory, name));
    this.#isPrepared = true;
  }
}

function occupied(directory: string): StorageUnavailableError {
  return new StorageUnavailableError(
    `cannot begin a checkpoint in ${directory}: another run completed one there, of which the ` +
      'data folder has no record; use another job id or another execution.checkpointing.dir',
    { details: { path: directory, errno: 'EEXIST', permanent: true } },
  );
}
