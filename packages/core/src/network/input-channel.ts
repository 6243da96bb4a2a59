/**
 * The receiving end of one channel: a queue in the order of the wire, barriers among the frames.
 * Invariants: numbered frames arrive without gap or repeat (`received`), a control frame arrives
 * exactly at its `at`, what belongs to another connection is dropped, and at most `window` numbered
 * frames are queued, since the producer sends none beyond the credit it was given.
 * Used by `InputGate` only; tasks see its read-only side.
 */
import { assert } from '../base/assert.ts';
import type { ExecutionRef } from '../base/ids.ts';
import type { ChannelDescriptor } from '../protocol/messages.ts';
import { compareConnections, isNumbered } from './frame.ts';
import type { Connection, CreditMessage, Frame, FrameMessage, SubscribeMessage } from './frame.ts';

export interface InputChannelOptions {
  readonly descriptor: ChannelDescriptor;
  /** Input of the operator this channel feeds: 0, or 1 for a second input. */
  readonly inputIndex: number;
  /** Place in the gate. */
  readonly index: number;
  /** Numbered frames held at most. */
  readonly window: number;
}

export class InputChannel {
  readonly descriptor: ChannelDescriptor;
  readonly inputIndex: number;
  readonly index: number;
  readonly #window: number;
  readonly #consumer: ExecutionRef;

  #queue: Frame[] = [];
  #k = 0;
  #received = 0;
  #taken = 0;
  #blocked = false;
  #closed = false;
  #connection: Connection | null = null;
  #subscribes = 0;
  /** Frames the producer may still send. */
  #granted = 0;
  /** `at` of barriers taken from the queue whose checkpoint is not over. */
  #marks = new Map<number, number>();

  constructor(options: InputChannelOptions) {
    this.descriptor = options.descriptor;
    this.inputIndex = options.inputIndex;
    this.index = options.index;
    this.#window = options.window;
    this.#consumer = options.descriptor.consumer;
  }

  get channelId(): number {
    return this.descriptor.channelId;
  }

  /** The task's state contains exactly the numbered frames below. */
  get k(): number {
    return this.#k;
  }

  /** Number of the next frame to arrive. */
  get received(): number {
    return this.#received;
  }

  /** Frames in the queue, control frames too. */
  get queued(): number {
    return this.#queue.length;
  }

  get isBlocked(): boolean {
    return this.#blocked;
  }

  /** Its end of partition was taken: nothing will come any more. */
  get isClosed(): boolean {
    return this.#closed;
  }

  restore(mark: number): void {
    assert(this.#connection === null, 'restored a channel that is in use');
    this.#k = mark;
    this.#taken = mark;
    this.#received = mark;
  }

  /** A new connection, which takes up where the last frame arrived. */
  subscribe(ignoreUpTo: number): SubscribeMessage {
    this.#connection = { consumerAttempt: this.#consumer.attempt, subscribe: this.#subscribes++ };
    this.#granted = Math.max(0, this.#window - (this.#received - this.#k));
    return {
      type: 'subscribe',
      channelId: this.channelId,
      producerAttempt: this.descriptor.producer.attempt,
      connection: this.#connection,
      from: this.#received,
      ignoreUpTo,
      credit: this.#granted,
    };
  }

  /** Queues a frame; false when it belongs to another connection. */
  receive(message: FrameMessage): boolean {
    if (this.#connection === null) return false;
    if (compareConnections(message.connection, this.#connection) !== 0) return false;
    assert(message.position === this.#received, 'a frame is not where it says it is');
    assert(!this.#closed, 'a frame came after the end of the partition');
    if (isNumbered(message.frame)) {
      assert(this.#granted > 0, 'a producer sent more than it was allowed');
      this.#granted--;
      this.#received++;
    }
    this.#queue.push(message.frame);
    return true;
  }

  /** Takes the head of the queue. */
  take(): Frame | null {
    const frame = this.#queue.shift();
    if (frame === undefined) return null;
    if (isNumbered(frame)) this.#taken++;
    if (frame.kind === 'barrier') this.#marks.set(frame.trigger.checkpointId, this.#taken);
    if (frame.kind === 'endOfPartition') {
      assert(this.#queue.length === 0, 'frames stand behind the end of the partition');
      this.#closed = true;
    }
    return frame;
  }

  /** The frame taken is now part of the task's state. Gives credit, in halves of the window. */
  consume(): CreditMessage | null {
    assert(this.#k + 1 === this.#taken, 'consumed a frame that was not taken');
    this.#k++;
    const free = this.#window - (this.#received - this.#k) - this.#granted;
    if (this.#connection === null || free * 2 < this.#window) return null;
    this.#granted += free;
    return {
      type: 'credit',
      channelId: this.channelId,
      connection: this.#connection,
      credit: free,
    };
  }

  block(): void {
    this.#blocked = true;
  }

  unblock(): void {
    this.#blocked = false;
  }

  /**
   * Where checkpoint `id` cuts this channel. A channel that brought no barrier (its producer has
   * ended) is cut where the task stands. With barriers not aligned the task may have gone past the
   * mark; those frames come again after a restore.
   */
  markOf(id: number): number {
    return this.#marks.get(id) ?? this.#k;
  }

  /** Checkpoints up to `id` are over. */
  forgetMarks(id: number): void {
    for (const other of this.#marks.keys()) if (other <= id) this.#marks.delete(other);
  }
}
