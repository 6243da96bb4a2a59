/**
 * `npm run sim`: runs schedules of the simulation and reports what they found.
 *
 *   --seeds N [--first S]      N schedules, from seed S on
 *   --seed N [--trace]         one schedule, with all that happened
 *   --seed N --shrink          its failure with as few faults as it needs
 *   --seed N --every-event     once for each of its events, killed there
 *   --bugs [--seeds N]         how many of N seeds find each planted bug
 *   --threads N                default 2
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { PLANTED_BUGS } from '../../packages/simulation/src/bugs/planted-bugs.ts';
import type { Batch, Failure } from '../../packages/simulation/src/scenarios/batch.ts';
import { killAtEveryEvent } from '../../packages/simulation/src/scenarios/every-event.ts';
import { shrink } from '../../packages/simulation/src/scenarios/shrink.ts';
import { runSchedule } from '../../packages/simulation/src/scenarios/simulate.ts';
import type { ScheduleResult } from '../../packages/simulation/src/scenarios/simulate.ts';
import { runBatches } from './pool.ts';

const BATCH = 50;
const MESSAGE_MAX = 600;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    first: { type: 'string', default: '1' },
    seed: { type: 'string' },
    threads: { type: 'string', default: '2' },
    trace: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    'every-event': { type: 'boolean', default: false },
    bugs: { type: 'boolean', default: false },
  },
});

function batches(first: number, count: number, bug: string | null): readonly Batch[] {
  const result: Batch[] = [];
  for (let at = first; at < first + count; at += BATCH)
    result.push({ first: at, count: Math.min(BATCH, first + count - at), bug });
  return result;
}

function show(result: ScheduleResult): void {
  console.log(result.trace.join('\n'));
  console.log(`job: ${JSON.stringify(result.job)}`);
  console.log(`faults: ${JSON.stringify(result.faults)}`);
  console.log(`seed ${result.seed}: ${result.failure ?? 'no failure'}`);
}

function report({ seed, message }: Failure): void {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' });
  console.log(`seed ${seed} at commit ${commit.trim()}: ${message.slice(0, MESSAGE_MAX)}`);
  console.log(`  again: npm run sim -- --seed ${seed} --trace`);
}

async function runSeeds(first: number, count: number): Promise<number> {
  const startedAt = performance.now();
  const sums = { replayed: 0, failures: 0, events: 0, kills: 0, checkpoints: 0, restores: 0 };
  await runBatches(batches(first, count, null), Number(values.threads), (_batch, result) => {
    for (const failure of result.failures) report(failure);
    sums.failures += result.failures.length;
    sums.replayed += result.replayed;
    sums.events += result.events;
    sums.kills += result.kills;
    sums.checkpoints += result.checkpoints;
    sums.restores += result.restores;
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const each = (sum: number): string => (sum / count).toFixed(1);
  console.log(
    `${count} schedules (seeds ${first} to ${first + count - 1}) in ${seconds.toFixed(0)} s, ` +
      `${(count / seconds).toFixed(0)} a second on ${values.threads} threads; ` +
      `${sums.failures} failures; ${sums.replayed} replayed alike; a schedule has ` +
      `${each(sums.events)} events, ${each(sums.kills)} kills, ${each(sums.checkpoints)} ` +
      `checkpoints, ${each(sums.restores)} resumes`,
  );
  return sums.failures;
}

async function runBugs(first: number, count: number): Promise<number> {
  const found = new Map<string, { batches: number; readonly seeds: number[] }>();
  const each = batches(first, count, null).length;
  const all = PLANTED_BUGS.flatMap(({ name }) => batches(first, count, name));
  let missed = 0;
  await runBatches(all, Number(values.threads), ({ bug }, { failures }) => {
    const name = bug ?? '';
    const entry = found.get(name) ?? { batches: 0, seeds: [] };
    found.set(name, entry);
    entry.seeds.push(...failures.map(({ seed }) => seed));
    entry.batches++;
    if (entry.batches < each) return;
    if (entry.seeds.length === 0) missed++;
    const earliest = entry.seeds.length === 0 ? '-' : Math.min(...entry.seeds) - first + 1;
    console.log(`${name.padEnd(56)} ${entry.seeds.length} of ${count}, first ${earliest}`);
  });
  console.log(`${PLANTED_BUGS.length} planted bugs, ${missed} not found`);
  return missed;
}

async function main(): Promise<number> {
  const count = Number(values.seeds ?? (values.bugs ? 500 : 100));
  if (values.bugs) return runBugs(Number(values.first), count);
  if (values.seed === undefined) return runSeeds(Number(values.first), count);
  const seed = Number(values.seed);
  if (values['every-event']) {
    const { events, failures } = await killAtEveryEvent(seed);
    for (const { event, message } of failures) console.log(`killed at event ${event}: ${message}`);
    console.log(`seed ${seed}: killed at each of ${events} events, ${failures.length} failures`);
    return failures.length;
  }
  const result = values.shrink
    ? await shrink(seed, values.trace)
    : await runSchedule({ seed, keepsTrace: values.trace, wantsTrace: values.trace });
  if (result === null) console.log(`seed ${seed} does not fail`);
  else show(result);
  return (result?.failure ?? null) === null ? 0 : 1;
}

process.exitCode = (await main()) === 0 ? 0 : 1;
