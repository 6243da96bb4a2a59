/**
 * From what a user writes behind `-s` to a snapshot, or to a sentence that says why there is none
 * and which there are.
 */
import { JobSubmissionError, StateCorruptionError } from '../base/errors.ts';
import { baseName, joinPath, parentPath, parseUserPath, userPathAdvice } from './paths.ts';
import { retryTransient } from './retry.ts';
import { METADATA_FILE, METADATA_IN_PROGRESS_FILE, metadataPath } from './snapshot-layout.ts';
import type { StorageIo } from './storage-io.ts';
import { readStoredSnapshot, type StoredSnapshot } from './stored-snapshot.ts';

/** How many of the snapshots found nearby a message names. */
const CANDIDATES_MAX = 5;

/**
 * The snapshot a user names: its directory, its `_metadata`, or a `file:` URI of either. Fails with
 * ARGUMENT_INVALID when nothing is there, it is no snapshot, or it was never completed, and with
 * STATE_CORRUPT (naming an intact older neighbour, if any) when damaged.
 */
export async function locateSnapshot(
  io: StorageIo,
  userPath: string,
  workingDirectory: string,
): Promise<StoredSnapshot> {
  const path = parseUserPath(userPath, workingDirectory);
  if (path === null) {
    throw invalid(
      `${userPath} is not a path that Weir can read a snapshot from: ${userPathAdvice(userPath)}`,
      { path: userPath },
    );
  }
  return loadSnapshot(io, baseName(path) === METADATA_FILE ? parentPath(path) : path);
}

/** The snapshot in an absolute directory; fails as `locateSnapshot` does. */
export async function loadSnapshot(io: StorageIo, directory: string): Promise<StoredSnapshot> {
  let snapshot: StoredSnapshot | null;
  try {
    snapshot = await readStoredSnapshot(io, directory);
  } catch (error) {
    if (error instanceof StateCorruptionError) throw await damaged(io, directory, error);
    throw error;
  }
  return snapshot ?? Promise.reject(await missing(io, directory));
}

async function missing(io: StorageIo, directory: string): Promise<Error> {
  const names = await listOrEmpty(io, directory);
  const inside = await intactIn(io, directory);
  const stat = await retryTransient(io.clock, () => io.fileSystem.stat(directory));
  const details = { path: directory, candidates: inside };
  if (inside.length > 0) {
    return invalid(
      `${directory} is not a snapshot, but holds some: choose ${inside.join(' or ')}`,
      details,
    );
  }
  const nearby = await intactIn(io, parentPath(directory));
  const advice = nearby.length === 0 ? '' : `; snapshots beside it: ${nearby.join(', ')}`;
  const facts = { ...details, candidates: nearby };
  if (stat === null) return invalid(`there is nothing at ${directory}${advice}`, facts);
  if (!stat.isDirectory || !(names.includes(METADATA_IN_PROGRESS_FILE) || looksLikeOne(directory)))
    return invalid(
      `${directory} is not a snapshot: it has no ${METADATA_FILE} file${advice}`,
      facts,
    );
  return invalid(
    `the snapshot in ${directory} is not complete: it has no ${METADATA_FILE} file. Either it is ` +
      `being written right now, or its writer died; then its folder may go${advice}`,
    facts,
  );
}

async function damaged(
  io: StorageIo,
  directory: string,
  error: StateCorruptionError,
): Promise<StateCorruptionError> {
  const others = await intactIn(io, parentPath(directory));
  const advice = others.length === 0 ? '' : `; intact snapshots beside it: ${others.join(', ')}`;
  return new StateCorruptionError(`${error.message}${advice}`, {
    details: { ...error.details, candidates: others },
    cause: error,
  });
}

function looksLikeOne(directory: string): boolean {
  return /^(chk-\d+|savepoint-.+)$/.test(baseName(directory));
}

/** Intact snapshots in the sub-directories, newest first. */
async function intactIn(io: StorageIo, directory: string): Promise<readonly string[]> {
  const found: { readonly path: string; readonly completedAt: number; readonly id: number }[] = [];
  for (const name of await listOrEmpty(io, directory)) {
    const path = joinPath(directory, name);
    try {
      if ((await io.fileSystem.stat(metadataPath(path))) === null) continue;
      const snapshot = await readStoredSnapshot(io, path);
      if (snapshot === null) continue;
      const { completedAt, metadata } = snapshot;
      found.push({ path, completedAt, id: metadata.checkpointId });
    } catch {
      // This is only advice inside another error: what cannot be read is no advice.
    }
  }
  found.sort((a, b) => b.completedAt - a.completedAt || b.id - a.id);
  return found.slice(0, CANDIDATES_MAX).map(({ path }) => path);
}

async function listOrEmpty(io: StorageIo, directory: string): Promise<readonly string[]> {
  try {
    return await io.fileSystem.list(directory);
  } catch {
    return [];
  }
}

function invalid(message: string, details: Readonly<Record<string, unknown>>): Error {
  return new JobSubmissionError(message, { code: 'ARGUMENT_INVALID', details });
}
