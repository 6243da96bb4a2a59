/**
 * `npm run sim`: runs schedules of the simulation and reports what they found.
 *
 *   --list                     the scenarios: ways to draw a schedule
 *   --scenario NAME            default: random
 *   --seeds N [--first S]      N schedules, from seed S on
 *     [--fresh]                from a seed that this commit begins with
 *     [--seconds N]            begin none after so long
 *   --seed N [--trace]         one schedule, with all that happened
 *   --seed N --shrink          its failure with as few faults as it needs
 *   --seed N --every-event     once for each of its events, with a fault there
 *     [--fault TYPE]           kill (default), powerFailure, killSlot, suspend, …
 *   --exhaustive               all choices of a small world, within bounds
 *     [--deaths N]             of process, machine or thread in one world; default 1
 *     [--deviations N]         messages late or early, answers lost; default 1
 *     [--worlds N]             stop after so many
 *     [--world NAME]           small (default), suspend-claim, drain-no-claim, …
 *   --bugs [--seeds N]         how many of N seeds find each planted bug
 *     [--only TEXT]            of those with this in their name
 *     [--quick]                each only until a seed has found it
 *   --threads N                default 2
 */
import { parseArgs } from 'node:util';
import { PLANTED_BUGS } from '../../packages/simulation/src/bugs/planted-bugs.ts';
import type { Fault } from '../../packages/simulation/src/faults/fault-plan.ts';
import type { Batch, BatchResult } from '../../packages/simulation/src/scenarios/batch.ts';
import { explore } from '../../packages/simulation/src/scenarios/exhaustive/explore.ts';
import { SMALL_WORLDS } from '../../packages/simulation/src/scenarios/exhaustive/small-world.ts';
import { faultAtEveryEvent } from '../../packages/simulation/src/scenarios/every-event.ts';
import { scenarioNamed, SCENARIOS } from '../../packages/simulation/src/scenarios/scenarios.ts';
import { shrink } from '../../packages/simulation/src/scenarios/shrink.ts';
import { runSchedule } from '../../packages/simulation/src/scenarios/simulate.ts';
import type { ScheduleResult } from '../../packages/simulation/src/scenarios/simulate.ts';
import { runBatches } from './pool.ts';
import { freshSeed, runSeeds } from './run-seeds.ts';

const BATCH = 50;
/** A bug is left after the batch that found it. */
const QUICK_BATCH = 5;
const MESSAGE_MAX = 600;

const { values } = parseArgs({
  options: {
    list: { type: 'boolean', default: false },
    scenario: { type: 'string', default: 'random' },
    seeds: { type: 'string' },
    first: { type: 'string', default: '1' },
    fresh: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    seed: { type: 'string' },
    threads: { type: 'string', default: '2' },
    trace: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    'every-event': { type: 'boolean', default: false },
    fault: { type: 'string', default: 'kill' },
    exhaustive: { type: 'boolean', default: false },
    deaths: { type: 'string', default: '1' },
    deviations: { type: 'string', default: '1' },
    worlds: { type: 'string' },
    world: { type: 'string', default: 'small' },
    bugs: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
  },
});

function batches(first: number, count: number, bug: string | null): readonly Batch[] {
  const result: Batch[] = [];
  const size = values.quick ? QUICK_BATCH : BATCH;
  for (let at = first; at < first + count; at += size)
    result.push({
      scenario: values.scenario,
      first: at,
      count: Math.min(size, first + count - at),
      bug,
    });
  return result;
}

function show(result: ScheduleResult): void {
  const { job, faults, sequences, parallelisms } = result.plan;
  console.log(result.trace.join('\n'));
  console.log(`job: ${JSON.stringify(job)}`);
  console.log(`parallelism: ${parallelisms.join(', then ')}`);
  console.log(`faults: ${JSON.stringify(faults)}`);
  for (const sequence of sequences) console.log(`at its moment: ${JSON.stringify(sequence)}`);
  console.log(`${values.scenario}, seed ${result.seed}: ${result.failure ?? 'no failure'}`);
}

async function runBugs(first: number, count: number): Promise<number> {
  const found = new Map<string, { batches: number; readonly seeds: number[] }>();
  const each = batches(first, count, null).length;
  const names = PLANTED_BUGS.map(({ name }) => name).filter((name) => name.includes(values.only));
  const all = names.flatMap((name) => batches(first, count, name));
  let missed = 0;
  const isFound = ({ bug }: Batch): boolean =>
    values.quick && (found.get(bug ?? '')?.seeds.length ?? 0) > 0;
  const done = ({ bug }: Batch, { failures }: BatchResult): void => {
    const name = bug ?? '';
    const entry = found.get(name) ?? { batches: 0, seeds: [] };
    found.set(name, entry);
    const wasFound = entry.seeds.length > 0;
    entry.seeds.push(...failures.map(({ seed }) => seed));
    entry.batches++;
    const isOver = values.quick ? entry.seeds.length > 0 && !wasFound : false;
    if (entry.batches < each && !isOver) return;
    if (wasFound && values.quick) return;
    if (entry.seeds.length === 0) missed++;
    const earliest = entry.seeds.length === 0 ? '-' : Math.min(...entry.seeds) - first + 1;
    const times = values.quick ? '' : `${entry.seeds.length} of ${count}, `;
    console.log(`${name.padEnd(62)} ${times}first ${earliest}`);
  };
  await runBatches(all, Number(values.threads), { done, isOver: isFound });
  console.log(`${names.length} planted bugs, ${missed} not found`);
  return missed;
}

async function runEveryEvent(seed: number): Promise<number> {
  const faults = [{ type: values.fault, at: 0, slot: 0, forMs: 300, looksDead: true } as Fault];
  const scenario = scenarioNamed(values.scenario);
  const { events, failures } = await faultAtEveryEvent({ scenario, seed, faults });
  for (const { event, message } of failures)
    console.log(`${values.fault} at event ${event}: ${message.slice(0, MESSAGE_MAX)}`);
  console.log(
    `${values.scenario}, seed ${seed}: ${values.fault} at each of ${events} events, ` +
      `${failures.length} failures`,
  );
  return failures.length;
}

async function runExhaustive(): Promise<number> {
  const startedAt = performance.now();
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(0);
  const faults: readonly Fault[] = [
    { type: 'kill', at: 0 },
    { type: 'powerFailure', at: 0 },
    { type: 'killSlot', at: 0, slot: 0 },
  ];
  const plan = SMALL_WORLDS[values.world];
  if (plan === undefined) throw new Error(`no world: ${Object.keys(SMALL_WORLDS).join(', ')}`);
  const result = await explore({
    plan,
    bounds: { crashes: Number(values.deaths), deviations: Number(values.deviations), faults },
    worldsMax: Number(values.worlds ?? Infinity),
    progress: (worlds) => console.log(`${worlds} worlds in ${seconds()} s`),
  });
  for (const { unusual, message, trace } of result.failures)
    console.log(`${trace.join('\n')}\nchoices ${unusual.join(' ')}: ${message}`);
  console.log(
    `${values.world}: ${result.worlds} worlds of ` +
      `${(result.events / result.worlds).toFixed(0)} events and up to ` +
      `${result.choicesMax} choices, with ${values.deaths} deaths and ${values.deviations} ` +
      `deviations at most, in ${seconds()} s; ${result.isComplete ? 'all' : 'not all'} tried; ` +
      `${result.failures.length} failures`,
  );
  return result.failures.length;
}

async function runOne(seed: number): Promise<number> {
  const options = {
    seed,
    scenario: scenarioNamed(values.scenario),
    keepsTrace: values.trace,
  };
  const result = await (values.shrink ? shrink(options) : runSchedule(options));
  if (result === null) console.log(`seed ${seed} does not fail`);
  else show(result);
  return (result?.failure ?? null) === null ? 0 : 1;
}

async function main(): Promise<number> {
  if (values.list) {
    for (const { name, about } of SCENARIOS) console.log(`${name.padEnd(36)} ${about}`);
    return 0;
  }
  const count = Number(values.seeds ?? (values.bugs ? 500 : 100));
  if (values.exhaustive) return runExhaustive();
  const first = values.fresh ? freshSeed() : Number(values.first);
  if (values.bugs) return runBugs(first, count);
  if (values.seed === undefined)
    return runSeeds(batches(first, count, null), {
      threads: Number(values.threads),
      seconds: Number(values.seconds ?? Infinity),
    });
  return values['every-event'] ? runEveryEvent(Number(values.seed)) : runOne(Number(values.seed));
}

process.exitCode = (await main()) === 0 ? 0 : 1;
