/**
 * Where the snapshots of a job are, and which of them the next start goes on from. Changes nothing.
 */
import type { Clock } from '../base/clock.ts';
import type { Configuration } from '../base/configuration.ts';
import {
  ConfigurationError,
  JobSubmissionError,
  messageOf,
  StateCorruptionError,
} from '../base/errors.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { JobId } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import type { CheckpointStorage, ScannedSnapshot } from '../storage/checkpoint-storage.ts';
import { FileCheckpointStorage } from '../storage/file-checkpoint-storage.ts';
import type { JobRecord } from '../storage/job-store.ts';
import { locateSnapshot } from '../storage/locate-snapshot.ts';
import { MemoryCheckpointStorage } from '../storage/memory-checkpoint-storage.ts';
import { joinPath, parseUserPath, userPathAdvice } from '../storage/paths.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { readStoredSnapshot } from '../storage/stored-snapshot.ts';
import { verifySnapshotDeep } from '../storage/verify-snapshot.ts';
import { decideStart } from './start-rule.ts';

export interface SnapshotIo {
  readonly clock: Clock;
  readonly fileSystem: FileSystem;
  readonly random: Random;
  /** Where relative paths of the user begin. */
  readonly workingDirectory: string;
}

export interface StoragePlace {
  readonly configuration: Configuration;
  /** `null`: checkpoints are in memory, unless a directory is configured. */
  readonly dataDirectory: string | null;
  readonly jobId: JobId;
}

export function createStorage(
  options: SnapshotIo,
  { configuration, dataDirectory, jobId }: StoragePlace,
): CheckpointStorage {
  const kind = configuration.get('execution.checkpointing.storage');
  const configured = configuration.get('execution.checkpointing.dir');
  const isInMemory = kind === null && configured === null && dataDirectory === null;
  if (kind === 'jobmanager' || isInMemory) return new MemoryCheckpointStorage(options, jobId);
  if (configured === null && dataDirectory === null)
    throw new ConfigurationError(
      'execution.checkpointing.storage: filesystem needs a folder: set ' +
        'execution.checkpointing.dir, or give the run a data directory',
    );
  const directory =
    configured !== null
      ? parseUserPath(configured, options.workingDirectory)
      : joinPath(dataDirectory ?? '', 'checkpoints');
  if (directory === null)
    throw new ConfigurationError(
      `execution.checkpointing.dir: ${configured} is not a path that Weir can write to: ` +
        userPathAdvice(configured ?? ''),
    );
  return new FileCheckpointStorage(options, {
    directory,
    jobId,
    createSubdirectory: configuration.get('execution.checkpointing.create-subdir'),
  });
}

/** What the next start of a job that is down goes on from; `null`: it has no state. */
export async function snapshotToResume(
  options: SnapshotIo,
  place: StoragePlace,
  record: JobRecord,
): Promise<StoredSnapshot | null> {
  const storage = createStorage(options, place);
  const { ended, completed } = record;
  const last = completed.at(-1);
  // It goes on only from what somebody names. A run that finished removes its checkpoints.
  if (ended !== null && ended.status !== 'FAILED') {
    const isThere = last !== undefined && (await options.fileSystem.stat(last.directory)) !== null;
    return isThere ? loadSnapshot(options, last.directory) : null;
  }
  const decision = decideStart({
    jobId: place.jobId,
    record,
    runningOwner: null,
    scanned: await scan(options, storage, record),
    arguments: record.arguments,
    fresh: false,
    append: false,
    restorePath: null,
    allowOlder: place.configuration.get('execution.state-recovery.allow-older'),
    occupiedOutput: null,
  });
  switch (decision.type) {
    case 'refuse':
      throw new JobSubmissionError(decision.message, { code: decision.code });
    case 'resume':
      return storage.load(decision.directory);
    case 'restore':
      return loadSnapshot(options, decision.path);
    default:
      return null;
  }
}

/**
 * Checkpoints of the job's folder but those that its leader takes back, and those snapshots
 * elsewhere that its record names.
 */
export async function scan(
  options: SnapshotIo,
  storage: CheckpointStorage,
  record: JobRecord | null,
): Promise<readonly ScannedSnapshot[]> {
  const takenBack = record?.takenBack ?? [];
  const found = await scanAll(options, storage, record?.completed ?? []);
  return found.filter(({ checkpointId }) => !takenBack.includes(checkpointId));
}

async function scanAll(
  options: SnapshotIo,
  storage: CheckpointStorage,
  recorded: readonly CompletedCheckpoint[],
): Promise<readonly ScannedSnapshot[]> {
  const scanned = [...(await storage.scan())];
  for (const { checkpointId, directory, kind } of recorded) {
    const index = scanned.findIndex((it) => it.checkpointId === checkpointId);
    if (scanned[index]?.directory === directory) continue;
    const found = await scanElsewhere(options, { checkpointId, directory, kind });
    if (found === null) continue;
    // A claimed snapshot may share its id with a checkpoint of a run that was given up.
    if (index >= 0) scanned[index] = found;
    else scanned.push(found);
  }
  scanned.sort((a, b) => a.checkpointId - b.checkpointId);
  for (;;) {
    const index = scanned.findLastIndex((snapshot) => snapshot.status === 'valid');
    const newest = scanned[index];
    if (newest === undefined) return scanned;
    // The one that would be used is read whole, so that damage shows before anything is started.
    const [damage] = await verifySnapshotDeep(options, await storage.load(newest.directory));
    if (damage === undefined) return scanned;
    const { checkpointId, directory } = newest;
    scanned[index] = { status: 'damaged', checkpointId, directory, reason: damage.message };
  }
}

/** A savepoint that stopped the run, or a snapshot that it claimed. */
async function scanElsewhere(
  options: SnapshotIo,
  {
    checkpointId,
    directory,
    kind,
  }: Pick<CompletedCheckpoint, 'checkpointId' | 'directory' | 'kind'>,
): Promise<ScannedSnapshot | null> {
  try {
    const stored = await readStoredSnapshot(options, directory);
    if (stored === null) return null;
    const { completedAt } = stored;
    return { status: 'valid', checkpointId, directory, kind, completedAt };
  } catch (error) {
    if (!(error instanceof StateCorruptionError)) throw error;
    return { status: 'damaged', checkpointId, directory, reason: messageOf(error) };
  }
}

export async function loadSnapshot(options: SnapshotIo, path: string): Promise<StoredSnapshot> {
  const snapshot = await locateSnapshot(options, path, options.workingDirectory);
  const [damage] = await verifySnapshotDeep(options, snapshot);
  if (damage !== undefined) throw damage;
  return snapshot;
}
