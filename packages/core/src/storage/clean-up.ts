/**
 * What a new leader does before its first checkpoint: brings the job's directory to exactly what
 * the kept checkpoints refer to. It touches only ids below the next one it will draw, so that it
 * harms nothing if a still newer leader has begun meanwhile. Damaged snapshots stay: they are
 * evidence.
 */
import { messageOf, StateCorruptionError } from '../base/errors.ts';
import type { CleanUpOptions, CleanUpReport } from './checkpoint-storage.ts';
import { discardSnapshot } from './discard-snapshot.ts';
import { joinPath } from './paths.ts';
import { retryTransient } from './retry.ts';
import * as layout from './snapshot-layout.ts';
import type { StorageIo } from './storage-io.ts';
import { readStoredSnapshot, snapshotData } from './stored-snapshot.ts';

interface Report {
  readonly removed: string[];
  readonly foreign: string[];
  readonly damaged: string[];
  readonly failed: { readonly path: string; readonly reason: string }[];
}

export async function cleanUpCheckpoints(
  io: StorageIo,
  jobDirectory: string,
  options: CleanUpOptions,
): Promise<CleanUpReport> {
  const report: Report = { removed: [], foreign: [], damaged: [], failed: [] };
  const referenced = new Set<string>();
  for (const name of await retryTransient(io.clock, () => io.fileSystem.list(jobDirectory))) {
    const id = layout.parseCheckpointDirectoryName(name);
    if (id === null) continue;
    const directory = joinPath(jobDirectory, name);
    await orReport(report, directory, () => cleanUpOne(io, directory, { id, ...options }, report));
    await orReport(report, directory, () => collectReferences(io, directory, referenced));
  }
  const shared = joinPath(jobDirectory, layout.SHARED_DIRECTORY);
  // A snapshot that could not be read may refer to any shared file.
  if (report.damaged.length === 0 && report.failed.length === 0)
    await orReport(report, shared, () =>
      cleanUpShared(io, shared, { referenced, options }, report),
    );
  return report;
}

async function cleanUpOne(
  io: StorageIo,
  directory: string,
  checkpoint: CleanUpOptions & { readonly id: number },
  report: Report,
): Promise<void> {
  const { id, keep, below } = checkpoint;
  if (id >= below) return;
  if (keep !== 'published' && keep.includes(id)) return;
  const isPublished = await isPublishedOrDamaged(io, directory, report);
  if (isPublished && (keep === 'published' || report.damaged.includes(directory))) return;
  const foreign = await retryTransient(io.clock, () => discardSnapshot(io.fileSystem, directory));
  if (foreign.length > 0) report.foreign.push(...foreign);
  else report.removed.push(directory);
}

async function isPublishedOrDamaged(
  io: StorageIo,
  directory: string,
  report: Report,
): Promise<boolean> {
  try {
    return (await readStoredSnapshot(io, directory)) !== null;
  } catch (error) {
    if (!(error instanceof StateCorruptionError)) throw error;
    report.damaged.push(directory);
    return true;
  }
}

async function collectReferences(
  io: StorageIo,
  directory: string,
  referenced: Set<string>,
): Promise<void> {
  const snapshot = await readStoredSnapshot(io, directory);
  if (snapshot === null) return;
  for (const { handle } of snapshotData(snapshot.metadata))
    if (handle.kind === 'file') referenced.add(layout.handlePath(directory, handle));
}

async function cleanUpShared(
  io: StorageIo,
  shared: string,
  scope: { readonly referenced: ReadonlySet<string>; readonly options: CleanUpOptions },
  report: Report,
): Promise<void> {
  for (const name of await retryTransient(io.clock, () => io.fileSystem.list(shared))) {
    const path = joinPath(shared, name);
    const writtenBy = layout.parseSharedFileName(name);
    if (writtenBy === null) report.foreign.push(path);
    else if (writtenBy < scope.options.below && !scope.referenced.has(path)) {
      await retryTransient(io.clock, () => io.fileSystem.remove(path));
      report.removed.push(path);
    }
  }
}

/**
 * Cleaning up must not keep a job from starting: what fails is told, and tried at the next start.
 */
async function orReport(report: Report, path: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof StateCorruptionError) {
      if (!report.damaged.includes(path)) report.damaged.push(path);
    } else {
      report.failed.push({ path, reason: messageOf(error) });
    }
  }
}
