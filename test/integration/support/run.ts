/**
 * Runs a job in the present thread with settings that make tests quick: frequent checkpoints,
 * restarts at once, records and watermarks sent at once. Keeps what happened.
 */
import { runJob } from '@weir/core';
import type { ConfigSettings, Job, RunEvent, RunJobOptions, RunOutcome } from '@weir/core';

export type EventOf<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>;

export interface TestRun {
  readonly outcome: RunOutcome;
  readonly events: RunEvent[];
}

/** Checkpoints as often as they may be. */
export const CHECKPOINTED: ConfigSettings = {
  'execution.checkpointing.interval': 10,
  'restart-strategy.type': 'fixed-delay',
  'restart-strategy.fixed-delay.attempts': 1000,
  'restart-strategy.fixed-delay.delay': 0,
};

const QUICK: ConfigSettings = {
  'execution.buffer-timeout.interval': 0,
  'pipeline.auto-watermark-interval': 0,
};

export async function run(job: Job, options: RunJobOptions = {}): Promise<TestRun> {
  const events: RunEvent[] = [];
  const outcome = await runJob(job, {
    ...options,
    config: { ...QUICK, ...options.config },
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event);
    },
  });
  return { outcome, events };
}

/** As `run`, with checkpoints and restarts. */
export function runCheckpointed(job: Job, options: RunJobOptions = {}): Promise<TestRun> {
  return run(job, { ...options, config: { ...CHECKPOINTED, ...options.config } });
}

export function eventsOf<T extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: T,
): EventOf<T>[] {
  return events.filter((event): event is EventOf<T> => event.type === type);
}

/** Messages of a level and above that the run logged. */
export function logged(events: readonly RunEvent[], level: 'warn' | 'error'): string[] {
  return eventsOf(events, 'log')
    .filter((event) => event.level === level)
    .map((event) => event.message);
}
