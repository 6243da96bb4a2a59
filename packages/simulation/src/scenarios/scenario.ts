/** A way to draw schedules: what a seed means depends on the scenario it is drawn for. */
import { checkpointsAfterFinish, drawSettings } from './draw-settings.ts';
import type { Random } from '@weir/core/internal/base/random';
import { drawResume, drawSequence } from './patterns.ts';
import { drawPlan } from './plan.ts';
import type { Draw, SchedulePlan } from './plan.ts';

export interface Scenario {
  /** For `npm run sim -- --scenario NAME`. */
  readonly name: string;
  /** What it is about, in one line. */
  readonly about: string;
  draw(draw: Draw): SchedulePlan;
}

export const RANDOM: Scenario = {
  name: 'random',
  about: 'random jobs under random faults, now and then at a moment that has been hard',
  draw: (draw) => aimed(drawPlan(draw), draw('aim')),
};

/**
 * Every third schedule has one of the patterns in it besides, and every third dies when it has
 * something to go back to: faults at random times alone seldom lead to a resume.
 */
function aimed(plan: SchedulePlan, random: Random): SchedulePlan {
  const choice = random.int(3);
  if (choice === 0) return plan;
  return { ...plan, sequences: [choice === 1 ? drawSequence(random) : drawResume(random)] };
}

export const KAFKA: Scenario = {
  name: 'kafka',
  about: 'random jobs that publish into the model of a Kafka broker through the real sink',
  draw: (draw) => {
    const settings = checkpointsAfterFinish(drawSettings(draw('settings')));
    const plan = drawPlan(draw, { settings });
    const sinks = plan.job.sinks.map((sink) => ({ ...sink, kind: 'kafka' as const }));
    // Each attempt has a sink of its own.
    const moods = { ...plan.moods, shortcuts: { sharesPlans: false, plainChains: true } };
    return { ...plan, moods, job: { ...plan.job, sinks } };
  },
};
