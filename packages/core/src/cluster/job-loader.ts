/**
 * Turns a job file into a job: bundles the module with esbuild, writes the bundle where every
 * slot's thread can import it, and evaluates it. Called by the command line and by `runJob`.
 */
import type { LoadedJob } from './run-contract.ts';
import { JobSubmissionError } from '../base/errors.ts';

export interface LoadJobOptions {
  /** Folder for the bundle, made when missing. Without: a folder of its own under the system's. */
  readonly bundleDirectory?: string;
}

/**
 * @param path The job's file: absolute, or relative to the current folder, or a `file:` URI.
 * @throws JobSubmissionError JOB_NOT_LOADABLE when the file is missing, cannot be compiled, throws
 * while it is evaluated or exports no job.
 */
export async function loadJob(path: string, options: LoadJobOptions = {}): Promise<LoadedJob> {
  throw new JobSubmissionError(`${path}: loading jobs is not built yet`, {
    code: 'JOB_NOT_LOADABLE',
    details: { path, ...options },
  });
}
