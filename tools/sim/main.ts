/** `npm run sim`: see the help text in `sim-options.ts`. */
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
import { HELP, parseSimOptions, UsageError } from './sim-options.ts';
import type { SimOptions } from './sim-options.ts';

const BATCH = 50;
/** A bug is left after the batch that found it. */
const QUICK_BATCH = 5;
const MESSAGE_MAX = 600;

function batches(options: SimOptions, first: number, bug: string | null): readonly Batch[] {
  const { seeds: count, scenario, isQuick } = options;
  const result: Batch[] = [];
  const size = isQuick ? QUICK_BATCH : BATCH;
  for (let at = first; at < first + count; at += size)
    result.push({
      scenario,
      first: at,
      count: Math.min(size, first + count - at),
      bug,
    });
  return result;
}

function show(result: ScheduleResult, scenario: string): void {
  const { job, faults, sequences, parallelisms } = result.plan;
  console.log(result.trace.join('\n'));
  console.log(`job: ${JSON.stringify(job)}`);
  console.log(`parallelism: ${parallelisms.join(', then ')}`);
  console.log(`faults: ${JSON.stringify(faults)}`);
  for (const sequence of sequences) console.log(`at its moment: ${JSON.stringify(sequence)}`);
  console.log(`${scenario}, seed ${result.seed}: ${result.failure ?? 'no failure'}`);
}

async function runBugs(options: SimOptions, first: number): Promise<number> {
  const { seeds: count, only, isQuick, threads } = options;
  const found = new Map<string, { batches: number; readonly seeds: number[] }>();
  const each = batches(options, first, null).length;
  const names = PLANTED_BUGS.map(({ name }) => name).filter((name) => name.includes(only));
  const all = names.flatMap((name) => batches(options, first, name));
  let missed = 0;
  const isFound = ({ bug }: Batch): boolean =>
    isQuick && (found.get(bug ?? '')?.seeds.length ?? 0) > 0;
  const done = ({ bug }: Batch, { failures }: BatchResult): void => {
    const name = bug ?? '';
    const entry = found.get(name) ?? { batches: 0, seeds: [] };
    found.set(name, entry);
    const wasFound = entry.seeds.length > 0;
    entry.seeds.push(...failures.map(({ seed }) => seed));
    entry.batches++;
    const isOver = isQuick ? entry.seeds.length > 0 && !wasFound : false;
    if (entry.batches < each && !isOver) return;
    if (wasFound && isQuick) return;
    if (entry.seeds.length === 0) missed++;
    const earliest = entry.seeds.length === 0 ? '-' : Math.min(...entry.seeds) - first + 1;
    const times = isQuick ? '' : `${entry.seeds.length} of ${count}, `;
    console.log(`${name.padEnd(62)} ${times}first ${earliest}`);
  };
  await runBatches(all, threads, { done, isOver: isFound });
  console.log(`${names.length} planted bugs, ${missed} not found`);
  return missed;
}

async function runEveryEvent({ seed, fault, scenario: name }: SimOptions): Promise<number> {
  const faults = [{ type: fault, at: 0, slot: 0, forMs: 300, looksDead: true } as Fault];
  const scenario = scenarioNamed(name);
  const { events, failures } = await faultAtEveryEvent({ scenario, seed, faults });
  for (const { event, message } of failures)
    console.log(`${fault} at event ${event}: ${message.slice(0, MESSAGE_MAX)}`);
  console.log(
    `${name}, seed ${seed}: ${fault} at each of ${events} events, ${failures.length} failures`,
  );
  return failures.length;
}

async function runExhaustive(options: SimOptions): Promise<number> {
  const { world, deaths, deviations, worlds: worldsMax } = options;
  const startedAt = performance.now();
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(0);
  const faults: readonly Fault[] = [
    { type: 'kill', at: 0 },
    { type: 'powerFailure', at: 0 },
    { type: 'killSlot', at: 0, slot: 0 },
  ];
  const plan = SMALL_WORLDS[world];
  if (plan === undefined) throw new UsageError(`no world is called ${world}`);
  const result = await explore({
    plan,
    bounds: { crashes: deaths, deviations, faults },
    worldsMax,
    progress: (worlds) => console.log(`${worlds} worlds in ${seconds()} s`),
  });
  for (const { unusual, message, trace } of result.failures)
    console.log(`${trace.join('\n')}\nchoices ${unusual.join(' ')}: ${message}`);
  console.log(
    `${world}: ${result.worlds} worlds of ` +
      `${(result.events / result.worlds).toFixed(0)} events and up to ` +
      `${result.choicesMax} choices, with ${deaths} deaths and ${deviations} ` +
      `deviations at most, in ${seconds()} s; ${result.isComplete ? 'all' : 'not all'} tried; ` +
      `${result.failures.length} failures`,
  );
  return result.failures.length;
}

async function runOne(options: SimOptions): Promise<number> {
  const { seed, how, bug } = options;
  const planted = PLANTED_BUGS.find(({ name }) => name === bug);
  const remove = planted?.plant();
  const scenario = planted?.scenario ?? options.scenario;
  try {
    if (how === 'every-event') return await runEveryEvent({ ...options, scenario });
    const run = { seed, scenario: scenarioNamed(scenario), keepsTrace: how === 'trace' };
    const result = await (how === 'shrink' ? shrink(run) : runSchedule(run));
    if (result === null) console.log(`${scenario}, seed ${seed} does not fail`);
    else show(result, scenario);
    return (result?.failure ?? null) === null ? 0 : 1;
  } finally {
    remove?.();
  }
}

async function main(options: SimOptions): Promise<number> {
  const { mode, seconds, threads } = options;
  const first = options.isFresh ? freshSeed() : options.first;
  switch (mode) {
    case 'help':
      console.log(HELP);
      return 0;
    case 'list':
      for (const { name, about } of SCENARIOS) console.log(`${name.padEnd(36)} ${about}`);
      return 0;
    case 'exhaustive':
      return runExhaustive(options);
    case 'bugs':
      return runBugs(options, first);
    case 'seed':
      return runOne(options);
    case 'seeds':
      return runSeeds(batches(options, first, null), { threads, seconds });
  }
}

try {
  process.exitCode = (await main(parseSimOptions(process.argv.slice(2)))) === 0 ? 0 : 1;
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`npm run sim: ${error.message}\nnpm run sim -- --help shows all options`);
  process.exitCode = 2;
}
