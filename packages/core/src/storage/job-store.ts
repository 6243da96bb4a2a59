/**
 * What must outlive the processes of a job: who leads it, which ids are used up, which checkpoints
 * are complete, how it ended. One log per job id in `<data>/jobs/<job-id>/`. The JobManager claims
 * the lead before anything else, and whatever it decides is first written here.
 */
import { assert } from '../base/assert.ts';
import { FencedError, messageOf, StateMigrationError } from '../base/errors.ts';
import { JOB_ID_PATTERN } from '../base/ids.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import type { CompareAndAppendLog } from './compare-and-append-log.ts';
import { DirectoryLog } from './directory-log.ts';
import { joinPath } from './paths.ts';
import { retryTransient } from './retry.ts';
import type { StorageIo } from './storage-io.ts';

/** The process that leads a job. Whether it lives is decided by the caller. */
export interface JobOwner {
  readonly pid: number;
  readonly host: string;
  /** Wall-clock milliseconds. */
  readonly startedAt: number;
  /** Random: tells two processes with the same pid apart. */
  readonly token: string;
}

export interface JobEnd {
  readonly status: 'FINISHED' | 'CANCELED' | 'FAILED';
  /** Wall-clock milliseconds. */
  readonly at: number;
  /** Folder of the savepoint that stopped the run; absent in records of older versions. */
  readonly savepoint?: string | null;
}

/** Everything durable about one job id. Small, JSON, written as a whole at each change. */
export interface JobRecord {
  /** Leader epoch: risen by each claim. */
  readonly epoch: number;
  readonly jobId: string;
  readonly jobName: string;
  /** With secrets masked; records of older versions hold them as given. */
  readonly arguments: readonly string[];
  /** Of the arguments as given; present if `arguments` hides a secret. */
  readonly argumentsDigest?: string;
  /** Only rises, across runs too. The first id is 1. */
  readonly nextCheckpointId: number;
  /** Ids below belong to runs that were given up on purpose (a fresh start): never resumed from. */
  readonly firstCheckpointId: number;
  /**
   * Ids below were drawn by earlier leaders. Of those only the checkpoints in `completed` count:
   * one that turns up later was published by a leader that had lost the lead without knowing it.
   */
  readonly leaderFirstCheckpointId: number;
  /**
   * Ids that this leader takes back, since they could not be made durable: written before their
   * `_metadata` is removed, so that nobody who takes the lead meanwhile begins from them.
   */
  readonly takenBack?: readonly number[];
  /** Retained checkpoints, oldest first. */
  readonly completed: readonly CompletedCheckpoint[];
  readonly owner: JobOwner | null;
  readonly ended: JobEnd | null;
  /** Folders of savepoints that may not be complete: a leader that dies leaves them to the next. */
  readonly unfinishedSavepoints?: readonly string[];
  /** Wall-clock milliseconds; absent in records of older versions. */
  readonly startedAt?: number;
  /**
   * To run it from the beginning would write again what it wrote: checkpoints were off, and a sink
   * writes at once.
   */
  readonly wouldRepeat?: boolean;
  /** Directory of the snapshot that the run was started from, if any. */
  readonly restoredFrom: string | null;
}

/** A record as read, with its place in the log: what a claim is based on. */
export interface JobLogEntry {
  readonly sequence: number;
  readonly record: JobRecord;
}

/** Written with each record, so that an older Weir refuses what it cannot understand. */
const FORMAT_VERSION = 1;

export class JobLog {
  readonly #log: CompareAndAppendLog;
  readonly #logger: Logger;
  /** What this leader wrote last; `null` before the claim. */
  #own: JobLogEntry | null = null;
  #isFenced = false;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(log: CompareAndAppendLog, logger: Logger = silentLogger) {
    this.#log = log;
    this.#logger = logger;
  }

  /** The newest record, straight from the log, whoever wrote it. */
  async read(): Promise<JobLogEntry | null> {
    const entry = await this.#log.readNewest();
    return entry === null ? null : { sequence: entry.sequence, record: parseRecord(entry.record) };
  }

  /**
   * Takes the lead: appends `next` under epoch `seen.epoch + 1`. `taken` if anything was appended
   * since `seen` was read: read again and decide anew.
   */
  async claim(
    seen: JobLogEntry | null,
    next: Omit<JobRecord, 'epoch'>,
  ): Promise<JobRecord | 'taken'> {
    assert(this.#own === null, 'a job log is claimed once');
    const record: JobRecord = { ...next, epoch: (seen?.record.epoch ?? 0) + 1 };
    assertSuccessor(seen?.record ?? null, record);
    const sequence = (seen?.sequence ?? 0) + 1;
    const outcome = await this.#log.append(sequence, toStored(record), { permanent: true });
    if (outcome === 'taken') return 'taken';
    this.#own = { sequence, record };
    await this.#compact();
    return record;
  }

  /**
   * Replaces the record, durably; only after a claim. One at a time, in the order of the calls.
   * Fails with `FencedError` once a newer leader has claimed, and from then on always. After any
   * other failure the record is what it was.
   */
  update(change: (record: JobRecord) => JobRecord): Promise<JobRecord> {
    const result = this.#tail.then(() => this.#updateNow(change));
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** The record as this leader last wrote it; only after a claim. */
  get record(): JobRecord {
    return this.#requireOwn().record;
  }

  /** Gives up an update that waits for the disk to tell its outcome. */
  close(): void {
    this.#log.close();
  }

  async #updateNow(change: (record: JobRecord) => JobRecord): Promise<JobRecord> {
    const own = this.#requireOwn();
    if (this.#isFenced) throw fenced(own.record);
    const record = change(own.record);
    assert(record.epoch === own.record.epoch, 'only a claim changes the leader epoch');
    assertSuccessor(own.record, record);
    const sequence = own.sequence + 1;
    if ((await this.#log.append(sequence, toStored(record))) === 'taken') {
      this.#isFenced = true;
      throw fenced(own.record);
    }
    this.#own = { sequence, record };
    await this.#compact();
    return record;
  }

  async #compact(): Promise<void> {
    try {
      await this.#log.compact();
    } catch (error) {
      this.#logger.log('warn', `old job records stay for now: ${messageOf(error)}`);
    }
  }

  #requireOwn(): JobLogEntry {
    assert(this.#own !== null, 'the job log must be claimed first');
    return this.#own;
  }
}

/** Job records of a data directory. */
export class JobStore {
  readonly #io: StorageIo & { readonly random: Random; readonly logger: Logger };
  readonly #directory: string;

  constructor(
    io: StorageIo & { readonly random: Random; readonly logger?: Logger },
    dataDirectory: string,
  ) {
    this.#io = { ...io, logger: io.logger ?? silentLogger };
    this.#directory = joinPath(dataDirectory, 'jobs');
  }

  /** Ids of all jobs known here, sorted. */
  async list(): Promise<readonly string[]> {
    const { fileSystem, clock } = this.#io;
    const names = await retryTransient(clock, () => fileSystem.list(this.#directory));
    return names.filter((name) => JOB_ID_PATTERN.test(name));
  }

  /** Nothing is created before a claim. */
  open(jobId: string): JobLog {
    const log = new DirectoryLog(this.#io, joinPath(this.#directory, jobId));
    return new JobLog(log, this.#io.logger);
  }
}

function assertSuccessor(before: JobRecord | null, after: JobRecord): void {
  if (before === null) return;
  assert(after.jobId === before.jobId, 'a job log belongs to one job id');
  assert(after.nextCheckpointId >= before.nextCheckpointId, 'checkpoint ids only rise');
}

function toStored(record: JobRecord): JobRecord & { readonly formatVersion: number } {
  return { ...record, formatVersion: FORMAT_VERSION };
}

function parseRecord(stored: unknown): JobRecord {
  // The log verified the checksum, so this is what some version of Weir wrote.
  const { formatVersion, ...record } = stored as JobRecord & { readonly formatVersion: number };
  if (formatVersion === FORMAT_VERSION) return record;
  throw new StateMigrationError(
    `the record of job ${record.jobId} has format version ${formatVersion}, but this version of ` +
      `Weir reads ${FORMAT_VERSION}; use the version of Weir that wrote it, or a newer one`,
    { details: { jobId: record.jobId, formatVersion } },
  );
}

function fenced(record: JobRecord): FencedError {
  return new FencedError(
    `another process has taken over job ${record.jobId}: leader epoch ${record.epoch} of this ` +
      'process is outdated; this process stops',
    { details: { jobId: record.jobId, epoch: record.epoch } },
  );
}
