/**
 * Runs of one job one after the other, each from what the one before left on disk: a run whose
 * restart strategy is `none` and whose function fails stands for a process that was killed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isWeirError } from '@weir/core';
import type { Job, RunJobOptions } from '@weir/core';
import { run } from './run.ts';
import type { TestRun } from './run.ts';

export interface Resumable {
  readonly dataDirectory: string;
  /** Runs to the end. */
  readonly finish: (job: Job, options?: RunJobOptions) => Promise<TestRun>;
  /** Runs until a function fails, which must happen. */
  readonly crash: (job: Job, options?: RunJobOptions) => Promise<Error>;
}

const DIES_AT_ONCE = {
  'execution.checkpointing.interval': 10,
  'restart-strategy.type': 'none',
} as const;

export async function resumable(work: (runs: Resumable) => Promise<void>): Promise<void> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'weir-resume-'));
  const finish: Resumable['finish'] = (job, options = {}) =>
    run(job, { dataDirectory, ...options, config: { ...DIES_AT_ONCE, ...options.config } });
  try {
    await work({
      dataDirectory,
      finish,
      crash: async (job, options) => {
        try {
          const { outcome } = await finish(job, options);
          throw new Error(`the run was to fail, but is ${outcome.status}`);
        } catch (error) {
          if (isWeirError(error) && error.code === 'JOB_FAILED') return error;
          throw error;
        }
      },
    });
  } finally {
    await rm(dataDirectory, { recursive: true, force: true });
  }
}
