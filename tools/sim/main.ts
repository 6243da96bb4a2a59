/** `npm run sim`: runs schedules and reports what they found. */
import { parseArgs } from 'node:util';
import { runSchedule } from '../../packages/simulation/src/scenarios/simulate.ts';
import type { ScheduleResult } from '../../packages/simulation/src/scenarios/simulate.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    first: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
});

function report(result: ScheduleResult): void {
  console.log(`seed ${result.seed}: ${result.failure}`);
  console.log(`  faults: ${JSON.stringify(result.faults)}`);
}

async function main(): Promise<void> {
  if (values.seed !== undefined) {
    const result = await runSchedule({ seed: Number(values.seed), keepsTrace: values.trace });
    console.log(result.trace.join('\n'));
    console.log(JSON.stringify(result.job));
    report(result);
    return;
  }
  const first = Number(values.first);
  const count = Number(values.seeds);
  const startedAt = performance.now();
  const sums = { failures: 0, events: 0, kills: 0, checkpoints: 0, restores: 0, virtual: 0 };
  for (let seed = first; seed < first + count; seed++) {
    const result = await runSchedule({ seed });
    sums.events += result.events;
    sums.kills += result.kills;
    sums.checkpoints += result.completedCheckpoints;
    sums.restores += result.restores;
    sums.virtual += result.virtualMs;
    if (result.failure === null) continue;
    sums.failures++;
    console.log(`seed ${seed}: ${result.failure.slice(0, 400)}`);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const each = (sum: number): string => (sum / count).toFixed(1);
  console.log(
    `${count} schedules in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(1)}/s), ` +
      `${sums.failures} failures; per schedule ${each(sums.events)} events, ${each(sums.kills)} ` +
      `kills, ${each(sums.checkpoints)} checkpoints, ${each(sums.restores)} restores, ` +
      `${each(sums.virtual)} ms`,
  );
}

await main();
