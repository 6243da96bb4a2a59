/**
 * Removing what a snapshot left on disk. `_metadata` goes first and durably, so that a crash in
 * between leaves an incomplete snapshot, which does not exist, and never one with missing files.
 * Only files that carry one of our names are removed; a stranger's file keeps its directory alive.
 */
import type { FileSystem } from '../base/file-system.ts';
import { joinPath } from './paths.ts';
import { isDataFileName, METADATA_FILE, METADATA_IN_PROGRESS_FILE } from './snapshot-layout.ts';
import { storageErrno } from './storage-error.ts';
import { unpublish } from './stored-snapshot.ts';

/** A task that has not heard of the abort may still add a file while we remove. */
const SWEEPS_MAX = 3;

/** Removes a snapshot's directory, complete or not; returns the paths of foreign files. */
export async function discardSnapshot(
  fileSystem: FileSystem,
  directory: string,
): Promise<readonly string[]> {
  await unpublish(fileSystem, directory);
  for (let sweep = 1; ; sweep++) {
    const foreign = await removeOwnFiles(fileSystem, directory);
    if (foreign.length > 0) return foreign;
    try {
      await fileSystem.removeDirectory(directory);
      return [];
    } catch (error) {
      if (storageErrno(error) !== 'ENOTEMPTY' || sweep >= SWEEPS_MAX) throw error;
    }
  }
}

async function removeOwnFiles(
  fileSystem: FileSystem,
  directory: string,
): Promise<readonly string[]> {
  const foreign: string[] = [];
  for (const name of await fileSystem.list(directory)) {
    const path = joinPath(directory, name);
    if (isOwnFileName(name)) await fileSystem.remove(path);
    else foreign.push(path);
  }
  return foreign;
}

function isOwnFileName(name: string): boolean {
  return name === METADATA_FILE || name === METADATA_IN_PROGRESS_FILE || isDataFileName(name);
}
