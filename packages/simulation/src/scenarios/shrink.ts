/**
 * Makes a failing schedule shorter: leaves faults and moments out, one at a time, as long as it
 * still fails. What is left is what the failure needs.
 */
import type { SchedulePlan } from './plan.ts';
import { runSchedule } from './simulate.ts';
import type { ScheduleOptions, ScheduleResult } from './simulate.ts';

/** The result of the shortest plan found; `null` when the seed does not fail. */
export async function shrink(options: ScheduleOptions): Promise<ScheduleResult | null> {
  const first = await runSchedule({ ...options, keepsTrace: false });
  if (first.failure === null) return null;
  let best = first.plan;
  for (const leaveOut of [withoutFault, withoutStep])
    for (let index = 0; ;) {
      const shorter = leaveOut(best, index);
      if (shorter === null) break;
      const { failure } = await runSchedule({ ...options, change: () => shorter });
      if (failure === null) index++;
      else best = shorter;
    }
  return runSchedule({ ...options, change: () => best });
}

function withoutFault(plan: SchedulePlan, index: number): SchedulePlan | null {
  if (index >= plan.faults.length) return null;
  return { ...plan, faults: plan.faults.filter((_fault, at) => at !== index) };
}

/** Steps of all sequences, counted through. */
function withoutStep(plan: SchedulePlan, index: number): SchedulePlan | null {
  if (index >= plan.sequences.flat().length) return null;
  let at = 0;
  const sequences = plan.sequences.map((sequence) => sequence.filter(() => at++ !== index));
  return { ...plan, sequences: sequences.filter(({ length }) => length > 0) };
}
