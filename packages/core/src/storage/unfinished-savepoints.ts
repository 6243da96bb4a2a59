/**
 * Removes the folders of savepoints that a process was writing when it died. A savepoint that is
 * complete is the user's and stays, and so does whatever Weir did not write.
 */
import { messageOf } from '../base/errors.ts';
import { discardSnapshot } from './discard-snapshot.ts';
import { retryTransient } from './retry.ts';
import { metadataPath } from './snapshot-layout.ts';
import type { StorageIo } from './storage-io.ts';

/** Only the new leader may call it. What fails is told and left behind. */
export async function removeUnfinishedSavepoints(
  io: StorageIo & { warn(message: string): void },
  directories: readonly string[],
): Promise<void> {
  for (const directory of directories)
    try {
      if (!(await isUnfinished(io, directory))) continue;
      const foreign = await retryTransient(io.clock, () =>
        discardSnapshot(io.fileSystem, directory),
      );
      io.warn(
        foreign.length === 0
          ? `removed ${directory}: the earlier run died before that savepoint was complete`
          : `${directory} holds no complete savepoint, but files that Weir did not write: ` +
              foreign.join(', '),
      );
    } catch (error) {
      io.warn(`the incomplete savepoint ${directory} is left behind: ${messageOf(error)}`);
    }
}

async function isUnfinished(io: StorageIo, directory: string): Promise<boolean> {
  const stat = await retryTransient(io.clock, () => io.fileSystem.stat(directory));
  if (stat?.isDirectory !== true) return false;
  const metadata = await retryTransient(io.clock, () =>
    io.fileSystem.stat(metadataPath(directory)),
  );
  return metadata === null;
}
