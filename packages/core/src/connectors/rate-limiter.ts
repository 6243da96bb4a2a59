/**
 * A token bucket on the given clock: how a reader keeps to a number of records per second. It saves
 * up a tenth of a second, so that a pause is not followed by a flood.
 */
import type { Clock } from '../base/clock.ts';

const BURST_SECONDS = 0.1;
/** Waking up for every single record would cost more than reading it. */
const WAKE_UP_SECONDS = 0.01;

export class RateLimiter {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens = 1;
  #countedAt: number;

  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = Math.max(1, perSecond * BURST_SECONDS);
    this.#countedAt = clock.now();
  }

  /** Records that may be read now. */
  available(): number {
    const now = this.#clock.now();
    const gained = ((now - this.#countedAt) / 1000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#countedAt = now;
    // A sum of fractions may stay a hair below the whole number it stands for.
    return Math.floor(this.#tokens + 1e-9);
  }

  take(count: number): void {
    this.#tokens -= count;
  }

  /** Milliseconds until a few records, at least one, may be read. */
  waitMs(): number {
    const wanted = Math.min(this.#burst, Math.max(1, this.#perSecond * WAKE_UP_SECONDS));
    return Math.max(0, ((wanted - this.#tokens) / this.#perSecond) * 1000);
  }
}
