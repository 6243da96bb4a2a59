/**
 * A clock for tests of connectors: when nothing else runs, it moves on to the next call that is due
 * within a short time, so retries and lingering take no real time. Longer waits, such as the
 * time-outs of transactions, pass only when `advance` says so.
 */
import type { Clock, Timer } from '@weir/core';

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly fn: () => void;
  isCancelled: boolean;
}

/** What is due within so long needs no `advance`. */
export const AUTO_MS = 1500;
const EPOCH_MS = 1_700_000_000_000;

export class AutoClock implements Clock {
  #now = 0;
  #order = 0;
  #entries: Entry[] = [];
  #isPumping = false;
  #held = 0;

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return EPOCH_MS + this.#now;
  }

  schedule(delayMs: number, _label: string, fn: () => void): Timer {
    const at = this.#now + Math.max(0, delayMs);
    const entry: Entry = { at, order: this.#order++, fn, isCancelled: false };
    this.#entries.push(entry);
    this.#pump();
    return {
      cancel: () => {
        entry.isCancelled = true;
      },
    };
  }

  defer(label: string, fn: () => void): Timer {
    return this.schedule(0, label, fn);
  }

  /** Lets time pass; what is due runs soon after. */
  advance(ms: number): void {
    this.#now += ms;
    this.#pump();
  }

  /** Time stands still while a real system does something: retries must not run out meanwhile. */
  async standStill(work: () => void | Promise<void>): Promise<void> {
    this.#held++;
    try {
      await work();
    } finally {
      this.#held--;
      this.#pump();
    }
  }

  /** How long the next call is still away that waits for `advance`; `null`: none does. */
  get waitsForMs(): number | null {
    const due = this.#entries.filter((entry) => !entry.isCancelled).map(({ at }) => at - this.#now);
    return due.length === 0 ? null : Math.min(...due);
  }

  #pump(): void {
    if (this.#isPumping || this.#held > 0) return;
    this.#isPumping = true;
    setImmediate(() => {
      this.#isPumping = false;
      if (this.#held > 0) return;
      const next = this.#next();
      if (next === undefined) return;
      this.#entries = this.#entries.filter((entry) => entry !== next && !entry.isCancelled);
      this.#now = Math.max(this.#now, next.at);
      next.fn();
      this.#pump();
    });
  }

  #next(): Entry | undefined {
    let first: Entry | undefined;
    for (const entry of this.#entries) {
      if (entry.isCancelled || entry.at > this.#now + AUTO_MS) continue;
      if (first === undefined || entry.at < first.at) first = entry;
      else if (entry.at === first.at && entry.order < first.order) first = entry;
    }
    return first;
  }
}
