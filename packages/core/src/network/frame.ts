/**
 * What travels on a channel. Numbered frames (records, watermarks, idleness, end of data) are
 * numbered per channel in the order of production; the number of a frame never changes. Control
 * frames carry no number but `at`, the number of the next numbered frame behind them on the wire.
 */
import { compareAttempts } from '../base/ids.ts';
import type { Attempt, OperatorId } from '../base/ids.ts';
import type { RecordBatch } from '../base/records.ts';
import type { CheckpointTrigger } from '../protocol/messages.ts';

export type NumberedFrame =
  | { readonly kind: 'records'; readonly batch: RecordBatch }
  | { readonly kind: 'watermark'; readonly timestamp: number }
  | { readonly kind: 'idle'; readonly idle: boolean }
  /**
   * No records follow, and no event time. `savepointId`: of the savepoint that stops the job for
   * good, whose barrier follows; 0: the data has ended by itself.
   */
  | { readonly kind: 'endOfData'; readonly savepointId: number };

export type BarrierFrame = {
  readonly kind: 'barrier';
  readonly trigger: CheckpointTrigger;
  readonly unaligned: boolean;
};

/** A source's mark of the time, which goes the way of its records: it is one of them to time. */
export interface LatencyMarker {
  /** The source, and which of its subtasks. */
  readonly sourceId: OperatorId;
  readonly sourceSubtask: number;
  /** Wall-clock milliseconds at which it was made. */
  readonly markedAt: number;
}

export type ControlFrame =
  | BarrierFrame
  /** Belongs to no state: not numbered, never sent again. */
  | { readonly kind: 'latency'; readonly marker: LatencyMarker }
  | { readonly kind: 'cancel'; readonly checkpointId: number }
  /** The producer is gone for good: no barrier will come from this channel. */
  | { readonly kind: 'endOfPartition' };

export type Frame = NumberedFrame | ControlFrame;

/** Names the pair of attempts a frame is for; `subscribe` counts the consumer's subscribes. */
export interface Connection {
  readonly consumerAttempt: Attempt;
  readonly subscribe: number;
}

export interface FrameMessage {
  readonly type: 'frame';
  readonly channelId: number;
  readonly connection: Connection;
  /** Number of a numbered frame, `at` of a control frame. */
  readonly position: number;
  readonly frame: Frame;
}

export interface SubscribeMessage {
  readonly type: 'subscribe';
  readonly channelId: number;
  readonly producerAttempt: Attempt;
  readonly connection: Connection;
  /** Number of the first frame wanted. */
  readonly from: number;
  /** Barriers with an id up to this are not wanted. */
  readonly ignoreUpTo: number;
  /** Numbered frames the consumer can take at once. */
  readonly credit: number;
}

export interface CreditMessage {
  readonly type: 'credit';
  readonly channelId: number;
  readonly connection: Connection;
  /** Numbered frames the consumer can take on top of what it promised before. */
  readonly credit: number;
}

/** A frame on its way, and the messages that go the other way on the same link. */
export type WireMessage = FrameMessage | SubscribeMessage | CreditMessage;

export function isNumbered(frame: Frame): frame is NumberedFrame {
  switch (frame.kind) {
    case 'records':
    case 'watermark':
    case 'idle':
    case 'endOfData':
      return true;
    default:
      return false;
  }
}

/** Connections of a channel only rise: by the consumer's attempt, then by its subscribes. */
export function compareConnections(a: Connection, b: Connection): number {
  return compareAttempts(a.consumerAttempt, b.consumerAttempt) || a.subscribe - b.subscribe;
}
