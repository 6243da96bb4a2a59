/**
 * The memory of a write-ahead-log sink: which batches are in the outer system. It must outlive the
 * job, so it lies in the outer system itself or in files. `fileCheckpointCommitter` is ready made.
 */
import type { Attempt, JobId, OperatorId } from '../../base/ids.ts';

/** The results of one subtask between two checkpoints. */
export interface LoggedBatch {
  readonly jobId: JobId;
  readonly operatorId: OperatorId;
  /**
   * Names the writer that logged it, `<subtask>-<epoch>-<counter>-<16 hexadecimal digits>`: a new
   * name for every attempt of every subtask, also after the data folder of the job was removed.
   * Within a writer checkpoint ids rise.
   */
  readonly writer: string;
  readonly subtask: number;
  readonly attempt: Attempt;
  readonly checkpointId: number;
}

/**
 * Keeps confirmations. Batches of one writer are confirmed in the order of their checkpoints, so
 * the highest confirmed checkpoint of each writer is all that has to be kept.
 */
export interface CheckpointCommitter {
  /** Connects; called once, before anything else. */
  open?(): Promise<void>;
  /** Whether the batch is confirmed. Asked before every write. */
  isCommitted(batch: LoggedBatch): Promise<boolean>;
  /**
   * Confirms the batch; it is durable when this resolves. Idempotent. Not called where the
   * confirmation is atomic: then the output has written it with the data.
   */
  commitCheckpoint(batch: LoggedBatch): Promise<void>;
  close?(): Promise<void>;
}

/** An id of a batch for names, keys and messages: `<writer>-<checkpoint>`. Used once, ever. */
export function batchName({ writer, checkpointId }: LoggedBatch): string {
  return `${writer}-${checkpointId}`;
}
