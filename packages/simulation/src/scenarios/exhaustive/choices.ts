/**
 * The choices of a small world, within bounds: the usual way costs nothing, any other takes one
 * from its budget, and what no budget is left for is not asked. A deviation is a message that comes
 * late or early, an operation of the disk that takes its effect late, an answer that is lost.
 */
import { seededRandom } from '@weir/core/internal/base/random';
import type { Random } from '@weir/core/internal/base/random';
import type { Fault } from '../../faults/fault-plan.ts';
import type { Odometer } from './odometer.ts';

export interface Bounds {
  /** Deaths of something in one world. */
  readonly crashes: number;
  /** Deviations of messages, disk and outer system in one world. */
  readonly deviations: number;
  /** Ways to die. */
  readonly faults: readonly Fault[];
}

/** Streams of random numbers that stand for what the world, not the program, decides. */
const CHOSEN = /^(disk|slots|link|outer system)/;
/** As a time: usual, late, at once. As a chance: no, no, yes; so the last one loses an answer. */
const VALUES = [0.3, 0.99, 0];

export class Choices {
  readonly #odometer: Odometer;
  readonly #bounds: Bounds;
  #crashes: number;
  #deviations: number;

  constructor(odometer: Odometer, bounds: Bounds) {
    this.#odometer = odometer;
    this.#bounds = bounds;
    this.#crashes = bounds.crashes;
    this.#deviations = bounds.deviations;
  }

  /** What dies before the next event, if anything. */
  crash(): Fault | null {
    if (this.#crashes === 0) return null;
    const { faults } = this.#bounds;
    const choice = this.#odometer.choose(1 + faults.length);
    if (choice > 0) this.#crashes--;
    return faults[choice - 1] ?? null;
  }

  deviation(ways: number): number {
    if (this.#deviations === 0) return 0;
    const choice = this.#odometer.choose(ways);
    if (choice > 0) this.#deviations--;
    return choice;
  }

  /** Takes the place of the world's random numbers. */
  random(): Random {
    return new ChosenRandom(this, 'root');
  }
}

class ChosenRandom implements Random {
  readonly #choices: Choices;
  readonly #label: string;
  readonly #isChosen: boolean;
  #names: Random | null = null;

  constructor(choices: Choices, label: string) {
    this.#choices = choices;
    this.#label = label;
    this.#isChosen = CHOSEN.test(label);
  }

  next(): number {
    return VALUES[this.#isChosen ? this.#choices.deviation(VALUES.length) : 0] as number;
  }

  int(bound: number): number {
    return this.#isChosen ? this.#choices.deviation(bound) : 0;
  }

  /** Names only have to differ. */
  hex(length: number): string {
    this.#names ??= seededRandom(1).derive(this.#label);
    return this.#names.hex(length);
  }

  derive(label: string): Random {
    return new ChosenRandom(this.#choices, label);
  }
}
