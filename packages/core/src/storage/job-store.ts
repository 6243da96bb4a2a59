import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { SnapshotKind } from '../protocol/snapshot.ts';
import type { StorageIo } from './storage-io.ts';

export interface CompletedCheckpointRecord {
  readonly id: number;
  /** Absolute directory of the snapshot. */
  readonly path: string;
  readonly kind: SnapshotKind;
  readonly completedAt: number;
}

/** The process that leads a job. Whether it lives is decided by the caller. */
export interface JobOwner {
  readonly pid: number;
  readonly host: string;
  /** Wall-clock milliseconds. */
  readonly startedAt: number;
  /** Random: tells two processes with the same pid apart. */
  readonly token: string;
}

/** Everything durable about one job id. Small, JSON, written as a whole at each change. */
export interface JobRecord {
  /** Leader epoch: risen by each claim. */
  readonly epoch: number;
  readonly jobId: string;
  readonly jobName: string;
  readonly arguments: readonly string[];
  /** Only rises, across runs too. The first id is 1. */
  readonly nextCheckpointId: number;
  /** Retained checkpoints, oldest first. */
  readonly completed: readonly CompletedCheckpointRecord[];
  readonly owner: JobOwner | null;
  readonly ended: {
    readonly status: 'FINISHED' | 'CANCELED' | 'FAILED';
    readonly at: number;
  } | null;
  /** Directory of the snapshot that the run was started from, if any. */
  readonly restoredFrom: string | null;
}

/** A record as read, with its place in the log: what a claim is based on. */
export interface JobLogEntry {
  readonly sequence: number;
  readonly record: JobRecord;
}

export declare class JobLog {
  /** The newest record, straight from the log. */
  read(): Promise<JobLogEntry | null>;
  /**
   * Takes the lead: appends `next` under epoch `seen.epoch + 1`. `taken` if anything was appended
   * since `seen` was read: read again and decide anew.
   */
  claim(seen: JobLogEntry | null, next: Omit<JobRecord, 'epoch'>): Promise<JobRecord | 'taken'>;
  /**
   * Replaces the record, durably; only after a claim. One at a time, in the order of the calls.
   * Fails with `FencedError` once a newer leader has claimed, and from then on always.
   */
  update(change: (record: JobRecord) => JobRecord): Promise<JobRecord>;
  /** The record as this leader last wrote it. */
  get record(): JobRecord;
  close(): void;
}

/** Job records of a data directory: `<data>/jobs/<job-id>/`. */
export declare class JobStore {
  constructor(
    io: StorageIo & { readonly random: Random; readonly logger?: Logger },
    dataDirectory: string,
  );
  /** Ids of all jobs known here, sorted. */
  list(): Promise<readonly string[]>;
  open(jobId: string): Promise<JobLog>;
}
