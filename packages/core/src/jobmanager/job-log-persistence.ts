/** Keeps what outlives the process in the job's log. */
import type { FinalStatus, JobPersistence } from './job-persistence.ts';
import type { JobLog, JobRecord } from '../storage/job-store.ts';

export function jobLogPersistence(log: JobLog, wallTime: () => number): JobPersistence {
  /** Discarded since the last record: written with the next, since losing it does no harm. */
  let discarded = new Set<number>();
  const unfinished = new Set<string>();
  const update = (change: (record: JobRecord) => JobRecord): Promise<JobRecord> =>
    log.update((record) => ({ ...change(record), unfinishedSavepoints: [...unfinished] }));
  return {
    async drawCheckpointId() {
      let drawn = 0;
      await update((record) => {
        drawn = record.nextCheckpointId;
        return { ...record, nextCheckpointId: drawn + 1 };
      });
      return drawn;
    },
    async checkpointCompleted(checkpoint) {
      const gone = discarded;
      discarded = new Set();
      await update((record) => ({
        ...record,
        completed: [...record.completed, checkpoint].filter((it) => !gone.has(it.checkpointId)),
      }));
    },
    async checkpointTakenBack(checkpointId) {
      await update((record) => ({
        ...record,
        takenBack: [...(record.takenBack ?? []), checkpointId],
      }));
    },
    checkpointDiscarded(checkpointId) {
      discarded.add(checkpointId);
      return Promise.resolve();
    },
    async savepointBegun(directory) {
      unfinished.add(directory);
      await update((record) => record);
    },
    savepointEnded(directory) {
      unfinished.delete(directory);
    },
    async ended(status: FinalStatus, savepoint: string | null) {
      const ended = { status, at: wallTime(), savepoint };
      await update((record) => ({ ...record, ended, owner: null }));
    },
  };
}
