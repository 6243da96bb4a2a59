/**
 * Time and order for everything in a simulation. One event runs at a time; after it every promise
 * that can go on has gone on, so nothing is ever half done between two events, and a crash falls
 * between them. Time moves only when the next event is taken.
 */
import type { Timer } from '@weir/core/internal/base/clock';
import { seededRandom } from '@weir/core/internal/base/random';
import type { Random } from '@weir/core/internal/base/random';
import { EventQueue } from './event-queue.ts';
import type { EventAction, WorldEvent } from './event-queue.ts';
import type { Life } from './life.ts';
import { Trace, wordsOf } from './trace.ts';
import type { Label } from './trace.ts';

/** What ends a run early: an invariant does not hold. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

export interface WorldOptions {
  readonly seed: number;
  readonly keepsTrace: boolean;
  /** Instead of one made from the seed: an exhaustive search draws its choices here. */
  readonly root?: Random;
}

/** How a run ends: as asked; with nothing left to happen; or with the time. */
export type RunEnd = 'over' | 'stuck' | 'late';

/** Sees each event before and after it runs, and remarks. */
export type Watcher = (who: string, what: string, when: 'before' | 'after' | 'remark') => void;

export class World {
  readonly seed: number;
  readonly trace: Trace;
  /** For faults that wait for their moment. */
  watcher: Watcher | null = null;
  readonly #root: Random;
  readonly #ties: Random;
  readonly #queue = new EventQueue();
  #now = 0;
  #sequence = 0;
  #events = 0;
  #violation: Violation | null = null;
  /** The event that promises are still busy with, for the watcher. */
  #underWay: { readonly who: string; readonly words: string } | null = null;

  constructor({ seed, keepsTrace, root = seededRandom(seed) }: WorldOptions) {
    this.seed = seed;
    this.trace = new Trace(keepsTrace);
    this.#root = root;
    this.#ties = this.random('ties');
  }

  /** Milliseconds since the world began. */
  get now(): number {
    return this.#now;
  }

  /** Number of events that have run. */
  get eventCount(): number {
    return this.#events;
  }

  get violation(): Violation | null {
    return this.#violation;
  }

  /** An independent stream of random numbers. */
  random(label: string): Random {
    return this.#root.derive(label);
  }

  schedule(life: Life | null, delayMs: number, label: Label, fn: EventAction): Timer {
    const event: WorldEvent = {
      at: this.#now + Math.max(0, delayMs),
      tie: this.#ties.next(),
      sequence: this.#sequence++,
      life,
      label,
      fn,
      cancelled: false,
      cancel: cancelEvent,
    };
    this.#queue.push(event);
    return event;
  }

  /** Remarks in the trace. */
  note(who: string, what: string): void {
    this.trace.remark(this.#now, who, what);
    this.watcher?.(who, what, 'remark');
  }

  /** An invariant does not hold. Also reached from code that swallows what is thrown. */
  violated(message: string): void {
    this.#violation ??= new Violation(message);
  }

  check(holds: boolean, message: () => string): void {
    if (!holds) this.violated(message());
  }

  /** Runs until `isOver`, a violation, or the end of the events or of the time. */
  run(isOver: () => boolean, untilMs: number): Promise<RunEnd> {
    return new Promise((resolve, reject) => {
      const goOn = (): void => {
        try {
          const over = this.#underWay;
          this.#underWay = null;
          if (over !== null) this.watcher?.(over.who, over.words, 'after');
          const end = this.#runUntilSettled(isOver, untilMs);
          if (end === null) whenDrained(goOn);
          else resolve(end);
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      goOn();
    });
  }

  /** Runs events up to one that promises may have something to do with: `null`. */
  #runUntilSettled(isOver: () => boolean, untilMs: number): RunEnd | null {
    let isSettled = true;
    while (isSettled) {
      if (this.#violation !== null || isOver()) return 'over';
      const event = this.#queue.pop();
      if (event === undefined) return 'stuck';
      if (this.#isSkipped(event)) continue;
      if (event.at > untilMs) return 'late';
      this.#now = event.at;
      isSettled = this.#runEvent(event);
    }
    return null;
  }

  /** Cancelled, of a life that is over, or of one that stands still: then it comes later. */
  #isSkipped(event: WorldEvent): boolean {
    const { life } = event;
    if (event.cancelled) return true;
    if (life === null) return false;
    if (!life.isAlive) return true;
    if (life.pausedUntil <= event.at) return false;
    if (event.tie < 1) event.tie = 1 + event.at;
    event.at = life.pausedUntil;
    this.#queue.push(event);
    return true;
  }

  /** Whether nothing is left to wait for. */
  #runEvent(event: WorldEvent): boolean {
    const { watcher } = this;
    const { life } = event;
    const who = life?.name ?? '';
    const words = watcher === null ? '' : wordsOf(event.label);
    if (watcher !== null) {
      watcher(who, words, 'before');
      if (life?.isAlive === false) return true;
    }
    this.#events++;
    this.trace.event(event.at, event.sequence, who, event.label);
    const isSettled = this.#happens(event) === 'settled';
    if (watcher !== null) {
      // What promises make of the event belongs to it.
      if (isSettled) this.watcher?.(who, words, 'after');
      else this.#underWay = { who, words };
    }
    return isSettled;
  }

  #happens({ fn }: WorldEvent): unknown {
    try {
      return fn();
    } catch (error) {
      this.violated(`nobody caught: ${error instanceof Error ? error.stack : String(error)}`);
      return undefined;
    }
  }

  /** Labels of what is still to come, with how many of each: who waits for what. */
  pending(): readonly string[] {
    const counts = new Map<string, number>();
    for (const { cancelled, life, label } of this.#queue.events) {
      if (cancelled || life?.isAlive === false) continue;
      const text = `${life?.name ?? 'world'}: ${wordsOf(label)}`;
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    return [...counts].map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`));
  }
}

const RESOLVED = Promise.resolve();

/**
 * When every promise that can go on has done so: the tick queue runs when the microtasks are empty,
 * provided that it was a microtask that asked.
 */
function whenDrained(goOn: () => void): void {
  void RESOLVED.then(() => process.nextTick(goOn));
}

function cancelEvent(this: WorldEvent): void {
  this.cancelled = true;
}
