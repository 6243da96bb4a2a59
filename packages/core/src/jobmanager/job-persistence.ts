/**
 * What of a job outlives the process: the counter of checkpoint ids, the pointers to completed
 * checkpoints, and whether the run has ended. Durable once a call resolves; fails with
 * `FencedError` when another process has taken over the job.
 */
import type { JobStatus } from '../protocol/messages.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';

export type FinalStatus = Extract<JobStatus, 'FINISHED' | 'CANCELED' | 'FAILED'>;

export interface JobPersistence {
  /** Draws the next id; ids only rise, whatever is restored. */
  drawCheckpointId(): Promise<number>;
  checkpointCompleted(checkpoint: CompletedCheckpoint): Promise<void>;
  /**
   * The checkpoint was visible for a moment and is about to be removed, since it could not be made
   * durable: whoever takes the lead from now on does not begin from it.
   */
  checkpointTakenBack(checkpointId: number): Promise<void>;
  /** The checkpoint is no longer retained; called before its files go. */
  checkpointDiscarded(checkpointId: number): Promise<void>;
  /** There is a folder for it: should this process die, the next removes what is not complete. */
  savepointBegun(directory: string): Promise<void>;
  /** It is complete, or its folder is gone; written with the next record. */
  savepointEnded(directory: string): void;
  /** `savepoint`: the folder of the one that stopped it, if any. */
  ended(status: FinalStatus, savepoint: string | null): Promise<void>;
}

/** For runs that leave nothing behind. `drawnId`: the highest id that was drawn before. */
export function volatilePersistence(drawnId: number): JobPersistence {
  let lastId = drawnId;
  return {
    drawCheckpointId: () => Promise.resolve(++lastId),
    checkpointCompleted: () => Promise.resolve(),
    checkpointTakenBack: () => Promise.resolve(),
    checkpointDiscarded: () => Promise.resolve(),
    savepointBegun: () => Promise.resolve(),
    savepointEnded: () => undefined,
    ended: () => Promise.resolve(),
  };
}
