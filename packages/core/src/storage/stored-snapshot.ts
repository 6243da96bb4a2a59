/**
 * Publishing a snapshot into a directory, and reading it back. The directory is a snapshot exactly
 * if it holds a valid `_metadata`, so that file is the last to appear, under a durable name, after
 * everything it speaks of is known to be there.
 */
import {
  errorKind,
  messageOf,
  StateCorruptionError,
  StorageUnavailableError,
} from '../base/errors.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { SnapshotMetadata, StateHandle } from '../protocol/snapshot.ts';
import { writeFileDurably } from './durable-file.ts';
import { joinPath, parentPath } from './paths.ts';
import { retryTransient } from './retry.ts';
import { sizeError } from './snapshot-data-reader.ts';
import { handlePath, METADATA_IN_PROGRESS_FILE, metadataPath } from './snapshot-layout.ts';
import { decodeSnapshotMetadata, encodeSnapshotMetadata } from './snapshot-metadata.ts';
import type { StorageIo } from './storage-io.ts';

/** A published snapshot, read back. */
export interface StoredSnapshot {
  /** Directory against which relative paths of handles are resolved. */
  readonly directory: string;
  readonly metadata: SnapshotMetadata;
  /** Wall-clock milliseconds at which `_metadata` was written. */
  readonly completedAt: number;
}

/** Data of a snapshot, with whose it is. */
export interface SnapshotData {
  readonly handle: StateHandle;
  /** For messages: `subtask 3 of "totals"`. */
  readonly owner: string;
}

/** Every piece of data that a snapshot refers to. */
export function* snapshotData(metadata: SnapshotMetadata): Generator<SnapshotData> {
  for (const vertex of metadata.vertices) {
    for (const { data, subtask } of vertex.subtasks)
      if (data !== null) yield { handle: data, owner: `subtask ${subtask} of "${vertex.name}"` };
  }
}

/** Makes the snapshot exist; see `CheckpointStorage.publish`. The directory is durable already. */
export async function publishSnapshot(
  io: StorageIo,
  directory: string,
  snapshot: {
    readonly metadata: SnapshotMetadata;
    readonly mayTakeBack: (() => Promise<void>) | undefined;
  },
): Promise<void> {
  const { metadata, mayTakeBack } = snapshot;
  await requireDataFiles(io, directory, metadata);
  const bytes = encodeSnapshotMetadata(metadata);
  const publication = { mayExist: false };
  try {
    await retryTransient(io.clock, async () => {
      // The names of the data files, which tasks created, must be durable before `_metadata` is.
      for (const path of dataDirectories(directory, metadata))
        await io.fileSystem.syncDirectory(path);
      await writeFileDurably(io.fileSystem, joinPath(directory, METADATA_IN_PROGRESS_FILE), bytes);
      await makeVisible(io.fileSystem, directory, { bytes, publication });
    });
  } catch (error) {
    // Perhaps it is visible, only not known to be durable. The caller is told that it does not
    // exist, so it must not: sinks may now abort what it promises.
    if (publication.mayExist) await withdraw(io, directory, { cause: error, mayTakeBack });
    throw error;
  }
}

/**
 * Takes `_metadata` away, durably: from here on the directory is no snapshot. Also when it is away
 * already: whoever removed it may have died, or failed, before that was durable.
 */
export async function unpublish(fileSystem: FileSystem, directory: string): Promise<void> {
  if ((await fileSystem.stat(directory)) === null) return;
  await fileSystem.remove(metadataPath(directory));
  await fileSystem.syncDirectory(directory);
}

/** `null` when the directory holds no `_metadata`; fails with STATE_CORRUPT when it is damaged. */
export async function readStoredSnapshot(
  io: StorageIo,
  directory: string,
): Promise<StoredSnapshot | null> {
  const path = metadataPath(directory);
  const stat = await retryTransient(io.clock, () => io.fileSystem.stat(path));
  if (stat === null || stat.isDirectory) return null;
  const bytes = await retryTransient(io.clock, () => io.fileSystem.readFile(path));
  const metadata = decodeSnapshotMetadata(bytes, path);
  await requireDataFiles(io, directory, metadata);
  return { directory, metadata, completedAt: stat.modifiedAt };
}

async function withdraw(
  io: StorageIo,
  directory: string,
  given: {
    readonly cause: unknown;
    readonly mayTakeBack: (() => Promise<void>) | undefined;
  },
): Promise<void> {
  const { cause, mayTakeBack } = given;
  try {
    await mayTakeBack?.();
    await retryTransient(io.clock, async () => {
      const path = metadataPath(directory);
      if ((await io.fileSystem.stat(path)) !== null) await io.fileSystem.remove(path);
      // Also when nothing is there: then an earlier try removed it, or the folder was moved away.
      await io.fileSystem.syncDirectory(directory);
    });
  } catch (error) {
    if (errorKind(error) === 'fenced') throw error;
    throw new StorageUnavailableError(
      `${messageOf(cause)}; then it failed to take back ${metadataPath(directory)} as well ` +
        `(${messageOf(error)}), so it is unknown whether this snapshot exists; the next start ` +
        'looks again',
      { details: { path: metadataPath(directory), outcome: 'unknown' }, cause },
    );
  }
}

async function makeVisible(
  fileSystem: FileSystem,
  directory: string,
  given: { readonly bytes: Uint8Array; readonly publication: { mayExist: boolean } },
): Promise<void> {
  const { bytes, publication } = given;
  const inProgress = joinPath(directory, METADATA_IN_PROGRESS_FILE);
  const path = metadataPath(directory);
  publication.mayExist = true;
  try {
    await fileSystem.rename(inProgress, path);
  } catch (error) {
    // The answer may be lost although the rename happened: look before calling it a failure.
    publication.mayExist = await hasContent(fileSystem, path, bytes);
    if (!publication.mayExist) throw error;
  }
  await fileSystem.syncDirectory(directory);
  await fileSystem.syncDirectory(parentPath(directory));
}

/** Directories of this job's storage in which tasks made files for this snapshot. */
function dataDirectories(directory: string, metadata: SnapshotMetadata): ReadonlySet<string> {
  const directories = new Set<string>();
  for (const { handle } of snapshotData(metadata)) {
    if (handle.kind === 'inline') continue;
    const path = parentPath(handlePath(directory, handle));
    // Files elsewhere belong to an earlier snapshot of somebody else, and were durable with that.
    if (path.startsWith(`${parentPath(directory)}/`)) directories.add(path);
  }
  return directories;
}

async function hasContent(
  fileSystem: FileSystem,
  path: string,
  bytes: Uint8Array,
): Promise<boolean> {
  if ((await fileSystem.stat(path)) === null) return false;
  return Buffer.compare(await fileSystem.readFile(path), bytes) === 0;
}

async function requireDataFiles(
  io: StorageIo,
  directory: string,
  metadata: SnapshotMetadata,
): Promise<void> {
  const checks: Promise<void>[] = [];
  for (const { handle, owner } of snapshotData(metadata))
    if (handle.kind === 'file') checks.push(requireDataFile(io, directory, handle, owner));
  await Promise.all(checks);
}

async function requireDataFile(
  io: StorageIo,
  directory: string,
  handle: StateHandle & { kind: 'file' },
  owner: string,
): Promise<void> {
  const path = handlePath(directory, handle);
  const stat = await retryTransient(io.clock, () => io.fileSystem.stat(path));
  if (stat === null || stat.isDirectory) {
    throw new StateCorruptionError(
      `the snapshot in ${directory} needs the file ${path} of ${owner}, but it is missing; ` +
        'restore it from a copy, and check that every TaskManager reaches the same folder',
      { details: { path } },
    );
  }
  if (stat.sizeBytes !== handle.sizeBytes) throw sizeError(path, handle.sizeBytes, stat.sizeBytes);
}
