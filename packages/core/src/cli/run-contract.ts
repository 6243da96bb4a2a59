/**
 * What a run is asked for and what it tells while it goes on: the contract between those who start
 * runs (command line, `runJob`, tests) and the composition root that carries them out. It stands
 * below `cluster`, since the command line must not import the composition root.
 */
import type { Job } from '../api/job.ts';
import type { Configuration } from '../base/configuration.ts';
import type { ErrorInfo } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import type { LogLevel } from '../base/logger.ts';
import type { JobStatus, TaskMetrics } from '../protocol/messages.ts';

/** A job module that was bundled and evaluated. */
export interface LoadedJob {
  readonly job: Job;
  /** The user's file, absolute. */
  readonly sourcePath: string;
  /** File URL of the bundle, which every slot's thread imports; null: the job runs in-thread. */
  readonly bundleUrl: string | null;
  /** Of all that the bundle holds; absent: not known. */
  readonly codeHash?: string;
}

/** A snapshot that was asked for. */
export interface TakenSnapshot {
  readonly checkpointId: number;
  /** Its folder; null: it is kept in memory. */
  readonly path: string | null;
}

/** Operates a run while it goes on. What comes to nothing is rejected with the reason. */
export interface RunControl {
  readonly jobId: JobId;
  triggerCheckpoint(): Promise<TakenSnapshot>;
  /**
   * Takes a savepoint into a new folder in `directory`, a path or `file:` URI; by default in
   * `execution.checkpointing.savepoint-dir`.
   */
  triggerSavepoint(directory?: string): Promise<TakenSnapshot>;
  /**
   * Ends the job with a savepoint, to go on from it later. `drain`: event time first comes to its
   * end and operators flush, for a job that is not to go on. Resolves when the job is FINISHED.
   */
  stopWithSavepoint(options?: {
    readonly directory?: string;
    readonly drain?: boolean;
  }): Promise<TakenSnapshot>;
  /** The job ends CANCELED. */
  cancel(): void;
}

export interface RunOptions {
  readonly job: LoadedJob;
  /** The job's own arguments, as given: `['--input', 'a.txt']`. */
  readonly arguments: readonly string[];
  /** Layers given at the start: file and -D. The job's code is added below them. */
  readonly configuration: Configuration;
  /** `-p`; null: `parallelism.default` of the configuration, else of the code, else 1. */
  readonly parallelism: number | null;
  /** null: derived from the job's name. */
  readonly jobId: JobId | null;
  /** `-s`: restore this snapshot. */
  readonly restorePath: string | null;
  /** `-n`: state of operators that the job no longer has is dropped. */
  readonly allowNonRestored: boolean;
  readonly fresh: boolean;
  /** With `fresh`: the output of an ended run may be added to. */
  readonly append: boolean;
  /** Absolute; null: nothing is kept (`runJob` of a job object). */
  readonly dataDirectory: string | null;
  readonly listener: (event: RunEvent) => void;
  /** Serve the REST API on loopback while the job runs; by default not. */
  readonly rest?: { readonly port: number } | null;
  /** Called once, before the job starts. */
  readonly onStart?: ((run: RunControl) => void) | undefined;
  /** `cancel`: end CANCELED; `suspend`: stop and keep everything for a resume (SIGINT, SIGTERM). */
  readonly stop?: { onStop(callback: (how: 'cancel' | 'suspend') => void): void };
}

/** Progress of one vertex, summed over its subtasks. */
export interface VertexProgress {
  readonly name: string;
  readonly parallelism: number;
  readonly recordsIn: number;
  readonly recordsOut: number;
  /** Share of time, 0 to 1, since the last report. */
  readonly busy: number;
  readonly backPressured: number;
  readonly counters: Readonly<Record<string, number>>;
}

export type RunEvent =
  /** `start` is the first line of every run: the snapshot used, its age, positions; or empty. */
  | {
      readonly type: 'started';
      readonly jobId: JobId;
      readonly jobName: string;
      readonly start: string;
      readonly restoredCheckpointId: number | null;
      readonly parallelism: number;
      /** Since the run was begun: what the times of its reports and its end count from. */
      readonly elapsedMs: number;
    }
  | { readonly type: 'statusChanged'; readonly status: JobStatus; readonly error: ErrorInfo | null }
  /** About once a second while the job runs. */
  | {
      readonly type: 'progress';
      readonly vertices: readonly VertexProgress[];
      readonly tasks: readonly TaskMetrics[];
    }
  | {
      readonly type: 'checkpointCompleted';
      readonly checkpointId: number;
      readonly durationMs: number;
      readonly sizeBytes: number;
      readonly path: string | null;
    }
  | {
      readonly type: 'checkpointFailed';
      readonly checkpointId: number | null;
      readonly reason: string;
      readonly message: string;
    }
  /** A failure that is followed by a restart. */
  | {
      readonly type: 'restarting';
      readonly error: ErrorInfo;
      readonly delayMs: number;
      readonly tasks: number;
    }
  /** A line of the sink `print`. */
  | { readonly type: 'printed'; readonly line: string }
  | { readonly type: 'log'; readonly level: LogLevel; readonly message: string };

export interface RunOutcome {
  readonly jobId: JobId;
  /** `ALREADY_FINISHED`: an earlier run of this id and these arguments has ended. */
  readonly status: 'FINISHED' | 'CANCELED' | 'SUSPENDED' | 'FAILED' | 'ALREADY_FINISHED';
  readonly error: ErrorInfo | null;
  readonly restarts: number;
  readonly completedCheckpoints: number;
  readonly latestCheckpoint: string | null;
  /** Folder of the savepoint with which the run was stopped. */
  readonly savepoint: string | null;
  readonly durationMs: number;
}
