/** Faults that happen once each, wherever the job's functions pass by; they outlive attempts. */
export class Faults {
  readonly #due = new Set<string>();
  #ticksLeft = 0;
  /** Names of the faults that happened, in order. */
  readonly happened: string[] = [];

  /** The next `pass` of this name throws. */
  plan(...names: readonly string[]): void {
    for (const name of names) this.#due.add(name);
  }

  pass(name: string): void {
    if (this.#due.delete(name)) this.#happen(name);
  }

  /** The `count`-th `tick` from now throws. */
  planTick(count: number): void {
    this.#ticksLeft = count;
  }

  tick(): void {
    if (--this.#ticksLeft === 0) this.#happen(`tick ${this.happened.length}`);
  }

  #happen(name: string): never {
    this.happened.push(name);
    throw new Error(`planned fault at ${name}`);
  }
}

/** Random numbers of a seed: the same at each run of the test. */
export function numbersOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** A copy in a stable order, for comparing multisets. */
export function sorted<T>(values: readonly T[]): T[] {
  const text = (value: T): string => JSON.stringify(value) ?? String(value);
  return values.toSorted((a, b) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0));
}
