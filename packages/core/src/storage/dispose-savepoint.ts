/** Removes a savepoint that nobody wants any more, and nothing else. */
import { JobSubmissionError } from '../base/errors.ts';
import { discardSnapshot } from './discard-snapshot.ts';
import { locateSnapshot } from './locate-snapshot.ts';
import { retryTransient } from './retry.ts';
import type { StorageIo } from './storage-io.ts';

/**
 * Returns what is left in its folder because Weir did not write it. Fails with ARGUMENT_INVALID
 * when there is no snapshot at `path`, or it is a checkpoint: those belong to their job.
 */
export async function disposeSavepoint(
  io: StorageIo,
  path: string,
  workingDirectory: string,
): Promise<readonly string[]> {
  const { directory, metadata } = await locateSnapshot(io, path, workingDirectory);
  if (metadata.kind !== 'savepoint')
    throw new JobSubmissionError(
      `${directory} is checkpoint ${metadata.checkpointId} of job ${metadata.jobName} ` +
        `(${metadata.jobId}), not a savepoint: the job itself removes it when it needs it no more`,
      { code: 'ARGUMENT_INVALID', details: { path: directory } },
    );
  return retryTransient(io.clock, () => discardSnapshot(io.fileSystem, directory));
}
