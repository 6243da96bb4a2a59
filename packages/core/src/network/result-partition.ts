/**
 * What a subtask sends over one outgoing edge: a subpartition per consuming subtask. The task calls
 * `emit` for every record, `flush` at the end of a slice when the buffer time-out has passed, and
 * the broadcasts, which flush first. Everything is synchronous and never blocks; the task asks
 * `isAvailable` between records and stops while it is false.
 */
import { assert } from '../base/assert.ts';
import { SerializationError } from '../base/errors.ts';
import type { WeirError } from '../base/errors.ts';
import type { ExecutionRef } from '../base/ids.ts';
import type { ChannelDescriptor, CheckpointTrigger } from '../protocol/messages.ts';
import { BatchLimit } from './batch-limit.ts';
import { ResultSubpartition } from './result-subpartition.ts';
import type { ControlFrame, LatencyMarker, NumberedFrame } from './frame.ts';

/** Unsent numbered frames per channel at which the producer stops: one being sent, one ready. */
export const UNSENT_FRAMES_MAX = 2;

export interface ResultPartitionOptions {
  readonly execution: ExecutionRef;
  /** The edge's channels, in the order of consuming subtasks. */
  readonly channels: readonly ChannelDescriptor[];
  /** Name of the operator that emits, for error messages. */
  readonly operatorName: string;
  /** A value cannot be encoded: the task must fail. Nothing more is sent on that channel. */
  readonly onError: (error: WeirError) => void;
  /** Became available again. */
  readonly onAvailable?: () => void;
  /** Keep sent frames until a checkpoint covers them. Default false. */
  readonly logged?: boolean;
  readonly unsentMax?: number;
}

/** Where a barrier stands in a channel: the frames [mark, e) belong to the producer's snapshot. */
export interface OutputMark {
  readonly channelId: number;
  readonly mark: number;
  readonly e: number;
}

export class ResultPartition {
  readonly execution: ExecutionRef;
  readonly subpartitions: readonly ResultSubpartition[];
  readonly #options: ResultPartitionOptions;
  readonly #limit = new BatchLimit();
  #fullCount = 0;

  constructor(options: ResultPartitionOptions) {
    this.execution = options.execution;
    this.#options = options;
    const { logged = false, unsentMax = UNSENT_FRAMES_MAX } = options;
    const owner = {
      onFullChanged: (full: boolean): void => this.#onFullChanged(full),
      onSendError: (error: WeirError, from: ResultSubpartition): void =>
        this.#onSendError(error, from),
    };
    this.subpartitions = options.channels.map(
      (descriptor) =>
        new ResultSubpartition({ descriptor, logged, unsentMax, limit: this.#limit }, owner),
    );
  }

  /** False: a channel has too much waiting; emit nothing until `onAvailable`. */
  get isAvailable(): boolean {
    return this.#fullCount === 0;
  }

  /** Nothing is open or waiting in any channel: the task may end. */
  get allSent(): boolean {
    return this.subpartitions.every((subpartition) => subpartition.isDrained);
  }

  /** Something waits for `flush`. */
  get isOpen(): boolean {
    return this.subpartitions.some((subpartition) => subpartition.isOpen);
  }

  /** Numbered frames waiting, over all channels. */
  get unsentFrames(): number {
    return this.subpartitions.reduce((sum, subpartition) => sum + subpartition.unsent, 0);
  }

  /** Before the partition is registered. Channels not named start at 0. */
  restore(marks: readonly { readonly channelId: number; readonly mark: number }[]): void {
    for (const { channelId, mark } of marks)
      this.subpartitions.find((it) => it.descriptor.channelId === channelId)?.restore(mark);
  }

  /** `timestamp` NaN: the record has none. The value is handed over: it must not change. */
  emit(channelIndex: number, value: unknown, timestamp: number): void {
    const subpartition = this.subpartitions[channelIndex];
    assert(subpartition !== undefined, 'emitted to a channel that does not exist');
    this.#limit.observe(value);
    subpartition.append(value, timestamp);
  }

  emitToAll(value: unknown, timestamp: number): void {
    this.#limit.observe(value);
    for (const subpartition of this.subpartitions) subpartition.append(value, timestamp);
  }

  /** Closes open batches into frames and sends what can go. */
  flush(): void {
    for (const subpartition of this.subpartitions) subpartition.flush();
  }

  /** Must not fall. Leaves with the next flush or record, of several in a row only the last. */
  broadcastWatermark(timestamp: number): void {
    for (const subpartition of this.subpartitions) subpartition.appendWatermark(timestamp);
  }

  /** Leaves as a record emitted now would, though not counted as one. */
  emitMarker(channelIndex: number, marker: LatencyMarker): void {
    const subpartition = this.subpartitions[channelIndex];
    assert(subpartition !== undefined, 'marked a channel that does not exist');
    subpartition.appendMarker(marker);
  }

  broadcastIdle(idle: boolean): void {
    this.#broadcast({ kind: 'idle', idle });
  }

  /** `savepointId`: of the savepoint that stops the job; 0: the data has ended by itself. */
  broadcastEndOfData(savepointId: number): void {
    this.#broadcast({ kind: 'endOfData', savepointId });
  }

  /** Aligned: the barrier goes behind everything emitted so far, so `mark` equals `e`. */
  broadcastBarrier(trigger: CheckpointTrigger): readonly OutputMark[] {
    const frame: ControlFrame = { kind: 'barrier', trigger, unaligned: false };
    return this.subpartitions.map((subpartition) => {
      const at = subpartition.appendControl(frame);
      return { channelId: subpartition.descriptor.channelId, mark: at, e: at };
    });
  }

  /** Tells consumers not to wait for this checkpoint; its barrier is taken back if still unsent. */
  broadcastCancel(checkpointId: number): void {
    this.abort(checkpointId);
    this.#broadcastControl({ kind: 'cancel', checkpointId });
  }

  /** The last thing on every channel. */
  broadcastEndOfPartition(): void {
    this.#broadcastControl({ kind: 'endOfPartition' });
  }

  notifyComplete(checkpointId: number): void {
    for (const subpartition of this.subpartitions) subpartition.complete(checkpointId);
  }

  abort(checkpointId: number): void {
    for (const subpartition of this.subpartitions) subpartition.abort(checkpointId);
  }

  /** Lets go of everything: for a task that is cancelled or failed. */
  close(): void {
    for (const subpartition of this.subpartitions) subpartition.close();
  }

  #broadcast(frame: NumberedFrame): void {
    for (const subpartition of this.subpartitions) subpartition.appendFrame(frame);
  }

  #broadcastControl(frame: ControlFrame): void {
    for (const subpartition of this.subpartitions) subpartition.appendControl(frame);
  }

  #onFullChanged(full: boolean): void {
    this.#fullCount += full ? 1 : -1;
    if (this.#fullCount === 0) this.#options.onAvailable?.();
  }

  #onSendError(error: WeirError, from: ResultSubpartition): void {
    const { execution, operatorName, onError } = this.#options;
    const consumer = from.descriptor.consumer.subtask;
    const message =
      `operator "${operatorName}" in subtask ${execution.subtask} emitted a value that cannot be ` +
      `sent to subtask ${consumer} of the next operator: ${error.message}`;
    const details = { ...error.details, operator: operatorName, subtask: execution.subtask };
    onError(new SerializationError(message, { cause: error, details }));
  }
}
