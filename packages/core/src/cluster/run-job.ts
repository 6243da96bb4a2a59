/** `runJob`: runs a job from code. */
import { rm } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { argumentWords } from '../api/job-arguments.ts';
import type { ArgumentValues } from '../api/job-arguments.ts';
import { isJob } from '../api/job.ts';
import type { Job } from '../api/job.ts';
import type { ConfigSettings } from '../base/config-options.ts';
import { Configuration } from '../base/configuration.ts';
import { fromErrorInfo, JobSubmissionError } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import { JOB_ID_PATTERN } from '../base/ids.ts';
import type { RunControl, RunEvent, RunOptions, RunOutcome } from '../cli/run-contract.ts';
import { runLocal } from './local-run.ts';

export interface RunJobOptions {
  /** The job's arguments, by name: `{ input: 'a.txt', rate: 100 }`. */
  readonly args?: ArgumentValues;
  /** Parallelism of operators that do not set their own; as `-p`. */
  readonly parallelism?: number;
  /** Configuration under Flink's keys, as `-D`: it wins over what the job sets. */
  readonly config?: ConfigSettings;
  /**
   * Where checkpoints and the record of runs are kept. Without it nothing outlives the call:
   * checkpoints are in memory, the job id is random.
   */
  readonly dataDirectory?: string;
  /** 32 hexadecimal digits; by default derived from the job's name, if anything is kept. */
  readonly jobId?: string;
  /** Start from this snapshot. */
  readonly restorePath?: string;
  readonly allowNonRestored?: boolean;
  /** Start empty, whatever an earlier run left. */
  readonly fresh?: boolean;
  readonly append?: boolean;
  /** Told everything that happens. */
  readonly onEvent?: (event: RunEvent) => void;
  /** Called once before the job starts, with what operates it: savepoints, stop, cancel. */
  readonly onStart?: (run: RunControl) => void;
  /** Cancels the job: it ends CANCELED. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a job to its end: in the present thread when given as an object, in a worker thread a slot
 * when given as the URL or path of its module.
 *
 * @returns how the run ended: FINISHED, CANCELED or ALREADY_FINISHED.
 * @throws what made the job fail, or why it could not start; errors carry `code` and `kind`.
 */
export async function runJob(
  job: Job | URL | string,
  options: RunJobOptions = {},
): Promise<RunOutcome> {
  const loaded = isJob(job)
    ? { loaded: { job, sourcePath: '', bundleUrl: null }, dispose: () => Promise.resolve() }
    : await load(job);
  try {
    const outcome = await runLocal({ ...runOptions(options), job: loaded.loaded });
    if (outcome.status === 'FAILED') {
      throw outcome.error === null
        ? new JobSubmissionError('the job failed', { code: 'JOB_FAILED' })
        : fromErrorInfo(outcome.error);
    }
    return outcome;
  } finally {
    await loaded.dispose();
  }
}

async function load(
  job: URL | string,
): Promise<{ loaded: RunOptions['job']; dispose: () => Promise<void> }> {
  const { loadJob } = await import('./job-loader.ts');
  const { makeBundleDirectory } = await import('./loading/bundle-directory.ts');
  const bundleDirectory = makeBundleDirectory();
  const dispose = (): Promise<void> => rm(bundleDirectory, { recursive: true, force: true });
  try {
    return { loaded: await loadJob(job, { bundleDirectory }), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function runOptions(options: RunJobOptions): Omit<RunOptions, 'job'> {
  const { jobId, signal, dataDirectory } = options;
  if (jobId !== undefined && !JOB_ID_PATTERN.test(jobId))
    throw new JobSubmissionError(
      `jobId: "${jobId}" is not a job id; it has 32 hexadecimal digits (0-9, a-f)`,
      { code: 'ARGUMENT_INVALID' },
    );
  return {
    arguments: argumentWords(options.args ?? {}),
    configuration: Configuration.of(options.config ?? {}, 'runJob'),
    parallelism: options.parallelism ?? null,
    jobId: (jobId as JobId | undefined) ?? null,
    restorePath: options.restorePath ?? null,
    allowNonRestored: options.allowNonRestored ?? false,
    fresh: options.fresh ?? false,
    append: options.append ?? false,
    dataDirectory:
      dataDirectory === undefined
        ? null
        : isAbsolute(dataDirectory)
          ? dataDirectory
          : resolve(dataDirectory),
    listener: options.onEvent ?? ((): void => undefined),
    onStart: options.onStart,
    stop: {
      onStop(callback) {
        if (signal?.aborted === true) callback('cancel');
        signal?.addEventListener('abort', () => callback('cancel'), { once: true });
      },
    },
  };
}
