/** Keeps what outlives the process in the job's log. */
import type { FinalStatus, JobPersistence } from './job-persistence.ts';
import type { JobLog } from '../storage/job-store.ts';

export function jobLogPersistence(log: JobLog, wallTime: () => number): JobPersistence {
  /** Discarded since the last record: written with the next, since losing it does no harm. */
  let discarded = new Set<number>();
  return {
    async drawCheckpointId() {
      let drawn = 0;
      await log.update((record) => {
        drawn = record.nextCheckpointId;
        return { ...record, nextCheckpointId: drawn + 1 };
      });
      return drawn;
    },
    async checkpointCompleted(checkpoint) {
      const gone = discarded;
      discarded = new Set();
      await log.update((record) => ({
        ...record,
        completed: [...record.completed, checkpoint].filter((it) => !gone.has(it.checkpointId)),
      }));
    },
    checkpointDiscarded(checkpointId) {
      discarded.add(checkpointId);
      return Promise.resolve();
    },
    async ended(status: FinalStatus, savepoint: string | null) {
      const ended = { status, at: wallTime(), savepoint };
      await log.update((record) => ({ ...record, ended, owner: null }));
    },
  };
}
