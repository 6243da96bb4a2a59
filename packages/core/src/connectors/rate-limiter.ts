/**
 * A token bucket on the given clock: how a reader keeps to a number of records per second. It saves
 * up a tenth of a second, so that a pause is not followed by a flood.
 */
import type { SourceReaderContext } from '../api/source.ts';
import type { Clock, Timer } from '../base/clock.ts';

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

/** A reader's share of the rate of its source, with the waking up that goes with it. */
export class ReaderRate {
  readonly #context: SourceReaderContext;
  readonly #limiter: RateLimiter | null;
  #timer: Timer | null = null;

  /** `perSecond` is for all subtasks together; `null`: no limit. */
  constructor(context: SourceReaderContext, perSecond: number | null) {
    this.#context = context;
    this.#limiter =
      perSecond === null ? null : new RateLimiter(context.clock, perSecond / context.parallelism);
  }

  available(): number {
    return this.#limiter?.available() ?? Infinity;
  }

  take(count: number): void {
    this.#limiter?.take(count);
  }

  /** What `poll` answers when nothing is available: the task is woken up in time. */
  wait(): 'nothing' {
    const delayMs = this.#limiter?.waitMs() ?? 0;
    this.#timer ??= this.#context.clock.schedule(delayMs, 'source rate', () => {
      this.#timer = null;
      this.#context.wakeUp();
    });
    return 'nothing';
  }

  close(): void {
    this.#timer?.cancel();
  }
}
