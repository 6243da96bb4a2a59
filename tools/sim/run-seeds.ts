/** Runs schedules on all threads, tells how it goes, and reports what failed. */
import { execFileSync } from 'node:child_process';
import type { Batch, BatchResult, Failure } from '../../packages/simulation/src/scenarios/batch.ts';
import { scenarioNamed } from '../../packages/simulation/src/scenarios/scenarios.ts';
import { shrink } from '../../packages/simulation/src/scenarios/shrink.ts';
import { runBatches } from './pool.ts';

const MESSAGE_MAX = 600;
const REPORTED_MAX = 10;
const PROGRESS_MS = 20_000;

export interface SeedsOptions {
  readonly threads: number;
  /** No batch is begun after so long. */
  readonly seconds: number;
}

/** Of another range of seeds for each commit. */
export function freshSeed(): number {
  return 1_000_000 * (1 + (Number.parseInt(commitHash().slice(0, 4), 16) % 4000));
}

/** The number of failures. */
export async function runSeeds(
  batches: readonly Batch[],
  { threads, seconds }: SeedsOptions,
): Promise<number> {
  const startedAt = performance.now();
  const secondsNow = (): number => (performance.now() - startedAt) / 1000;
  const sums: Record<string, number> = {};
  const failures: Failure[] = [];
  let toldAt = startedAt;
  const done = (_batch: Batch, { failures: failed, ...result }: BatchResult): void => {
    failures.push(...failed);
    for (const [name, count] of Object.entries(result)) sums[name] = (sums[name] ?? 0) + count;
    if (performance.now() - toldAt < PROGRESS_MS) return;
    toldAt = performance.now();
    console.log(
      `${sums['schedules']} schedules in ${secondsNow().toFixed(0)} s, ${failures.length} failures`,
    );
  };
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    console.log('stops when the schedules under way are done; Ctrl-C again: at once');
  };
  process.once('SIGINT', stop);
  await runBatches(batches, threads, {
    done,
    isOver: () => isStopped || secondsNow() > seconds,
  });
  process.off('SIGINT', stop);
  console.log(summary(batches, { sums, failures, seconds: secondsNow(), threads }));
  for (const failure of failures.slice(0, REPORTED_MAX)) await report(failure);
  // What was asked for was not done.
  return failures.length + (isStopped ? 1 : 0);
}

interface Sums {
  readonly sums: Readonly<Record<string, number>>;
  readonly failures: readonly Failure[];
  readonly seconds: number;
  readonly threads: number;
}

function summary(batches: readonly Batch[], { sums, failures, seconds, threads }: Sums): string {
  const of = (name: string): number => sums[name] ?? 0;
  const count = of('schedules');
  const each = (name: string): string => (of(name) / Math.max(1, count)).toFixed(1);
  const { scenario = '', first = 0 } = batches[0] ?? {};
  const { user, system } = process.cpuUsage();
  const lines = [
    `${count} schedules (from seed ${first} on) in ${seconds.toFixed(0)} s, ` +
      `${(count / seconds).toFixed(0)} a second on ${threads} threads, ` +
      `${((count * 1e6) / (user + system)).toFixed(0)} a second of CPU time; ` +
      `${failures.length} failures; ${of('replayed')} replayed alike; a schedule has ` +
      `${each('events')} events, ${each('kills')} kills, ${each('checkpoints')} ` +
      `checkpoints, ${each('restores')} resumes`,
  ];
  if (of('hits') > 0)
    lines.push(
      `${scenario}: moment hit in ${of('hits')} of ${count} schedules, the last one in ` +
        String(of('hitsLast')),
    );
  if (of('savepoints') > 0)
    lines.push(
      `${scenario}: ${of('savepoints')} savepoints, ${of('startsFromSavepoint')} starts from one`,
    );
  return lines.join('\n');
}

async function report({ scenario, seed, message, trace }: Failure): Promise<void> {
  const commit = commitHash().slice(0, 7);
  console.log(`${scenario}, seed ${seed}, commit ${commit}: ${message.slice(0, MESSAGE_MAX)}`);
  if (trace.length > 0) console.log(`the last ${trace.length} events:\n${trace.join('\n')}`);
  const shortest = await shrink({ seed, scenario: scenarioNamed(scenario) });
  if (shortest !== null) {
    const { faults, sequences } = shortest.plan;
    console.log(`with as few faults as it needs: ${JSON.stringify({ faults, sequences })}`);
  }
  console.log(`  again: npm run sim -- --scenario ${scenario} --seed ${seed} --trace`);
}

function commitHash(): string {
  return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
}
