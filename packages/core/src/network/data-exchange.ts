/**
 * The crossing of one thread: knows the partitions and gates of all tasks in this thread (of one
 * job, since channel ids are unique in a job only) and takes messages between them and to other
 * threads. In the same thread a frame is handed over by reference, at once; to another thread it
 * goes through a `DataLink`. A frame is sent as soon as credit allows, so nothing is ever scanned:
 * only channels that wait for room in a link are kept in a list, which `pump` goes through.
 */
import { assert } from '../base/assert.ts';
import { compareAttempts, isSameAttempt } from '../base/ids.ts';
import type { Attempt, ExecutionRef } from '../base/ids.ts';
import type { ChannelDescriptor } from '../protocol/messages.ts';
import { compareConnections } from './frame.ts';
import type { CreditMessage, FrameMessage, SubscribeMessage, WireMessage } from './frame.ts';
import type { InputGate } from './input-gate.ts';
import type { ResultPartition } from './result-partition.ts';
import type { ResultSubpartition } from './result-subpartition.ts';

/** Two-way connection to another thread. Keeps the order of messages. */
export interface DataLink {
  /**
   * Takes the message, or refuses: false only for numbered frames, which then wait until `poll`
   * has made room. Throws `SerializationError` for a value that cannot be encoded.
   */
  send(message: WireMessage): boolean;
  /** Moves what is under way in either direction. True when anything moved. */
  poll(receive: (message: WireMessage) => void): boolean;
}

export interface ExchangeOptions {
  readonly threadId: number;
  /** Thread that runs a slot. */
  readonly threadOfSlot: (slot: number) => number;
  /** A frame arrived, or a partition may go on: the slot's loop has work. May be called often. */
  readonly onActivity?: () => void;
  /** A consumer asked for frames that are no longer kept: its job must restart as a whole. */
  readonly onUnavailable?: (channel: ChannelDescriptor, consumerAttempt: Attempt) => void;
}

interface LinkEntry {
  readonly link: DataLink;
  readonly receive: (message: WireMessage) => void;
}

interface PendingSubscribe {
  readonly message: SubscribeMessage;
  readonly fromThread: number;
}

export class DataExchange {
  readonly #options: ExchangeOptions;
  readonly #links = new Map<number, LinkEntry>();
  readonly #removedLinks = new Set<number>();
  readonly #gates = new Map<number, InputGate>();
  readonly #subpartitions = new Map<number, ResultSubpartition>();
  /** Subscribes that came before their producer, by channel. */
  readonly #pending = new Map<number, PendingSubscribe>();
  /** Wait for room in a link. */
  #waiting = new Set<ResultSubpartition>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Before any task here talks to that thread. */
  addLink(threadId: number, link: DataLink): void {
    const receive = (message: WireMessage): void => this.receive(message, threadId);
    this.#links.set(threadId, { link, receive });
    this.#removedLinks.delete(threadId);
  }

  /** The thread died: what is meant for it is dropped from now on. */
  removeLink(threadId: number): void {
    this.#links.delete(threadId);
    this.#removedLinks.add(threadId);
    this.#retryWaiting();
  }

  /**
   * From now on consumers can subscribe, those that were early at once. Ignored when a newer
   * attempt of the producer is here: its deployment overtook this one.
   */
  registerPartition(partition: ResultPartition): void {
    for (const subpartition of partition.subpartitions) {
      const { channelId } = subpartition.descriptor;
      const present = this.#subpartitions.get(channelId);
      if (present && compareAttempts(attemptOf(present), attemptOf(subpartition)) > 0) continue;
      this.#subpartitions.set(channelId, subpartition);
      const pending = this.#pending.get(channelId);
      if (pending === undefined) continue;
      this.#pending.delete(channelId);
      this.#subscribe(pending.message, pending.fromThread);
    }
  }

  /** From now on frames find their way to this gate, unless a newer attempt has one. */
  registerGate(gate: InputGate): void {
    gate.attach((channel, message) => this.#sendUpstream(channel, message));
    for (const { channelId } of gate.channels) {
      const other = this.#gates.get(channelId);
      if (other && compareAttempts(other.execution.attempt, gate.execution.attempt) > 0) continue;
      this.#gates.set(channelId, gate);
    }
  }

  /** Forgets partitions and gates of an execution that has ended. */
  unregister(execution: ExecutionRef): void {
    for (const [channelId, gate] of this.#gates)
      if (isSameExecution(gate.execution, execution)) this.#gates.delete(channelId);
    for (const [channelId, subpartition] of this.#subpartitions) {
      if (!isSameExecution(subpartition.descriptor.producer, execution)) continue;
      this.#subpartitions.delete(channelId);
      this.#waiting.delete(subpartition);
    }
  }

  /** A message from a thread: by a link, or by a task of this thread. */
  receive(message: WireMessage, fromThread: number): void {
    switch (message.type) {
      case 'frame':
        if (this.#gates.get(message.channelId)?.receive(message) === true) this.#activity();
        return;
      case 'subscribe':
        return this.#subscribe(message, fromThread);
      case 'credit':
        if (this.#subpartitions.get(message.channelId)?.grant(message) === true) this.#activity();
    }
  }

  /** Moves messages of all links, and sends what waited for room. True when anything moved. */
  pump(): boolean {
    let moved = false;
    for (const { link, receive } of this.#links.values()) moved = link.poll(receive) || moved;
    if (moved && this.#waiting.size > 0) this.#retryWaiting();
    return moved;
  }

  #retryWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const subpartition of waiting) subpartition.transmit();
    this.#activity();
  }

  /** To the producer's attempt if it is here; else the newest is kept: it may still come. */
  #subscribe(message: SubscribeMessage, fromThread: number): void {
    const { channelId, producerAttempt } = message;
    const present = this.#subpartitions.get(channelId);
    if (present && isSameAttempt(attemptOf(present), producerAttempt)) {
      this.#connect(present, message, fromThread);
      return;
    }
    const pending = this.#pending.get(channelId)?.message;
    if (pending !== undefined && compareSubscribes(message, pending) < 0) return;
    this.#pending.set(channelId, { message, fromThread });
  }

  #connect(to: ResultSubpartition, message: SubscribeMessage, fromThread: number): void {
    const outcome = to.subscribe(message, (frame, sender) =>
      this.#sendDownstream(fromThread, frame, sender),
    );
    if (outcome === 'unavailable')
      this.#options.onUnavailable?.(to.descriptor, message.connection.consumerAttempt);
    this.#activity();
  }

  #sendUpstream(channel: ChannelDescriptor, message: SubscribeMessage | CreditMessage): void {
    this.#deliver(this.#options.threadOfSlot(channel.producerSlot), message);
  }

  #sendDownstream(thread: number, message: FrameMessage, sender: ResultSubpartition): boolean {
    if (this.#deliver(thread, message)) return true;
    this.#waiting.add(sender);
    return false;
  }

  #deliver(thread: number, message: WireMessage): boolean {
    const { threadId } = this.#options;
    if (thread === threadId) {
      this.receive(message, threadId);
      return true;
    }
    const entry = this.#links.get(thread);
    if (entry !== undefined) return entry.link.send(message);
    assert(this.#removedLinks.has(thread), `there is no link to thread ${thread}`);
    return true;
  }

  #activity(): void {
    this.#options.onActivity?.();
  }
}

export function createExchange(options: ExchangeOptions): DataExchange {
  return new DataExchange(options);
}

function attemptOf(subpartition: ResultSubpartition): Attempt {
  return subpartition.descriptor.producer.attempt;
}

function isSameExecution(a: ExecutionRef, b: ExecutionRef): boolean {
  return (
    a.vertexId === b.vertexId && a.subtask === b.subtask && isSameAttempt(a.attempt, b.attempt)
  );
}

function compareSubscribes(a: SubscribeMessage, b: SubscribeMessage): number {
  return (
    compareAttempts(a.producerAttempt, b.producerAttempt) ||
    compareConnections(a.connection, b.connection)
  );
}
