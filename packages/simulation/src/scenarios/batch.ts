/**
 * Many schedules one after the other, summed up. One in a hundred is run twice, and both times the
 * same must have happened: else nothing that a seed says could be believed.
 */
import { PLANTED_BUGS } from '../bugs/planted-bugs.ts';
import type { Scenario } from './scenario.ts';
import { scenarioNamed } from './scenarios.ts';
import { runSchedule } from './simulate.ts';

export interface Batch {
  readonly scenario: string;
  readonly first: number;
  readonly count: number;
  /** Name of a planted bug to run with; `null`: the engine as it is. */
  readonly bug: string | null;
}

export interface Failure {
  readonly scenario: string;
  readonly seed: number;
  readonly message: string;
  /** The last events. */
  readonly trace: readonly string[];
}

export interface BatchResult {
  readonly schedules: number;
  readonly replayed: number;
  readonly failures: readonly Failure[];
  readonly events: number;
  readonly kills: number;
  readonly checkpoints: number;
  readonly restores: number;
  /** Schedules in which the first moment that the scenario waits for has come; and the last. */
  readonly hits: number;
  readonly hitsLast: number;
  /** Savepoints taken by users, and starts from one. */
  readonly savepoints: number;
  readonly startsFromSavepoint: number;
}

const REPLAY_EVERY = 100;

export async function runBatch({ scenario, first, count, bug }: Batch): Promise<BatchResult> {
  const planted = PLANTED_BUGS.find(({ name }) => name === bug);
  if (bug !== null && planted === undefined) throw new Error(`no planted bug is called ${bug}`);
  const remove = planted?.plant() ?? ((): void => undefined);
  try {
    // Of a planted bug nobody wants to know more than that it is found.
    const tells = planted === undefined;
    return await runSeeds(scenarioNamed(planted?.scenario ?? scenario), { first, count, tells });
  } finally {
    remove();
  }
}

async function runSeeds(
  scenario: Scenario,
  {
    first,
    count,
    tells,
  }: { readonly first: number; readonly count: number; readonly tells: boolean },
): Promise<BatchResult> {
  const failures: Failure[] = [];
  const sums = { replayed: 0, events: 0, kills: 0, checkpoints: 0, restores: 0 };
  const moments = { hits: 0, hitsLast: 0, savepoints: 0, startsFromSavepoint: 0 };
  const { name } = scenario;
  for (let seed = first; seed < first + count; seed++) {
    const result = await runSchedule({ seed, scenario, tells });
    sums.events += result.events;
    sums.kills += result.kills;
    sums.checkpoints += result.completedCheckpoints;
    sums.restores += result.restores;
    const { sequences } = result.plan;
    if (result.stepsDone.some((done) => done > 0)) moments.hits++;
    if (result.stepsDone.some((done, at) => done > 0 && done === sequences[at]?.length))
      moments.hitsLast++;
    moments.savepoints += result.savepoints;
    moments.startsFromSavepoint += result.startsFromSavepoint;
    const { failure, trace } = result;
    if (failure !== null) failures.push({ scenario: name, seed, message: failure, trace });
    if (!tells || seed % REPLAY_EVERY !== 0) continue;
    sums.replayed++;
    const again = await runSchedule({ seed, scenario });
    if (again.digest === result.digest) continue;
    const message = await difference(scenario, seed);
    failures.push({ scenario: name, seed, message, trace: [] });
  }
  return { schedules: count, failures, ...sums, ...moments };
}

/** Where two runs of one seed part. */
async function difference(scenario: Scenario, seed: number): Promise<string> {
  const [a, b] = [
    await runSchedule({ seed, scenario, keepsTrace: true }),
    await runSchedule({ seed, scenario, keepsTrace: true }),
  ];
  const at = a.trace.findIndex((line, index) => line !== b.trace[index]);
  const around = (lines: readonly string[]): string =>
    lines.slice(Math.max(0, at - 20), at + 2).join('\n');
  return (
    `not deterministic: two runs part at line ${at}\n` +
    `first:\n${around(a.trace)}\nsecond:\n${around(b.trace)}`
  );
}
