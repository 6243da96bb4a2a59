/**
 * Kills the process at each event of one schedule in turn, with no other faults: finds every
 * mistake that one crash at one moment of it can show, without luck.
 */
import { runSchedule } from './simulate.ts';

export interface EveryEvent {
  readonly events: number;
  readonly failures: readonly { readonly event: number; readonly message: string }[];
}

/** Every `step`-th event; 1 for all. */
export async function killAtEveryEvent(seed: number, step = 1): Promise<EveryEvent> {
  const undisturbed = await runSchedule({ seed, faults: [] });
  const failures: { event: number; message: string }[] = [];
  if (undisturbed.failure !== null) failures.push({ event: 0, message: undisturbed.failure });
  for (let event = 1; event <= undisturbed.events; event += step) {
    const { failure } = await runSchedule({ seed, faults: [{ type: 'killAtEvent', event }] });
    if (failure !== null) failures.push({ event, message: failure });
  }
  return { events: undisturbed.events, failures };
}
