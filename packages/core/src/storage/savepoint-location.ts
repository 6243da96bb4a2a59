import type { StorageIo } from './storage-io.ts';
import { makeDirectoryDurably } from './durable-file.ts';
import { joinPath } from './paths.ts';
import { retryTransient } from './retry.ts';
import { savepointDirectoryName } from './snapshot-layout.ts';

/** Makes `savepoint-<6 of job id>-<suffix>` in a directory of the user, durable and empty. */
export async function makeSavepointDirectory(
  io: StorageIo,
  jobId: string,
  targetDirectory: string,
  suffix: string,
): Promise<string> {
  const directory = joinPath(targetDirectory, savepointDirectoryName(jobId, suffix));
  await retryTransient(io.clock, () => makeDirectoryDurably(io.fileSystem, directory));
  return directory;
}
