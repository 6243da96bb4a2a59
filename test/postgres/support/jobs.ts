/** Jobs over PostgreSQL, run in the present thread with frequent checkpoints and quick restarts. */
import { runJob } from '@weir/core';
import type { ConfigSettings, Job, RunEvent, RunJobOptions, RunOutcome } from '@weir/core';

const QUICK: ConfigSettings = {
  'execution.checkpointing.interval': 100,
  'restart-strategy.type': 'fixed-delay',
  'restart-strategy.fixed-delay.attempts': 20,
  'restart-strategy.fixed-delay.delay': 100,
};

export interface TestRun {
  readonly outcome: RunOutcome;
  readonly events: readonly RunEvent[];
}

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
