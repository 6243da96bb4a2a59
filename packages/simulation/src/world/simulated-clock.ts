/**
 * The clock of one life. `now` begins with the process, as on a real machine; the wall clock is one
 * for all and can be set. Deferred work takes a little time, else a busy task would stop the world.
 */
import type { Clock, Timer } from '@weir/core/internal/base/clock';
import type { Random } from '@weir/core/internal/base/random';
import type { Life } from './life.ts';
import type { World } from './world.ts';

const EPOCH_MS = 1_700_000_000_000;
const STEP_MS_MIN = 0.005;

export interface WallClock {
  /** How far it was set ahead or back. */
  offsetMs: number;
}

export interface ClockPace {
  /** Mean time of one step of a thread's loop. */
  readonly stepMs: number;
  /** Timers fire up to so much late. */
  readonly jitterMs: number;
}

export class SimulatedClock implements Clock {
  readonly life: Life;
  readonly #world: World;
  readonly #wall: WallClock;
  readonly #pace: ClockPace;
  readonly #random: Random;

  constructor(
    world: World,
    life: Life,
    options: { readonly wall: WallClock; readonly pace: ClockPace },
  ) {
    this.#world = world;
    this.life = life;
    this.#wall = options.wall;
    this.#pace = options.pace;
    this.#random = world.random(`clock ${life.name}`);
  }

  now(): number {
    return this.#world.now - this.life.startedAt;
  }

  wallTime(): number {
    return Math.floor(EPOCH_MS + this.#world.now + this.#wall.offsetMs);
  }

  schedule(delayMs: number, label: string, fn: () => void): Timer {
    if (delayMs === Infinity) return { cancel: () => undefined };
    const { jitterMs } = this.#pace;
    const late = jitterMs === 0 ? 0 : this.#random.next() * jitterMs;
    return this.#world.schedule(this.life, Math.max(1, Math.ceil(delayMs)) + late, label, fn);
  }

  defer(label: string, fn: () => void): Timer {
    const delayMs = STEP_MS_MIN + this.#random.next() * 2 * this.#pace.stepMs;
    return this.#world.schedule(this.life, delayMs, label, fn);
  }
}

/** Whose clock it is: connectors are given no more of the life they run in. */
export function lifeOf(clock: Clock): Life {
  if (clock instanceof SimulatedClock) return clock.life;
  throw new Error('a simulated connector was given a clock that is not simulated');
}
