/**
 * A clock for tests of the connector: when nothing else runs, it moves on to the next call that is
 * due within a short time, so retries and lingering take no real time. Longer waits (time-outs of
 * transactions) pass only when `advance` says so.
 */
import type { Clock, Timer } from '@weir/core';

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly fn: () => void;
  isCancelled: boolean;
}

const AUTO_MS = 1500;

export class AutoClock implements Clock {
  #now = 0;
  #order = 0;
  #entries: Entry[] = [];
  #isPumping = false;

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return 1_700_000_000_000 + this.#now;
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

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    setImmediate(() => {
      this.#isPumping = false;
      this.#runNext();
      if (this.#next() !== undefined) this.#pump();
    });
  }

  #runNext(): void {
    const next = this.#next();
    if (next === undefined) return;
    this.#entries = this.#entries.filter((entry) => entry !== next && !entry.isCancelled);
    this.#now = Math.max(this.#now, next.at);
    next.fn();
  }

  #next(): Entry | undefined {
    const due = this.#entries.filter((it) => !it.isCancelled && it.at <= this.#now + AUTO_MS);
    return due.toSorted((a, b) => a.at - b.at || a.order - b.order)[0];
  }
}
