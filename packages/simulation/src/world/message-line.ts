/**
 * Carries messages between the JobManager and one thread, in one direction. They keep their order
 * and arrive, as the protocol of deployments, states and splits needs it. What the protocol of
 * checkpoints says may be lost, may come twice, or late behind others, can be made to:
 *
 *                    lost   twice   late
 *   trigger           ✓       ✓      –     overtaken by a split, that split would be in the
 *                                          snapshots of both enumerator and reader
 *   acknowledge,      ✓       ✓      ✓
 *   decline, notify
 *   metrics           ✓       ✓      ✓
 */
import type { Random } from '@weir/core/internal/base/random';
import type { JobManagerMessage, TaskManagerMessage } from '@weir/core/internal/protocol/messages';
import type { Life } from './life.ts';
import { wordsOf } from './trace.ts';
import type { Label } from './trace.ts';
import type { World } from './world.ts';

export type Message = TaskManagerMessage | JobManagerMessage;

export interface MessageMood {
  /** Chances, for each message that can bear it. */
  loss: number;
  duplication: number;
  lateness: number;
}

const LOSSY: ReadonlySet<Message['type']> = new Set([
  'triggerCheckpoint',
  'acknowledgeCheckpoint',
  'declineCheckpoint',
  'notifyCheckpointComplete',
  'notifyCheckpointAborted',
  'taskMetrics',
]);

/** What comes late comes up to so much later. */
const LATE_MS = 200;

export interface MessageLineOptions {
  readonly mood: MessageMood;
  readonly random: Random;
  /** Whose event the delivery is: with it the message vanishes. */
  readonly receiver: Life;
  latencyMs(): number;
  /** World time before which nothing comes through. */
  heldUntil(): number;
}

export class MessageLine {
  readonly #world: World;
  readonly #options: MessageLineOptions;
  #lastArrival: number;

  constructor(world: World, options: MessageLineOptions) {
    this.#world = world;
    this.#options = options;
    this.#lastArrival = world.now;
  }

  send(message: Message, label: Label, deliver: () => void): void {
    const { mood, random } = this.#options;
    if (!LOSSY.has(message.type)) return this.post(label, deliver);
    const isLost = mood.loss > 0 && random.next() < mood.loss;
    const isTwice = mood.duplication > 0 && random.next() < mood.duplication;
    const mayBeLate = message.type !== 'triggerCheckpoint';
    const isLate = mayBeLate && mood.lateness > 0 && random.next() < mood.lateness;
    // The second of two is the late one, if the first is lost.
    if (isTwice && (mayBeLate || !isLost)) this.#postLate(() => `again ${wordsOf(label)}`, deliver);
    if (isLost) this.#world.note(this.#options.receiver.name, `lost ${wordsOf(label)}`);
    else if (isLate) this.#postLate(() => `late ${wordsOf(label)}`, deliver);
    else this.post(label, deliver);
  }

  /** Behind all before it. */
  post(label: Label, deliver: () => void): void {
    const arrival = Math.max(this.#lastArrival + 1e-6, this.#earliest());
    this.#lastArrival = arrival;
    this.#world.schedule(this.#options.receiver, arrival - this.#world.now, label, deliver);
  }

  #postLate(label: Label, deliver: () => void): void {
    const arrival = this.#earliest() + this.#options.random.next() * LATE_MS;
    this.#world.schedule(this.#options.receiver, arrival - this.#world.now, label, deliver);
  }

  #earliest(): number {
    return Math.max(this.#world.now + this.#options.latencyMs(), this.#options.heldUntil());
  }
}
