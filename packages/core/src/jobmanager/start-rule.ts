/**
 * What a run starts from, as a pure decision from what was found on disk. Nothing ever starts empty
 * silently because a snapshot is missing or damaged: either the newest provable state is used, or
 * the start is refused with what there is and what can be done.
 */
import type { ScannedSnapshot } from '../storage/checkpoint-storage.ts';
import type { JobRecord } from '../storage/job-store.ts';
import type { ErrorCode } from '../base/error-codes.ts';
import { MASK, maskArguments } from '../base/mask-secrets.ts';
import { sameArguments } from './recorded-arguments.ts';

export interface StartFacts {
  readonly jobId: string;
  /** `null`: nothing is known of an earlier run. */
  readonly record: JobRecord | null;
  /** Who runs the job at the moment, in words; `null`: nobody. */
  readonly runningOwner: string | null;
  /** Checkpoints found under the job's directory, damaged ones too. */
  readonly scanned: readonly ScannedSnapshot[];
  readonly arguments: readonly string[];
  readonly fresh: boolean;
  readonly append: boolean;
  /** `-s`. */
  readonly restorePath: string | null;
  /** `execution.state-recovery.allow-older`. */
  readonly allowOlder: boolean;
  /** An output location of the job that is not empty; `null`: none. */
  readonly occupiedOutput: string | null;
}

export type StartDecision =
  | { readonly type: 'refuse'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'alreadyEnded'; readonly message: string }
  /** A new run without state. `note` says what is ignored, or why there is nothing. */
  | {
      readonly type: 'empty';
      readonly isNewRun: boolean;
      readonly note: string;
      readonly warning?: string;
    }
  /** Go on from a checkpoint of the run that did not end. */
  | {
      readonly type: 'resume';
      readonly directory: string;
      readonly checkpointId: number;
      /** A newer one exists, but cannot be used. */
      readonly skipped: readonly string[];
    }
  /** A new run from the snapshot that the user named. */
  | { readonly type: 'restore'; readonly path: string; readonly isNewRun: boolean };

export function decideStart(facts: StartFacts): StartDecision {
  const { record, runningOwner, restorePath, fresh } = facts;
  if (runningOwner !== null)
    return refuse(
      'JOB_ALREADY_RUNNING',
      `job ${facts.jobId} is running already (${runningOwner}): wait for its end, stop it, or ` +
        'start this one under another id with --job-id',
    );
  if (restorePath !== null) return { type: 'restore', path: restorePath, isNewRun: true };
  if (fresh) return startFresh(facts);
  if (record === null) return startUnknown(facts);
  if (record.ended !== null && record.ended.status !== 'FAILED')
    return startAfterEnd(facts, record);
  if (!sameArguments(record, facts.arguments, facts.jobId)) return otherArguments(facts, record);
  return resume(facts, record);
}

/** A run that left nothing behind stands in nobody's way: its arguments were perhaps mistyped. */
function otherArguments(facts: StartFacts, record: JobRecord): StartDecision {
  const leftState =
    record.restoredFrom !== null ||
    record.completed.length > 0 ||
    facts.scanned.some(
      (it) => it.status !== 'incomplete' && it.checkpointId >= record.firstCheckpointId,
    );
  if (!leftState && facts.occupiedOutput === null) {
    const note = 'the earlier run, with other arguments, had completed no checkpoint; starts empty';
    return { type: 'empty', isNewRun: true, note };
  }
  const [before, now] = [record.arguments, facts.arguments].map((words) =>
    maskArguments(words).join(' '),
  );
  const hidden = `${before} ${now}`.includes(MASK) ? ` (${MASK} stands for a secret)` : '';
  return refuse(
    'JOB_ARGUMENTS_CHANGED',
    `the run to be resumed was started with the arguments "${before}", not "${now}"${hidden}: ` +
      'give the same ones; or -s CHECKPOINT to go on from its state with these, --fresh to start ' +
      'anew, or --job-id for another run',
  );
}

function startFresh(facts: StartFacts): StartDecision {
  const { record, scanned, append, occupiedOutput } = facts;
  if (record !== null && record.ended !== null && !append && occupiedOutput !== null)
    return outputNotEmpty(occupiedOutput);
  const newest = newestOf(scanned.filter((snapshot) => snapshot.status === 'valid'));
  const ignored =
    newest === null ? '' : `, ignoring checkpoint ${newest.checkpointId} (${newest.directory})`;
  const empty = { type: 'empty', isNewRun: true, note: `fresh start${ignored}` } as const;
  if (occupiedOutput === null || append) return empty;
  // What the earlier run published stays: whoever reads the output must know.
  const warning =
    `the results that are in ${occupiedOutput} already stay, and this run adds all of its own to ` +
    'them: for a clean start stop it and empty that folder, or choose another output';
  return { ...empty, warning };
}

/** Not every sink can tell that it is ahead: whoever goes back on purpose must know it too. */
export function olderWarning(
  decision: Pick<StartDecision, 'type'>,
  chosen: number | undefined,
  record: Pick<JobRecord, 'completed'> | undefined,
): string | null {
  const newest = record?.completed.at(-1)?.checkpointId;
  const isOlder = chosen !== undefined && newest !== undefined && chosen < newest;
  if (decision.type !== 'restore' || !isOlder) return null;
  return (
    `the job had gone on to checkpoint ${newest} after ${chosen}, which it is started from: what ` +
    'its sinks have published since may come again'
  );
}

function startUnknown({ jobId, scanned, occupiedOutput }: StartFacts): StartDecision {
  const candidates = scanned.filter((snapshot) => snapshot.status !== 'incomplete');
  // Perhaps the data folder is another one than that of the run which wrote there.
  const added = occupiedOutput === null ? '' : `; adds to what is in ${occupiedOutput} already`;
  if (candidates.length === 0)
    return { type: 'empty', isNewRun: true, note: `no earlier run, starts empty${added}` };
  return refuse(
    'JOB_STATE_UNPROVEN',
    `the record of earlier runs of job ${jobId} is missing, so its last state cannot be proven; ` +
      `found in storage: ${list(candidates)}. Start from one of these with -s PATH, or with ` +
      '--fresh from nothing',
  );
}

function startAfterEnd(facts: StartFacts, record: JobRecord): StartDecision {
  const status = record.ended?.status ?? 'FINISHED';
  const word = status === 'CANCELED' ? 'cancelled' : 'finished';
  const savepoint = record.ended?.savepoint ?? null;
  if (sameArguments(record, facts.arguments, facts.jobId))
    return {
      type: 'alreadyEnded',
      message:
        savepoint === null
          ? `job ${record.jobName} (${facts.jobId}) already ${word}; use --fresh to run it again`
          : `job ${record.jobName} (${facts.jobId}) was stopped with a savepoint; go on from it ` +
            `with -s ${savepoint}, or use --fresh to run it again`,
    };
  if (facts.occupiedOutput !== null && !facts.append) return outputNotEmpty(facts.occupiedOutput);
  const ignored = savepoint === null ? '' : `, ignoring its savepoint ${savepoint}`;
  const note = `the earlier run, with other arguments, has ${word}; starts empty${ignored}`;
  return { type: 'empty', isNewRun: true, note };
}

function resume(facts: StartFacts, record: JobRecord): StartDecision {
  const mine = facts.scanned.filter((it) => isOf(record, it.checkpointId));
  const newestRecorded = record.completed.at(-1) ?? null;
  const valid = newestOf(mine.filter((snapshot) => snapshot.status === 'valid'));
  const damaged = mine.filter((snapshot) => snapshot.status === 'damaged');
  const newestDamaged = newestOf(damaged);
  // Only what is newer than the newest good one stands in its way.
  const best = valid?.checkpointId ?? 0;
  const unusable: string[] = [];
  if (
    newestRecorded !== null &&
    newestRecorded.checkpointId > best &&
    !mine.some((it) => isAt(it, newestRecorded.checkpointId))
  )
    unusable.push(
      `checkpoint ${newestRecorded.checkpointId} (${newestRecorded.directory}) is missing`,
    );
  if (newestDamaged?.status === 'damaged' && newestDamaged.checkpointId > best)
    unusable.push(`checkpoint ${newestDamaged.checkpointId} is damaged: ${newestDamaged.reason}`);
  if (unusable.length > 0 && !facts.allowOlder)
    return unproven(unusable, valid, record.restoredFrom);
  if (valid !== null)
    return {
      type: 'resume',
      directory: valid.directory,
      checkpointId: valid.checkpointId,
      skipped: unusable,
    };
  if (unusable.length > 0 && record.restoredFrom === null) return unproven(unusable, null, null);
  if (record.restoredFrom !== null)
    return { type: 'restore', path: record.restoredFrom, isNewRun: false };
  if (record.wouldRepeat === true)
    return refuse(
      'JOB_STATE_UNPROVEN',
      'the earlier run did not end, and ran without checkpoints: nobody knows how far it came, ' +
        'and a run from the beginning would write again what it wrote. --fresh runs it all the ' +
        'same; env.enableCheckpointing lets a run go on where it stopped',
    );
  const note = 'the earlier run had completed no checkpoint, starts empty';
  return { type: 'empty', isNewRun: false, note };
}

/**
 * Not of a run that was given up on purpose, nor of a leader that had lost the lead by then. What
 * the record names is the run's own, a snapshot that it began from and claimed too.
 */
function isOf(record: JobRecord, checkpointId: number): boolean {
  if (record.completed.some((it) => it.checkpointId === checkpointId)) return true;
  if (checkpointId < record.firstCheckpointId) return false;
  return checkpointId >= record.leaderFirstCheckpointId;
}

function unproven(
  unusable: readonly string[],
  older: ScannedSnapshot | null,
  restoredFrom: string | null,
): StartDecision {
  const older_ =
    older !== null
      ? `an older one is good: checkpoint ${older.checkpointId} (${older.directory}); start from ` +
        'it with -Dexecution.state-recovery.allow-older=true, results published since may then ' +
        'repeat; '
      : restoredFrom !== null
        ? `the run was started from ${restoredFrom}: -s ${restoredFrom} starts from there again; `
        : 'no older one is good; ';
  return refuse(
    'JOB_STATE_UNPROVEN',
    `the last state of the job cannot be used: ${unusable.join('; ')}. ${older_}` +
      '--fresh starts from nothing',
  );
}

function outputNotEmpty(path: string): StartDecision {
  return refuse(
    'OUTPUT_NOT_EMPTY',
    `an earlier run of this job has ended, and its output is still in ${path}: give --append to ` +
      'add to it, or remove it, or choose another output',
  );
}

function refuse(code: ErrorCode, message: string): StartDecision {
  return { type: 'refuse', code, message };
}

function newestOf(snapshots: readonly ScannedSnapshot[]): ScannedSnapshot | null {
  let newest: ScannedSnapshot | null = null;
  for (const snapshot of snapshots)
    if (newest === null || snapshot.checkpointId > newest.checkpointId) newest = snapshot;
  return newest;
}

function isAt(snapshot: ScannedSnapshot, checkpointId: number): boolean {
  return snapshot.checkpointId === checkpointId && snapshot.status !== 'incomplete';
}

function stateOf(snapshot: ScannedSnapshot): string {
  if (snapshot.status !== 'valid') return snapshot.status;
  return `completed ${new Date(snapshot.completedAt).toISOString()}`;
}

function list(snapshots: readonly ScannedSnapshot[]): string {
  return snapshots
    .map((it) => `checkpoint ${it.checkpointId} (${stateOf(it)}, ${it.directory})`)
    .join(', ');
}
