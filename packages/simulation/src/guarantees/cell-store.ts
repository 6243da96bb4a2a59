/**
 * The outer system of all sinks of a cell but the transactional one: keeps lists, values by key and
 * marks. A call takes a while; it acts at once or at its end, so a process may die before it acted,
 * or before it heard of it.
 */
import type { Random } from '@weir/core/internal/base/random';
import type { Life } from '../world/life.ts';
import type { World } from '../world/world.ts';

/** A result as a reader of a sink sees it. */
export interface Result {
  /** Of the record that it comes from. */
  readonly id: string;
  readonly group: string;
  /** The how-manieth of its group it was, where the operator counts. */
  readonly n: number;
  /** When it was emitted, where the operator waits for a time. */
  readonly at: number;
}

const LATENCY_MS = 2;

export class CellStore {
  readonly lists: Map<string, Result[]> = new Map();
  readonly values: Map<string, Map<string, Result>> = new Map();
  readonly marks: Set<string> = new Set();
  /** Told of each confirmation that begins, by its number from 1. */
  onConfirming: (nth: number) => void = () => undefined;
  #confirmations = 0;
  readonly #world: World;
  readonly #random: Random;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random('store');
  }

  call<R>(life: Life, what: string, act: () => R, latencyMs: number = LATENCY_MS): Promise<R> {
    const delayMs = this.#random.next() * 2 * latencyMs;
    const early = this.#random.int(2) === 0 ? { result: act() } : null;
    return new Promise((resolve) => {
      this.#world.schedule(life, delayMs, what, () => resolve((early ?? { result: act() }).result));
    });
  }

  confirm(life: Life, mark: string, latencyMs: number): Promise<unknown> {
    this.onConfirming(++this.#confirmations);
    return this.call(life, 'mark', () => this.marks.add(mark), latencyMs);
  }

  append(sink: string, results: readonly Result[]): void {
    const list = this.lists.get(sink);
    if (list === undefined) this.lists.set(sink, [...results]);
    else list.push(...results);
  }

  put(sink: string, key: string, result: Result): void {
    const values = this.values.get(sink);
    if (values === undefined) this.values.set(sink, new Map([[key, result]]));
    else values.set(key, result);
  }

  isOneIn(chances: number): boolean {
    return this.#random.int(chances) === 0;
  }
}
