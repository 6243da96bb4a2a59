/** A way to draw schedules: what a seed means depends on the scenario it is drawn for. */
import type { Draw, SchedulePlan } from './plan.ts';
import { drawPlan } from './plan.ts';

export interface Scenario {
  /** For `npm run sim -- --scenario NAME`. */
  readonly name: string;
  /** What it is about, in one line. */
  readonly about: string;
  draw(draw: Draw): SchedulePlan;
}

export const RANDOM: Scenario = {
  name: 'random',
  about: 'random jobs under random faults',
  draw: (draw) => drawPlan(draw),
};
