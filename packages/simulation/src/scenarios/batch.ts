/**
 * Many schedules one after the other, summed up. One in a hundred is run twice, and both times the
 * same must have happened: else nothing that a seed says could be believed.
 */
import { PLANTED_BUGS } from '../bugs/planted-bugs.ts';
import { runSchedule } from './simulate.ts';

export interface Batch {
  readonly first: number;
  readonly count: number;
  /** Name of a planted bug to run with; `null`: the engine as it is. */
  readonly bug: string | null;
}

export interface Failure {
  readonly seed: number;
  readonly message: string;
}

export interface BatchResult {
  readonly schedules: number;
  readonly replayed: number;
  readonly failures: readonly Failure[];
  readonly events: number;
  readonly kills: number;
  readonly checkpoints: number;
  readonly restores: number;
}

const REPLAY_EVERY = 100;

export async function runBatch({ first, count, bug }: Batch): Promise<BatchResult> {
  const planted = PLANTED_BUGS.find(({ name }) => name === bug);
  if (bug !== null && planted === undefined) throw new Error(`no planted bug is called ${bug}`);
  const remove = planted?.plant() ?? ((): void => undefined);
  const { stackTraceLimit } = Error;
  // Each attempt builds its job anew and looks up where; one frame is all it reads of a stack.
  Error.stackTraceLimit = 1;
  try {
    return await runSeeds(first, count);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    remove();
  }
}

async function runSeeds(first: number, count: number): Promise<BatchResult> {
  const failures: Failure[] = [];
  const sums = { replayed: 0, events: 0, kills: 0, checkpoints: 0, restores: 0 };
  for (let seed = first; seed < first + count; seed++) {
    const result = await runSchedule({ seed });
    sums.events += result.events;
    sums.kills += result.kills;
    sums.checkpoints += result.completedCheckpoints;
    sums.restores += result.restores;
    if (result.failure !== null) failures.push({ seed, message: result.failure });
    if (seed % REPLAY_EVERY !== 0) continue;
    sums.replayed++;
    const again = await runSchedule({ seed });
    if (again.digest !== result.digest) failures.push({ seed, message: await difference(seed) });
  }
  return { schedules: count, failures, ...sums };
}

/** Where two runs of one seed part. */
async function difference(seed: number): Promise<string> {
  const [a, b] = [
    await runSchedule({ seed, keepsTrace: true, wantsTrace: true }),
    await runSchedule({ seed, keepsTrace: true, wantsTrace: true }),
  ];
  const at = a.trace.findIndex((line, index) => line !== b.trace[index]);
  const around = (lines: readonly string[]): string =>
    lines.slice(Math.max(0, at - 20), at + 2).join('\n');
  return (
    `not deterministic: two runs part at line ${at}\n` +
    `first:\n${around(a.trace)}\nsecond:\n${around(b.trace)}`
  );
}
