/**
 * Makes a failing schedule shorter: leaves faults out, one at a time, as long as it still fails.
 * What is left is what the failure needs.
 */
import { runSchedule } from './simulate.ts';
import type { ScheduleResult } from './simulate.ts';

/** The result of the shortest plan found; `null` when the seed does not fail. */
export async function shrink(seed: number, keepsTrace = false): Promise<ScheduleResult | null> {
  let best = await runSchedule({ seed });
  if (best.failure === null) return null;
  for (let index = best.faults.length - 1; index >= 0; index--) {
    const faults = best.faults.filter((_fault, at) => at !== index);
    const result = await runSchedule({ seed, faults });
    if (result.failure !== null) best = result;
  }
  return keepsTrace ? runSchedule({ seed, faults: best.faults, keepsTrace }) : best;
}
