/**
 * What goes into a barrier handler and what comes out. Effects are to be carried out at once and in
 * order, before any other frame is processed. Channels are named by the caller's numbers.
 */
import type { CheckpointTrigger, DeclineReason } from '../messages.ts';

export type BarrierEvent =
  /** A barrier has reached the head of a channel. */
  | {
      readonly type: 'barrier';
      readonly channel: number;
      readonly trigger: CheckpointTrigger;
      readonly now: number;
    }
  | { readonly type: 'cancel'; readonly channel: number; readonly checkpointId: number }
  | { readonly type: 'endOfPartition'; readonly channel: number; readonly now: number }
  /** The coordinator says that a checkpoint is aborted; may come late or never. */
  | { readonly type: 'aborted'; readonly checkpointId: number }
  /** The coordinator triggers this task itself: a source, or all that fed it has finished. */
  | { readonly type: 'triggered'; readonly trigger: CheckpointTrigger; readonly now: number };

export type BarrierEffect =
  /** Take nothing more from this channel until `unblock`. */
  | { readonly type: 'block'; readonly channel: number }
  | { readonly type: 'unblock'; readonly channels: readonly number[] }
  /**
   * In one step: broadcast the barrier and take the synchronous part of the snapshot.
   * `alignmentStart`: when the first barrier of this checkpoint arrived.
   */
  | {
      readonly type: 'snapshot';
      readonly trigger: CheckpointTrigger;
      readonly alignmentStart: number;
    }
  /** Tell what is downstream not to wait for a barrier of this checkpoint. */
  | { readonly type: 'broadcastCancel'; readonly checkpointId: number }
  | {
      readonly type: 'decline';
      readonly checkpointId: number;
      readonly reason: DeclineReason;
      readonly message: string;
    };

export interface BarrierHandler {
  /** Highest id that is over here: finished, aborted or to be ignored. Never falls. */
  readonly done: number;
  handle(event: BarrierEvent): readonly BarrierEffect[];
}

export interface BarrierHandlerOptions {
  /** Channels that are open; none for a source. */
  readonly channels: readonly number[];
  /** Barriers up to this id belong to earlier attempts. */
  readonly ignoreUpTo: number;
  /** `execution.checkpointing.checkpoints-after-tasks-finish`. */
  readonly checkpointsAfterTasksFinish: boolean;
}

/** The events of one type. */
export type EventOf<T extends BarrierEvent['type']> = Extract<BarrierEvent, { type: T }>;

/** A checkpoint that this task gives up of itself: the coordinator and downstream must know. */
export function giveUp(
  checkpointId: number,
  reason: DeclineReason,
  message: string,
): readonly BarrierEffect[] {
  return [
    { type: 'decline', checkpointId, reason, message },
    { type: 'broadcastCancel', checkpointId },
  ];
}
