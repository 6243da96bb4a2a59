/**
 * What a task knows of the savepoint that is to stop its job. To drain, a source says `end` before
 * its snapshot, and what is behind it takes the way of data that has ended. To suspend, a task does
 * nothing more after its snapshot: if the savepoint completes it finishes, if not it goes on.
 */
import { WeirError } from '../../base/errors.ts';
import type { CheckpointTrigger } from '../../protocol/messages.ts';

export class TaskStop {
  /** To be triggered in this source once it has said `end`. */
  drainTrigger: CheckpointTrigger | null = null;
  /** The savepoint after whose snapshot nothing more is done. */
  suspendedBy: number | null = null;
  /** By input channel: the savepoint that ended it, or 0 if its data ended by itself. */
  readonly #endedInputs = new Map<number, number>();
  /** The savepoint that ended the data of this task; 0: it ended by itself, or goes on. */
  #drainedBy = 0;

  get isSuspended(): boolean {
    return this.suspendedBy !== null;
  }

  get drainedBy(): number {
    return this.#drainedBy;
  }

  get endedInputs(): number {
    return this.#endedInputs.size;
  }

  inputEnded(channel: number, savepointId: number): void {
    this.#endedInputs.set(channel, savepointId);
    this.#drainedBy = Math.max(this.#drainedBy, savepointId);
  }

  /** `null`: it goes on. */
  endOf(channel: number): number | null {
    return this.#endedInputs.get(channel) ?? null;
  }

  /** Whether the source is to say `end` now, for a savepoint. */
  drainNow(): boolean {
    if (this.drainTrigger === null) return false;
    this.#drainedBy = this.drainTrigger.checkpointId;
    return true;
  }

  /**
   * The savepoint has failed. Answers an error if the task cannot go on: what was flushed cannot be
   * taken back, so only a restore brings the job to where it was.
   */
  aborted(checkpointId: number, task: string): WeirError | null {
    if (this.suspendedBy === checkpointId) this.suspendedBy = null;
    const draining = this.drainTrigger?.checkpointId ?? this.#drainedBy;
    if (draining !== checkpointId) return null;
    return new WeirError(
      'transient',
      `${task} had flushed its results for savepoint ${checkpointId}, which failed: it goes back ` +
        'to the last checkpoint',
      { code: 'CHECKPOINT_DECLINED' },
    );
  }
}
