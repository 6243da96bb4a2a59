/**
 * Runs a schedule once for each of its events, with one fault there and no others: finds every
 * mistake that such a fault at one moment of it can show, without luck.
 */
import type { Fault } from '../faults/fault-plan.ts';
import type { SchedulePlan } from './plan.ts';
import type { Scenario } from './scenario.ts';
import { runSchedule } from './simulate.ts';

export interface EveryEventOptions {
  readonly scenario: Scenario;
  readonly seed: number;
  /** What happens there. */
  readonly faults: readonly Fault[];
  /** Every so many events; default 1, all. */
  readonly step?: number;
}

export interface EveryEvent {
  /** Of the undisturbed schedule. */
  readonly events: number;
  readonly schedules: number;
  readonly failures: readonly {
    readonly event: number;
    readonly message: string;
    readonly trace: readonly string[];
  }[];
}

export async function faultAtEveryEvent(options: EveryEventOptions): Promise<EveryEvent> {
  const { scenario, seed, faults, step = 1 } = options;
  const failures: EveryEvent['failures'][number][] = [];
  const run = async (event: number, change: (plan: SchedulePlan) => SchedulePlan) => {
    const result = await runSchedule({ seed, scenario, change });
    if (result.failure !== null)
      failures.push({ event, message: result.failure, trace: result.trace });
    return result.events;
  };
  const events = await run(0, undisturbed);
  let schedules = 1;
  for (let event = 1; event <= events; event += step) {
    await run(event, (plan) => ({ ...undisturbed(plan), atEvent: { event, faults } }));
    schedules++;
  }
  return { events, schedules, failures };
}

function undisturbed(plan: SchedulePlan): SchedulePlan {
  return { ...plan, faults: [], sequences: [] };
}
