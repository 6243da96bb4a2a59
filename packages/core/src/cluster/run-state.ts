/**
 * Opens what a run stands on: finds out what earlier runs left, decides what to start from
 * (jobmanager/start-rule.ts), takes the lead of the job, and cleans up what nobody needs.
 */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../base/assert.ts';
import type { Configuration } from '../base/configuration.ts';
import { formatDuration } from '../base/duration.ts';
import { JobSubmissionError, messageOf } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import type { InitialRestore } from '../jobmanager/job-master.ts';
import type { JobPersistence } from '../jobmanager/job-persistence.ts';
import { volatilePersistence } from '../jobmanager/job-persistence.ts';
import type { StartDecision } from '../jobmanager/start-rule.ts';
import { decideStart } from '../jobmanager/start-rule.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import { assignState } from '../protocol/execution/state-assignment.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import { slotLayoutOf } from '../protocol/slots/slot-layout.ts';
import type { CheckpointStorage, ScannedSnapshot } from '../storage/checkpoint-storage.ts';
import { FileCheckpointStorage } from '../storage/file-checkpoint-storage.ts';
import type { JobLog, JobLogEntry, JobRecord } from '../storage/job-store.ts';
import { JobStore } from '../storage/job-store.ts';
import { LocalFileSystem } from '../storage/local-file-system.ts';
import { locateSnapshot } from '../storage/locate-snapshot.ts';
import { MemoryCheckpointStorage } from '../storage/memory-checkpoint-storage.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { verifySnapshotDeep } from '../storage/verify-snapshot.ts';
import { describePositions } from './describe-positions.ts';
import { jobLogPersistence } from './job-log-persistence.ts';
import type { PreparedJob } from './prepare-run.ts';
import { holdLease, livingOwner, thisProcess } from './process-owner.ts';
import { realClock } from './real-clock.ts';
import type { RunOptions } from './run-contract.ts';

export type RunState =
  | { readonly type: 'alreadyEnded'; readonly jobId: JobId; readonly message: string }
  | {
      readonly type: 'run';
      readonly jobId: JobId;
      readonly epoch: number;
      /** With the maximum parallelism that a restored snapshot demands. */
      readonly jobGraph: JobGraph;
      readonly slotCount: number;
      readonly storage: CheckpointStorage;
      readonly persistence: JobPersistence;
      readonly completed: readonly CompletedCheckpoint[];
      readonly lastCheckpointId: number;
      readonly initial: InitialRestore | null;
      readonly allowNonRestored: boolean;
      /** The first line of the run. */
      readonly startLine: string;
      close(): Promise<void>;
    };

const io = { fileSystem: new LocalFileSystem(), clock: realClock };

/** 32 hexadecimal digits that stay the same for a job's name. */
export function jobIdOf(jobName: string): JobId {
  return createHash('md5').update(`weir job ${jobName}`).digest('hex') as JobId;
}

export async function openRunState(
  options: RunOptions,
  prepared: PreparedJob,
  random: Random,
): Promise<RunState> {
  const { dataDirectory } = options;
  if (dataDirectory === null) return openVolatile(options, prepared, random);
  const jobId = options.jobId ?? jobIdOf(prepared.jobGraph.jobName);
  const storage = createStorage(prepared.configuration, dataDirectory, jobId);
  const log = new JobStore({ ...io, random }, dataDirectory).open(jobId);
  const jobDirectory = join(dataDirectory, 'jobs', jobId);
  // Another process may take the lead between look and claim: then what it did counts.
  for (;;) {
    const seen = await log.read();
    const scanned = await scan(storage);
    const decision = decideStart({
      jobId,
      record: seen?.record ?? null,
      runningOwner:
        seen === null || seen.record.ended !== null
          ? null
          : await livingOwner(seen.record.owner, jobDirectory),
      scanned,
      arguments: options.arguments,
      fresh: options.fresh,
      append: options.append,
      restorePath:
        options.restorePath ?? prepared.configuration.get('execution.state-recovery.path'),
      allowOlder: prepared.configuration.get('execution.state-recovery.allow-older'),
      occupiedOutput: await occupiedOutput(prepared),
    });
    if (decision.type === 'refuse')
      throw new JobSubmissionError(decision.message, { code: decision.code });
    if (decision.type === 'alreadyEnded')
      return { type: 'alreadyEnded', jobId, message: decision.message };
    const opened = { options, prepared, random, jobId, storage, log, jobDirectory };
    const state = await claim(opened, { seen, scanned, decision });
    if (state !== 'taken') return state;
  }
}

interface Opened {
  readonly options: RunOptions;
  readonly prepared: PreparedJob;
  readonly random: Random;
  readonly jobId: JobId;
  readonly storage: CheckpointStorage;
  readonly log: JobLog;
  readonly jobDirectory: string;
}

interface Seen {
  readonly seen: JobLogEntry | null;
  readonly scanned: readonly ScannedSnapshot[];
  readonly decision: Exclude<StartDecision, { type: 'refuse' | 'alreadyEnded' }>;
}

async function claim(opened: Opened, found: Seen): Promise<RunState | 'taken'> {
  const { options, prepared, random, jobId, storage, log, jobDirectory } = opened;
  const { seen, scanned, decision } = found;
  const restored = await restoredSnapshot(opened, decision);
  const allowNonRestored =
    options.allowNonRestored ||
    prepared.configuration.get('execution.state-recovery.ignore-unclaimed-state');
  // Fails before anything is claimed when the snapshot does not fit the job.
  const assigned =
    restored === null
      ? null
      : assignState(restored.metadata, prepared.jobGraph, {
          directory: restored.directory,
          allowNonRestored,
        });
  for (const message of assigned?.warnings ?? [])
    options.listener({ type: 'log', level: 'warn', message });

  const lastCheckpointId = Math.max(
    (seen?.record.nextCheckpointId ?? 1) - 1,
    restored?.metadata.checkpointId ?? 0,
    ...scanned.map((snapshot) => snapshot.checkpointId),
  );
  const isNewRun = decision.type === 'resume' ? false : decision.isNewRun;
  const completed = isNewRun ? [] : retained(seen?.record ?? null, scanned, restored);
  const firstCheckpointId =
    isNewRun || seen === null ? lastCheckpointId + 1 : seen.record.firstCheckpointId;
  const record = await log.claim(seen, {
    jobId,
    jobName: prepared.jobGraph.jobName,
    arguments: options.arguments,
    nextCheckpointId: lastCheckpointId + 1,
    firstCheckpointId,
    completed,
    owner: thisProcess(random),
    ended: null,
    restoredFrom:
      decision.type === 'restore'
        ? (restored?.directory ?? null)
        : isNewRun
          ? null
          : (seen?.record.restoredFrom ?? null),
  });
  if (record === 'taken') return 'taken';
  const releaseLease = holdLease(jobDirectory);
  await cleanUp(options, storage, { completed, firstCheckpointId, lastCheckpointId, scanned });
  const jobGraph = assigned?.jobGraph ?? prepared.jobGraph;
  return {
    type: 'run',
    jobId,
    epoch: record.epoch,
    jobGraph,
    slotCount: slotLayoutOf(jobGraph).slotCount,
    storage,
    persistence: jobLogPersistence(log, () => Date.now()),
    completed,
    lastCheckpointId,
    initial: restored,
    allowNonRestored,
    startLine: await startLine(decision, restored, prepared),
    async close() {
      releaseLease();
      // A run that is only suspended gives the job free for whoever resumes it.
      await log.update((current) => ({ ...current, owner: null })).catch(() => undefined);
      log.close();
    },
  };
}

function openVolatile(options: RunOptions, prepared: PreparedJob, random: Random): RunState {
  const jobId = options.jobId ?? (random.hex(32) as JobId);
  const { jobGraph } = prepared;
  return {
    type: 'run',
    jobId,
    epoch: 1,
    jobGraph,
    slotCount: slotLayoutOf(jobGraph).slotCount,
    storage: new MemoryCheckpointStorage(io, jobId),
    persistence: volatilePersistence(),
    completed: [],
    lastCheckpointId: 0,
    initial: null,
    allowNonRestored: options.allowNonRestored,
    startLine: `job ${jobGraph.jobName}: starts empty; nothing is kept after the run`,
    close: () => Promise.resolve(),
  };
}

function createStorage(
  configuration: Configuration,
  dataDirectory: string,
  jobId: JobId,
): CheckpointStorage {
  if (configuration.get('execution.checkpointing.storage') === 'jobmanager')
    return new MemoryCheckpointStorage(io, jobId);
  const configured = configuration.get('execution.checkpointing.dir');
  return new FileCheckpointStorage(io, {
    directory: configured === null ? join(dataDirectory, 'checkpoints') : absolutePath(configured),
    jobId,
    createSubdirectory: configuration.get('execution.checkpointing.create-subdir'),
  });
}

function absolutePath(path: string): string {
  if (path.startsWith('file:')) return fileURLToPath(path);
  return join(path.startsWith('/') ? '/' : process.cwd(), path);
}

async function scan(storage: CheckpointStorage): Promise<readonly ScannedSnapshot[]> {
  const scanned = await storage.scan();
  const newest = scanned.findLast((snapshot) => snapshot.status === 'valid');
  if (newest === undefined) return scanned;
  // The one that would be used is read whole, so that damage shows before anything is started.
  const damage = await verifySnapshotDeep(io, await storage.load(newest.directory));
  const [first] = damage;
  if (first === undefined) return scanned;
  const { checkpointId, directory } = newest;
  const damaged = { status: 'damaged', checkpointId, directory, reason: first.message } as const;
  return scanned.map((snapshot) => (snapshot === newest ? damaged : snapshot));
}

async function restoredSnapshot(
  { storage }: Opened,
  decision: Seen['decision'],
): Promise<StoredSnapshot | null> {
  if (decision.type === 'empty') return null;
  if (decision.type === 'resume') return storage.load(decision.directory);
  const snapshot = await locateSnapshot(io, decision.path, process.cwd());
  const [damage] = await verifySnapshotDeep(io, snapshot);
  if (damage !== undefined) throw damage;
  return snapshot;
}

/** Completed checkpoints of the run that goes on, up to the one it goes on from. */
function retained(
  record: JobRecord | null,
  scanned: readonly ScannedSnapshot[],
  restored: StoredSnapshot | null,
): readonly CompletedCheckpoint[] {
  if (record === null || restored === null) return [];
  const { checkpointId } = restored.metadata;
  const isThere = (id: number): boolean =>
    scanned.some((it) => it.checkpointId === id && it.status === 'valid');
  const older = record.completed.filter(
    (it) => it.checkpointId < checkpointId && isThere(it.checkpointId),
  );
  const known = record.completed.find((it) => it.checkpointId === checkpointId);
  const newest: CompletedCheckpoint = known ?? {
    checkpointId,
    kind: restored.metadata.kind,
    stopsJob: false,
    directory: restored.directory,
    triggeredAt: restored.metadata.triggeredAt,
    sizeBytes: 0,
    isOwned: true,
  };
  const isOwn = scanned.some((it) => it.directory === restored.directory);
  return isOwn ? [...older, newest] : older;
}

async function cleanUp(
  options: RunOptions,
  storage: CheckpointStorage,
  facts: {
    readonly completed: readonly CompletedCheckpoint[];
    readonly firstCheckpointId: number;
    readonly lastCheckpointId: number;
    readonly scanned: readonly ScannedSnapshot[];
  },
): Promise<void> {
  const earlier = facts.scanned
    .filter((it) => it.status === 'valid' && it.checkpointId < facts.firstCheckpointId)
    .map((it) => it.checkpointId);
  const own = facts.completed.map((it) => it.checkpointId);
  try {
    const report = await storage.cleanUp({
      keep: [...earlier, ...own],
      below: facts.lastCheckpointId + 1,
    });
    for (const path of report.foreign)
      options.listener({
        type: 'log',
        level: 'warn',
        message: `not deleted, since Weir did not write it: ${path}`,
      });
  } catch (error) {
    const message = `old checkpoints could not be cleaned up: ${messageOf(error)}`;
    options.listener({ type: 'log', level: 'warn', message });
  }
}

async function startLine(
  decision: Seen['decision'],
  restored: StoredSnapshot | null,
  prepared: PreparedJob,
): Promise<string> {
  const name = prepared.jobGraph.jobName;
  if (decision.type === 'empty') return `job ${name}: ${decision.note}`;
  assert(restored !== null, 'a start from a snapshot has one');
  const { metadata, directory, completedAt } = restored;
  const age = formatDuration(Math.max(0, Math.round(Date.now() - completedAt)));
  const positions = await describePositions(io, restored, prepared);
  const what = `${metadata.kind} ${metadata.checkpointId} (${directory}, ${age} old)`;
  const verb = decision.type === 'resume' ? 'resumes from' : 'starts from';
  const skipped =
    decision.type === 'resume' && decision.skipped.length > 0
      ? `; NOT the newest: ${decision.skipped.join('; ')}; results published since may repeat`
      : '';
  return `job ${name}: ${verb} ${what}${positions}${skipped}`;
}

/** An output folder that holds results; for the check that a fresh run adds to nothing unseen. */
async function occupiedOutput({ streamGraph }: PreparedJob): Promise<string | null> {
  for (const { spec } of streamGraph.nodes) {
    if (spec.type !== 'sink') continue;
    for (const path of spec.sink.outputLocations?.() ?? []) {
      const names = await readdir(path).catch(() => []);
      if (names.some((name) => !name.startsWith('.'))) return path;
    }
  }
  return null;
}
