/**
 * Tries every combination of choices of the small world within bounds: nothing is left to luck, so
 * what holds afterwards holds for all of them.
 */
import type { SchedulePlan } from '../plan.ts';
import { LINES_SHOWN, runSchedule } from '../simulate.ts';
import { Choices } from './choices.ts';
import type { Bounds } from './choices.ts';
import { Odometer } from './odometer.ts';
import { SMALL_WORLD } from './small-world.ts';

export interface Exploration {
  readonly worlds: number;
  readonly events: number;
  /** Choices in the world that had most of them. */
  readonly choicesMax: number;
  /** Whether no combination was left out. */
  readonly isComplete: boolean;
  readonly failures: readonly {
    /** Of the choices, those that were not the usual ones. */
    readonly unusual: readonly string[];
    readonly message: string;
    readonly trace: readonly string[];
  }[];
}

export interface ExploreOptions {
  readonly bounds: Bounds;
  readonly plan?: SchedulePlan;
  readonly worldsMax?: number;
  /** Ends after so many; default 20. */
  readonly failuresMax?: number;
  readonly progress?: (worlds: number) => void;
}

const PROGRESS_EVERY = 1000;

export async function explore(options: ExploreOptions): Promise<Exploration> {
  const { bounds, plan = SMALL_WORLD, worldsMax = Infinity, failuresMax = 20, progress } = options;
  const odometer = new Odometer();
  const failures: Exploration['failures'][number][] = [];
  let [worlds, events, choicesMax, isComplete] = [0, 0, 0, true];
  while (odometer.next()) {
    if (worlds >= worldsMax || failures.length >= failuresMax) {
      isComplete = false;
      break;
    }
    const choices = new Choices(odometer, bounds);
    const result = await runSchedule({
      seed: 0,
      root: choices.random(),
      // It cannot be run again to tell.
      keepsTrace: true,
      change: () => plan,
      beforeEvent: () => choices.crash(),
    });
    worlds++;
    events += result.events;
    choicesMax = Math.max(choicesMax, odometer.length);
    const { failure: message, trace } = result;
    if (message !== null)
      failures.push({
        unusual: odometer.unusual(),
        message,
        trace: trace.slice(-LINES_SHOWN),
      });
    if (worlds % PROGRESS_EVERY === 0) progress?.(worlds);
  }
  return { worlds, events, choicesMax, isComplete, failures };
}
