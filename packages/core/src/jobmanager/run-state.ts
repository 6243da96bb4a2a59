/**
 * Opens what a run stands on: finds out what earlier runs left, decides what to start from
 * (start-rule.ts), takes the lead of the job, and cleans up what nobody needs.
 */
import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { formatDuration } from '../base/duration.ts';
import { isWeirError, JobSubmissionError, messageOf } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import { slotLayoutOf } from '../protocol/slots/slot-layout.ts';
import type {
  CheckpointStorage,
  CleanUpOptions,
  ScannedSnapshot,
} from '../storage/checkpoint-storage.ts';
import type { JobLog, JobLogEntry, JobOwner, JobRecord } from '../storage/job-store.ts';
import { JobStore } from '../storage/job-store.ts';
import { removeUnfinishedSavepoints } from '../storage/unfinished-savepoints.ts';
import { joinPath, parentPath } from '../storage/paths.ts';
import { retryTransient } from '../storage/retry.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { wouldRepeat } from '../graph/guarantee-planner.ts';
import { createStorage, loadSnapshot, scan } from './find-snapshots.ts';
import type { SnapshotIo } from './find-snapshots.ts';
import { fitToJob } from './fit-to-job.ts';
import { guaranteeSettings } from './guarantee-settings.ts';
import { claimedSnapshot, initialRestore } from './initial-restore.ts';
import type { InitialRestore } from './job-master.ts';
import { jobLogPersistence } from './job-log-persistence.ts';
import type { JobPersistence } from './job-persistence.ts';
import { volatilePersistence } from './job-persistence.ts';
import type { PreparedJob } from './prepare-run.ts';
import { recordedArguments } from './recorded-arguments.ts';
import type { StartDecision } from './start-rule.ts';
import { decideStart, olderWarning } from './start-rule.ts';

/** What the start rule asks of the platform: which process this is, and who else is alive. */
export interface Ownership {
  readonly self: JobOwner;
  /** Who holds the job, in words, if he is alive; else `null`. */
  livingOwner(owner: JobOwner | null, jobDirectory: string): Promise<string | null>;
  /** Shows others that the holder lives, until the result is called. */
  holdLease(jobDirectory: string): () => void;
}

export interface RunStateOptions extends SnapshotIo {
  readonly ownership: Ownership;
  readonly arguments: readonly string[];
  /** `null`: derived from the job's name. */
  readonly jobId: JobId | null;
  readonly restorePath: string | null;
  readonly allowNonRestored: boolean;
  readonly fresh: boolean;
  readonly append: boolean;
  /** Absolute; `null`: nothing is kept. */
  readonly dataDirectory: string | null;
  warn(message: string): void;
  /** Where the sources of a snapshot go on, in words. */
  describePositions(stored: StoredSnapshot, prepared: PreparedJob): Promise<string>;
}

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
      /** The clean-up at the start that did not remove everything: tried again at the end. */
      readonly unfinishedCleanUp: CleanUpOptions | null;
      readonly initial: InitialRestore | null;
      readonly allowNonRestored: boolean;
      /** The first line of the run. */
      readonly startLine: string;
      close(): Promise<void>;
    };

/** 32 hexadecimal digits that stay the same for a job's name. */
export function jobIdOf(jobName: string): JobId {
  return createHash('md5').update(`weir job ${jobName}`).digest('hex') as JobId;
}

export async function openRunState(
  options: RunStateOptions,
  prepared: PreparedJob,
): Promise<RunState> {
  const { dataDirectory, ownership } = options;
  if (dataDirectory === null) return openVolatile(options, prepared);
  const jobId = options.jobId ?? jobIdOf(prepared.jobGraph.jobName);
  const storage = createStorage(options, {
    configuration: prepared.configuration,
    dataDirectory,
    jobId,
  });
  const log = new JobStore(options, dataDirectory).open(jobId);
  const jobDirectory = joinPath(dataDirectory, 'jobs', jobId);
  // Another process may take the lead between look and claim: then what it did counts.
  for (;;) {
    const seen = await log.read();
    const runningOwner =
      seen === null || seen.record.ended !== null
        ? null
        : await ownership.livingOwner(seen.record.owner, jobDirectory);
    // A run that lives removes checkpoints under the hands of whoever looks at them.
    const scanned = runningOwner === null ? await scan(options, storage, seen?.record ?? null) : [];
    const decision = decideStart({
      jobId,
      record: seen?.record ?? null,
      runningOwner,
      scanned,
      arguments: options.arguments,
      fresh: options.fresh,
      append: options.append,
      restorePath: options.restorePath,
      allowOlder: prepared.configuration.get('execution.state-recovery.allow-older'),
      occupiedOutput: await occupiedOutput(options, prepared),
    });
    if (decision.type === 'refuse')
      throw new JobSubmissionError(decision.message, { code: decision.code });
    if (decision.type === 'alreadyEnded')
      return { type: 'alreadyEnded', jobId, message: decision.message };
    const opened = { options, prepared, jobId, storage, log, jobDirectory };
    const state = await claim(opened, { seen, scanned, decision });
    if (state !== 'taken') return state;
  }
}

interface Opened {
  readonly options: RunStateOptions;
  readonly prepared: PreparedJob;
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
  const { options, prepared, jobId, storage, log, jobDirectory } = opened;
  const { seen, scanned, decision } = found;
  const restored = await restoredSnapshot(opened, decision);
  const isNewRun = decision.type === 'resume' ? false : decision.isNewRun;
  const newRun = isNewRun ? jobId : null;
  // Fails before anything is claimed when the snapshot does not fit the job.
  const { jobGraph, allowNonRestored } = await fitToJob(options, prepared, restored, newRun);
  const lastCheckpointId = Math.max(
    (seen?.record.nextCheckpointId ?? 1) - 1,
    restored?.metadata.checkpointId ?? 0,
    ...scanned.map((snapshot) => snapshot.checkpointId),
  );
  const claimed = isNewRun ? claimedSnapshot(options, prepared, restored) : null;
  const completed = isNewRun
    ? [claimed].filter((it) => it !== null)
    : retained(seen?.record ?? null, scanned, restored);
  const firstCheckpointId =
    isNewRun || seen === null ? lastCheckpointId + 1 : seen.record.firstCheckpointId;
  const record = await log.claim(seen, {
    jobId,
    jobName: prepared.jobGraph.jobName,
    ...recordedArguments(options.arguments, jobId),
    nextCheckpointId: lastCheckpointId + 1,
    firstCheckpointId,
    leaderFirstCheckpointId: lastCheckpointId + 1,
    completed,
    owner: options.ownership.self,
    ended: null,
    startedAt: (isNewRun ? null : seen?.record.startedAt) ?? options.clock.wallTime(),
    wouldRepeat: wouldRepeat(prepared.streamGraph, guaranteeSettings(prepared.configuration)),
    restoredFrom: restoredFrom(found, claimed === null ? restored : null, isNewRun),
  });
  if (record === 'taken') return 'taken';
  const releaseLease = options.ownership.holdLease(jobDirectory);
  if (decision.type === 'empty' && decision.warning !== undefined) options.warn(decision.warning);
  const older = olderWarning(decision, restored?.metadata.checkpointId, seen?.record);
  if (older !== null) options.warn(older);
  await removeUnfinishedSavepoints(options, seen?.record.unfinishedSavepoints ?? []);
  const unfinishedCleanUp = await cleanUp(options, storage, {
    completed,
    firstCheckpointId,
    lastCheckpointId,
    scanned,
  });
  return {
    type: 'run',
    jobId,
    epoch: record.epoch,
    jobGraph,
    slotCount: slotLayoutOf(jobGraph).slotCount,
    storage,
    persistence: jobLogPersistence(log, () => options.clock.wallTime()),
    completed,
    lastCheckpointId,
    unfinishedCleanUp,
    initial: initialRestore(restored, jobGraph, isNewRun),
    allowNonRestored,
    startLine: await startLine(options, { decision, restored, prepared }),
    async close() {
      releaseLease();
      // A run that is only suspended gives the job free for whoever resumes it.
      await log.update((current) => ({ ...current, owner: null })).catch(() => undefined);
      log.close();
    },
  };
}

/** `foreign`: the snapshot of the start, unless it is the job's own by a claim. */
function restoredFrom(
  { decision, seen }: Seen,
  foreign: StoredSnapshot | null,
  isNewRun: boolean,
): string | null {
  if (decision.type === 'restore') return foreign?.directory ?? null;
  return isNewRun ? null : (seen?.record.restoredFrom ?? null);
}

/** A run without a record: it resumes nothing by itself, but may start from a snapshot. */
async function openVolatile(options: RunStateOptions, prepared: PreparedJob): Promise<RunState> {
  const jobId = options.jobId ?? (options.random.hex(32) as JobId);
  const { restorePath } = options;
  const restored = restorePath === null ? null : await loadSnapshot(options, restorePath);
  const { jobGraph, allowNonRestored } = await fitToJob(options, prepared, restored, jobId);
  const lastCheckpointId = restored?.metadata.checkpointId ?? 0;
  const { configuration } = prepared;
  const decision = { type: 'restore', path: restorePath ?? '', isNewRun: true } as const;
  const claimed = claimedSnapshot(options, prepared, restored);
  return {
    type: 'run',
    jobId,
    epoch: 1,
    jobGraph,
    slotCount: slotLayoutOf(jobGraph).slotCount,
    storage: createStorage(options, { configuration, dataDirectory: null, jobId }),
    persistence: volatilePersistence(lastCheckpointId),
    completed: claimed === null ? [] : [claimed],
    lastCheckpointId,
    unfinishedCleanUp: null,
    initial: initialRestore(restored, jobGraph, true),
    allowNonRestored,
    startLine:
      restored === null
        ? `job ${jobGraph.jobName}: starts empty; no record of the run is kept`
        : await startLine(options, { decision, restored, prepared }),
    close: () => Promise.resolve(),
  };
}

async function restoredSnapshot(
  { options, storage }: Opened,
  decision: Seen['decision'],
): Promise<StoredSnapshot | null> {
  if (decision.type === 'empty') return null;
  if (decision.type === 'resume') {
    // Whoever published it may have died before its name was durable; sinks will rely on it.
    const { clock, fileSystem } = options;
    for (const path of [decision.directory, parentPath(decision.directory)])
      await retryTransient(clock, () => fileSystem.syncDirectory(path));
    return storage.load(decision.directory);
  }
  try {
    return await loadSnapshot(options, decision.path);
  } catch (error) {
    if (decision.isNewRun || !isWeirError(error) || error.kind === 'transient') throw error;
    throw new JobSubmissionError(
      `the run to be resumed was started from ${decision.path} and has completed no checkpoint ` +
        `of its own yet, but ${messageOf(error)}. Put it back as it was, start from another ` +
        'snapshot with -s PATH, or with --fresh from nothing',
      { code: 'JOB_STATE_UNPROVEN', cause: error },
    );
  }
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
  options: RunStateOptions,
  storage: CheckpointStorage,
  facts: {
    readonly completed: readonly CompletedCheckpoint[];
    readonly firstCheckpointId: number;
    readonly lastCheckpointId: number;
    readonly scanned: readonly ScannedSnapshot[];
  },
): Promise<CleanUpOptions | null> {
  const earlier = facts.scanned
    .filter((it) => it.status === 'valid' && it.checkpointId < facts.firstCheckpointId)
    .map((it) => it.checkpointId);
  const own = facts.completed.map((it) => it.checkpointId);
  // Evidence, also where only reading it whole has shown the damage.
  const damaged = facts.scanned
    .filter((it) => it.status === 'damaged')
    .map((it) => it.checkpointId);
  const wanted: CleanUpOptions = {
    keep: [...earlier, ...own, ...damaged],
    below: facts.lastCheckpointId + 1,
  };
  try {
    const report = await storage.cleanUp(wanted);
    for (const path of report.foreign)
      options.warn(`not deleted, since Weir did not write it: ${path}`);
    for (const { path, reason } of report.failed)
      options.warn(`${path} could not be cleaned up: ${reason}`);
    return report.failed.length === 0 ? null : wanted;
  } catch (error) {
    options.warn(`old checkpoints could not be cleaned up: ${messageOf(error)}`);
    return wanted;
  }
}

async function startLine(
  options: RunStateOptions,
  run: {
    readonly decision: Seen['decision'];
    readonly restored: StoredSnapshot | null;
    readonly prepared: PreparedJob;
  },
): Promise<string> {
  const { decision, restored, prepared } = run;
  const name = prepared.jobGraph.jobName;
  if (decision.type === 'empty') return `job ${name}: ${decision.note}`;
  assert(restored !== null, 'a start from a snapshot has one');
  const { metadata, directory, completedAt } = restored;
  const age = formatDuration(Math.max(0, Math.round(options.clock.wallTime() - completedAt)));
  const positions = await options.describePositions(restored, prepared);
  const what = `${metadata.kind} ${metadata.checkpointId} (${directory}, ${age} old)`;
  const verb = decision.type === 'resume' ? 'resumes from' : 'starts from';
  const skipped =
    decision.type === 'resume' && decision.skipped.length > 0
      ? `; NOT the newest: ${decision.skipped.join('; ')}; results published since may repeat`
      : '';
  return `job ${name}: ${verb} ${what}${positions}${skipped}`;
}

/** An output folder that holds results; for the check that a fresh run adds to nothing unseen. */
async function occupiedOutput(
  { fileSystem }: RunStateOptions,
  { streamGraph }: PreparedJob,
): Promise<string | null> {
  for (const { spec } of streamGraph.nodes) {
    if (spec.type !== 'sink') continue;
    for (const path of spec.sink.outputLocations?.() ?? []) {
      const names = await fileSystem.list(path).catch(() => []);
      if (names.some((name) => !name.startsWith('.'))) return path;
    }
  }
  return null;
}
