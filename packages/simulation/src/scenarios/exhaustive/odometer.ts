/**
 * Goes through all combinations of choices of a program that does not know how many it will make:
 * each run asks `choose` as often as it likes, and `next` turns the last wheel that can still be
 * turned, as an odometer does; the wheels behind it are made anew by the next run. So every
 * combination is tried once, and none is drawn.
 */
interface Wheel {
  value: number;
  readonly count: number;
}

export class Odometer {
  #wheels: Wheel[] = [];
  #at = 0;
  #isNew = true;

  /** Choices that the last run made. */
  get length(): number {
    return this.#wheels.length;
  }

  /** Begins the next combination; false when all have been tried. */
  next(): boolean {
    this.#at = 0;
    if (this.#isNew) {
      this.#isNew = false;
      return true;
    }
    for (let last = this.#wheels.length - 1; last >= 0; last--) {
      const wheel = this.#wheels[last] as Wheel;
      if (wheel.value + 1 >= wheel.count) continue;
      wheel.value++;
      this.#wheels = this.#wheels.slice(0, last + 1);
      return true;
    }
    return false;
  }

  /** One of `0` to `count - 1`; the usual one is 0. */
  choose(count: number): number {
    const known = this.#wheels[this.#at];
    if (known === undefined) this.#wheels.push({ value: 0, count });
    else if (known.count !== count)
      throw new Error(`choice ${this.#at} had ${known.count} ways and has ${count} now`);
    return this.#wheels[this.#at++]?.value ?? 0;
  }

  /** The choices that are not the usual ones, by their place: what makes this combination. */
  unusual(): readonly string[] {
    return this.#wheels.flatMap(({ value }, at) => (value === 0 ? [] : [`${at}:${value}`]));
  }
}
