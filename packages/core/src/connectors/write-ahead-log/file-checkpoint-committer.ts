/**
 * Confirmations in files, for an outer system that cannot keep them: one small file a writer,
 * `<folder>/<job>-<operator>/<writer>`, with the highest confirmed checkpoint in it. A file is
 * replaced by a rename, so a crash leaves the older or the newer confirmation, never half of one.
 */
import type { ConnectorEnvironment } from '../../api/source.ts';
import { StateCorruptionError } from '../../base/errors.ts';
import { makeDirectoryDurably, writeFileDurably } from '../../storage/durable-file.ts';
import { joinPath } from '../../storage/paths.ts';
import type { CheckpointCommitter, LoggedBatch } from './checkpoint-committer.ts';

/**
 * Keeps the confirmations of a write-ahead-log sink in files below `folder` (an absolute path). The
 * folder must be reachable from every process that runs the job, and must outlive it. A file of
 * about 20 bytes stays for every attempt of every subtask.
 */
export function fileCheckpointCommitter(
  environment: Pick<ConnectorEnvironment, 'fileSystem' | 'random'>,
  folder: string,
): CheckpointCommitter {
  const { fileSystem, random } = environment;

  async function confirmed(batch: LoggedBatch): Promise<number | null> {
    const path = joinPath(folderOf(folder, batch), batch.writer);
    if ((await fileSystem.stat(path)) === null) return null;
    const text = Buffer.from(await fileSystem.readFile(path)).toString();
    if (/^\d+\n$/.test(text)) return Number(text);
    throw new StateCorruptionError(
      `the confirmation ${path} of a write-ahead log is damaged: it should hold one number; ` +
        'without it nobody can say which results are written. Restore it, or remove it to have ' +
        'the results of the newest checkpoint written again',
      { details: { path } },
    );
  }

  return {
    async isCommitted(batch) {
      const highest = await confirmed(batch);
      return highest !== null && batch.checkpointId <= highest;
    },
    async commitCheckpoint(batch) {
      const own = folderOf(folder, batch);
      await makeDirectoryDurably(fileSystem, own);
      const unfinished = joinPath(own, `.${batch.writer}.${random.hex(8)}`);
      await writeFileDurably(fileSystem, unfinished, Buffer.from(`${batch.checkpointId}\n`));
      await fileSystem.rename(unfinished, joinPath(own, batch.writer));
      await fileSystem.syncDirectory(own);
    },
  };
}

function folderOf(folder: string, { jobId, operatorId }: LoggedBatch): string {
  return joinPath(folder, `${jobId}-${operatorId}`);
}
