/**
 * Time and the order in which things run. Engine code never touches timers or the wall clock: it is
 * handed a `Clock`, so that a simulation can hold time still and choose every interleaving.
 */

/** A pending call; cancelling twice, or after it ran, does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds on a monotonic clock: intervals, time-outs, ages. Never jumps. */
  now(): number;
  /** Milliseconds since the Unix epoch: only for what users see or store (file names, timers). */
  wallTime(): number;
  /** Runs `fn` once, `delayMs` from now. `label` names it in traces. */
  schedule(delayMs: number, label: string, fn: () => void): Timer;
  /** Runs `fn` soon, after pending I/O had its turn: how a long computation yields. */
  defer(label: string, fn: () => void): Timer;
}

/** Resolves after `delayMs` of the given clock. */
export function sleep(clock: Clock, delayMs: number, label = 'sleep'): Promise<void> {
  return new Promise((resolve) => {
    clock.schedule(delayMs, label, resolve);
  });
}

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly fn: () => void;
  cancelled: boolean;
}

/**
 * A clock that moves only when told to: for tests. Calls due at the same time run in the order
 * asked.
 */
export class ManualClock implements Clock {
  #now: number;
  #wallOffset: number;
  #order = 0;
  #entries: Entry[] = [];

  constructor(now = 0, wallTime = 1_700_000_000_000) {
    this.#now = now;
    this.#wallOffset = wallTime - now;
  }

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return this.#now + this.#wallOffset;
  }

  /** Moves the wall clock alone, as an administrator or NTP would. */
  jumpWallTime(byMs: number): void {
    this.#wallOffset += byMs;
  }

  schedule(delayMs: number, _label: string, fn: () => void): Timer {
    const entry: Entry = {
      at: this.#now + Math.max(0, delayMs),
      order: this.#order++,
      fn,
      cancelled: false,
    };
    this.#entries.push(entry);
    return {
      cancel: () => {
        entry.cancelled = true;
      },
    };
  }

  defer(label: string, fn: () => void): Timer {
    return this.schedule(0, label, fn);
  }

  /** Runs everything due within the next `ms`, in order of time; then the clock stands there. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const next = this.#takeNext(until);
      if (next === null) break;
      this.#now = Math.max(this.#now, next.at);
      next.fn();
    }
    this.#now = until;
  }

  /** Number of calls not yet run and not cancelled. */
  pendingCount(): number {
    return this.#entries.filter((entry) => !entry.cancelled).length;
  }

  #takeNext(until: number): Entry | null {
    let best: Entry | null = null;
    for (const entry of this.#entries) {
      if (entry.cancelled || entry.at > until) continue;
      if (best === null || entry.at < best.at || (entry.at === best.at && entry.order < best.order))
        best = entry;
    }
    this.#entries = this.#entries.filter((entry) => entry !== best && !entry.cancelled);
    return best;
  }
}
