/**
 * All input channels of a subtask. The task polls it for the next frame of a channel that is not
 * blocked, fairly round robin; control frames come in the order of the queue. A channel that waits
 * costs nothing: only channels with frames are looked at.
 */
import { assert } from '../base/assert.ts';
import type { ExecutionRef } from '../base/ids.ts';
import type { ChannelDescriptor } from '../protocol/messages.ts';
import { isNumbered } from './frame.ts';
import type { CreditMessage, Frame, FrameMessage, SubscribeMessage } from './frame.ts';
import { InputChannel } from './input-channel.ts';

/** Numbered frames a channel holds at most: what alignment can buffer, and what hides latency. */
export const CHANNEL_WINDOW = 4;

export interface InputGateOptions {
  readonly execution: ExecutionRef;
  readonly inputs: readonly {
    readonly channel: ChannelDescriptor;
    /** Input of the operator: 0, or 1 for a second input. */
    readonly inputIndex: number;
  }[];
  /** Frames are there to be polled. May be called often; must not poll. */
  readonly onAvailable?: () => void;
  readonly window?: number;
}

export interface PolledFrame {
  readonly channel: InputChannel;
  readonly frame: Frame;
}

export interface InputPosition {
  readonly channelId: number;
  readonly k: number;
  readonly mark: number;
}

/** Takes a message to the producer of a channel. */
export type SendUpstream = (
  channel: ChannelDescriptor,
  message: SubscribeMessage | CreditMessage,
) => void;

export class InputGate {
  readonly execution: ExecutionRef;
  readonly channels: readonly InputChannel[];
  readonly #onAvailable: () => void;
  readonly #byId: ReadonlyMap<number, InputChannel>;
  /** Channels that have frames and are not blocked, in the order of their turn. */
  #ready: InputChannel[] = [];
  #isReady: boolean[];
  /** Channel whose numbered frame the task is working on. */
  #inHand: InputChannel | null = null;
  #send: SendUpstream | null = null;

  constructor(options: InputGateOptions) {
    this.execution = options.execution;
    this.#onAvailable = options.onAvailable ?? ((): void => undefined);
    const { window = CHANNEL_WINDOW } = options;
    this.channels = options.inputs.map(
      ({ channel, inputIndex }, index) =>
        new InputChannel({ descriptor: channel, inputIndex, index, window }),
    );
    this.#byId = new Map(this.channels.map((channel) => [channel.channelId, channel]));
    this.#isReady = this.channels.map(() => false);
  }

  /** There is a frame to poll. */
  get isAvailable(): boolean {
    return this.#ready.length > 0;
  }

  /** Every channel has ended. */
  get isFinished(): boolean {
    return this.channels.every((channel) => channel.isClosed);
  }

  /** Called by the exchange when the gate is registered. */
  attach(send: SendUpstream): void {
    this.#send = send;
  }

  /** Before `subscribeAll`. Channels not named start at 0. */
  restore(positions: readonly { readonly channelId: number; readonly mark: number }[]): void {
    for (const { channelId, mark } of positions) this.#byId.get(channelId)?.restore(mark);
  }

  /** Asks every producer for its frames. Barriers with an id up to `ignoreUpTo` are not wanted. */
  subscribeAll(ignoreUpTo: number): void {
    for (const channel of this.channels) this.subscribe(channel, ignoreUpTo);
  }

  /** Asks again, from where the last frame arrived: after a connection broke. */
  subscribe(channel: InputChannel, ignoreUpTo: number): void {
    this.#upstream(channel, channel.subscribe(ignoreUpTo));
  }

  /** From the exchange. False: not for this gate, or of another connection. */
  receive(message: FrameMessage): boolean {
    const channel = this.#byId.get(message.channelId);
    if (channel === undefined || !channel.receive(message)) return false;
    this.#announce(channel);
    return true;
  }

  /** The next frame, or null. A numbered frame polled before counts as consumed. */
  poll(): PolledFrame | null {
    this.consumed();
    const channel = this.#ready.shift();
    if (channel === undefined) return null;
    this.#isReady[channel.index] = false;
    const frame = channel.take();
    assert(frame !== null, 'a channel without frames was ready');
    if (isNumbered(frame)) this.#inHand = channel;
    this.#makeReady(channel);
    return { channel, frame };
  }

  /** The numbered frame polled last is in the state now: `k` rises, the producer gets credit. */
  consumed(): void {
    const channel = this.#inHand;
    if (channel === null) return;
    this.#inHand = null;
    const credit = channel.consume();
    if (credit !== null) this.#upstream(channel, credit);
  }

  /** No frame of this channel is polled until it is unblocked. */
  block(channel: InputChannel): void {
    channel.block();
    if (!this.#isReady[channel.index]) return;
    this.#isReady[channel.index] = false;
    this.#ready = this.#ready.filter((other) => other !== channel);
  }

  unblock(channel: InputChannel): void {
    channel.unblock();
    this.#announce(channel);
  }

  unblockAll(): void {
    for (const channel of this.channels) if (channel.isBlocked) this.unblock(channel);
  }

  /** Where checkpoint `id` cuts the inputs. Between frames only. Forgets older checkpoints. */
  positions(checkpointId: number): readonly InputPosition[] {
    assert(this.#inHand === null, 'a snapshot in the middle of a frame');
    const positions = this.channels.map((channel) => {
      const mark = channel.markOf(checkpointId);
      return { channelId: channel.channelId, k: Math.min(channel.k, mark), mark };
    });
    this.forgetMarks(checkpointId);
    return positions;
  }

  /** Checkpoints up to this one are over. */
  forgetMarks(checkpointId: number): void {
    for (const channel of this.channels) channel.forgetMarks(checkpointId);
  }

  #makeReady(channel: InputChannel): void {
    if (channel.isBlocked || channel.queued === 0 || this.#isReady[channel.index]) return;
    this.#isReady[channel.index] = true;
    this.#ready.push(channel);
  }

  #announce(channel: InputChannel): void {
    const wasAvailable = this.isAvailable;
    this.#makeReady(channel);
    if (!wasAvailable && this.isAvailable) this.#onAvailable();
  }

  #upstream(channel: InputChannel, message: SubscribeMessage | CreditMessage): void {
    assert(this.#send !== null, 'the gate is not registered at an exchange');
    this.#send(channel.descriptor, message);
  }
}
