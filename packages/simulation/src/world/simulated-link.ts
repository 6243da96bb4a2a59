/**
 * The rings between two threads: order is kept, room is bounded for numbered frames as in a ring,
 * everything arrives after a while, later when the link is clogged. Messages to a dead thread
 * vanish with it.
 */
import type { Random } from '@weir/core/internal/base/random';
import type { DataLink } from '@weir/core/internal/network/data-exchange';
import { isNumbered } from '@weir/core/internal/network/frame';
import type { WireMessage } from '@weir/core/internal/network/frame';
import type { Life } from './life.ts';
import type { Partitions } from './partitions.ts';
import type { World } from './world.ts';

export interface LinkMood {
  latencyMs: number;
  /** World time before which nothing arrives. */
  cloggedUntil: number;
}

/** One of the two threads that a link connects. */
export interface LinkOwner {
  readonly life: Life;
  readonly slot: number;
  wakeUp(): void;
}

/** Carries messages as bytes, or as they are. */
export interface MessageCopy {
  copy(message: WireMessage): WireMessage;
}

export interface LinkOptions {
  readonly mood: LinkMood;
  readonly random: Random;
  /** How much slower than the others this link is: barriers then arrive far apart. */
  readonly slowness: number;
  /** Numbered frames under way at most; more are refused, and nothing else ever is. */
  readonly capacity: number;
  readonly copy: MessageCopy;
  readonly partitions: Partitions;
}

export class SimulatedLink implements DataLink {
  readonly #world: World;
  readonly #owner: LinkOwner;
  readonly #options: LinkOptions;
  #peer: SimulatedLink | null = null;
  readonly #arrived: WireMessage[] = [];
  #underWay = 0;
  #lastArrival = 0;
  #hasRoomAgain = false;

  private constructor(world: World, owner: LinkOwner, options: LinkOptions) {
    this.#world = world;
    this.#owner = owner;
    this.#options = options;
  }

  /** Both ends of a new link. */
  static pair(
    world: World,
    owners: readonly [LinkOwner, LinkOwner],
    options: LinkOptions,
  ): readonly [SimulatedLink, SimulatedLink] {
    const a = new SimulatedLink(world, owners[0], options);
    const b = new SimulatedLink(world, owners[1], options);
    a.#peer = b;
    b.#peer = a;
    return [a, b];
  }

  send(message: WireMessage): boolean {
    const { random, mood, slowness, capacity, copy, partitions } = this.#options;
    if (takesRoom(message)) {
      if (this.#underWay >= capacity) return false;
      this.#underWay++;
    }
    const peer = this.#peer as SimulatedLink;
    const copied = copy.copy(message);
    const now = this.#world.now;
    const earliest = Math.max(
      now + random.next() * 2 * mood.latencyMs * slowness,
      mood.cloggedUntil,
      partitions.heldUntil(this.#owner.slot, peer.#owner.slot),
    );
    this.#lastArrival = Math.max(this.#lastArrival + 1e-6, earliest);
    this.#world.schedule(
      peer.#owner.life,
      this.#lastArrival - now,
      () => labelOf(message),
      () => {
        peer.#arrived.push(copied);
        peer.#owner.wakeUp();
        return 'settled';
      },
    );
    return true;
  }

  poll(receive: (message: WireMessage) => void): boolean {
    let moved = this.#hasRoomAgain;
    this.#hasRoomAgain = false;
    for (let next = this.#arrived.shift(); next !== undefined; next = this.#arrived.shift()) {
      moved = true;
      if (takesRoom(next)) (this.#peer as SimulatedLink).#taken();
      receive(next);
    }
    return moved;
  }

  #taken(): void {
    const wasFull = this.#underWay >= this.#options.capacity;
    this.#underWay--;
    if (!wasFull) return;
    this.#world.schedule(this.#owner.life, 0, 'room in link', () => {
      this.#hasRoomAgain = true;
      this.#owner.wakeUp();
      return 'settled';
    });
  }
}

function takesRoom(message: WireMessage): boolean {
  return message.type === 'frame' && isNumbered(message.frame);
}

function labelOf(message: WireMessage): string {
  if (message.type !== 'frame') return `${message.type} ${message.channelId}`;
  const { frame, channelId } = message;
  const id = frame.kind === 'barrier' ? ` ${frame.trigger.checkpointId}` : '';
  return `frame ${channelId} ${frame.kind}${id}`;
}
