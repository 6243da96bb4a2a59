/**
 * Why a snapshot cannot be restored into a job, told so that the user can act: operators by uid,
 * name and line, never by a hash alone; how much state is at stake; what could take it over.
 */
import { StateMigrationError } from '../../base/errors.ts';
import type { JobGraph, JobOperator, JobVertex } from '../job-graph.ts';
import type { SnapshotMetadata } from '../snapshot.ts';
import type { StoredOperator } from './stored-operators.ts';

/** The option by its short and its long name. */
const DROP = '-n (--allowNonRestoredState)';

export function otherJobError(metadata: SnapshotMetadata, jobGraph: JobGraph): StateMigrationError {
  return new StateMigrationError(
    `${snapshotName(metadata)} is of another job: it was taken of a job "${metadata.jobName}", ` +
      `and no operator of it is in this job "${jobGraph.jobName}". If this is a later version of ` +
      'that job, give its operators the uids they had, or drop all of its state with ' +
      `${DROP}; else name another snapshot, or start with --fresh`,
  );
}

export function unknownOperatorsError(
  metadata: SnapshotMetadata,
  lost: readonly StoredOperator[],
  candidates: (operator: StoredOperator) => readonly JobOperator[],
): StateMigrationError {
  const lines = lost.map((operator) => {
    const homes = candidates(operator).map(describeJobOperator);
    return (
      `  ${describeStored(operator)} has no home in this job; ` +
      `candidates: ${homes.length === 0 ? 'none' : homes.join(', ')}`
    );
  });
  const advice = lost.map((operator) =>
    operator.uid === null
      ? `.setUidHash("${operator.operatorId}")`
      : `.uid(${JSON.stringify(operator.uid)})`,
  );
  const commits = lost.some(holdsResults)
    ? ', once weir tx commit, with the job as it was, has published what its sink was about to'
    : '';
  return new StateMigrationError(
    `${snapshotName(metadata)} holds state that would be lost:\n${lines.join('\n')}\n` +
      `Let an operator take it over with ${advice.join(' or ')}, or drop it with ${DROP}${commits}`,
    {
      details: {
        operators: lost.map(({ uid, name, type, keyCount, sizeBytes }) => ({
          uid,
          name,
          type,
          keyCount,
          sizeBytes,
        })),
      },
    },
  );
}

export function tooFewKeyGroupsError(
  vertex: JobVertex,
  operator: JobOperator,
  keyGroups: number,
): StateMigrationError {
  return new StateMigrationError(
    `${describeJobOperator(operator)} cannot run with parallelism ${vertex.parallelism}: the ` +
      `snapshot divides its keys into ${keyGroups} key groups (its maximum parallelism), which a ` +
      `restore does not change. Set its parallelism to ${keyGroups} or less, or start with ` +
      '--fresh and a greater setMaxParallelism',
  );
}

export function otherMaxParallelismError(
  vertex: JobVertex,
  operator: JobOperator,
  keyGroups: number,
): StateMigrationError {
  return new StateMigrationError(
    `${describeJobOperator(operator)} has the maximum parallelism ${vertex.maxParallelism}, but ` +
      `the snapshot divides its keys into ${keyGroups} key groups, which a restore does not ` +
      `change. Set it to ${keyGroups}, or leave it out, so that it follows the snapshot`,
  );
}

export function mixedFinishedError(
  vertex: JobVertex,
  finished: readonly JobOperator[],
): StateMigrationError {
  const others = vertex.operators.filter((operator) => !finished.includes(operator));
  return new StateMigrationError(
    `in the snapshot ${listOf(finished)} had finished, and ${listOf(others)} had not, but this ` +
      'job chains them: separate them with startNewChain()',
  );
}

export function finishedBehindRunningError(
  source: JobVertex,
  target: JobVertex,
): StateMigrationError {
  return new StateMigrationError(
    `in the snapshot "${target.name}" had finished, so it cannot take records from ` +
      `"${source.name}", which had not: feed a new operator with a uid of its own`,
  );
}

/** Of what is dropped because the user said so. */
export function droppedText(operator: StoredOperator): string {
  const results = holdsResults(operator)
    ? ': results that it had not published yet are lost, and transactions of it stay open'
    : '';
  return `the state of ${describeStored(operator)} is dropped${results}`;
}

/** A sink whose snapshot promises to publish something; whether that took place is not in it. */
function holdsResults({ type, itemCount }: StoredOperator): boolean {
  return type === 'sink' && itemCount > 0;
}

/** `operator "c" (count, keyedProcess, 3 keys, 120 B)`. */
export function describeStored(operator: StoredOperator): string {
  const facts = [
    operator.uid === null ? null : operator.name,
    operator.type,
    operator.keyCount > 0 ? `${operator.keyCount} ${plural(operator.keyCount, 'key')}` : null,
    operator.itemCount > 0 ? `${operator.itemCount} ${plural(operator.itemCount, 'item')}` : null,
    formatBytes(operator.sizeBytes),
    operator.uid === null ? 'no uid' : null,
  ].filter((fact) => fact !== null && fact !== operator.uid);
  const label = operator.uid ?? operator.name ?? 'unnamed';
  return `operator ${JSON.stringify(label)} (${facts.join(', ')})`;
}

/** `"totals" (orders.ts:14)`. */
export function describeJobOperator({ name, uid, location }: JobOperator): string {
  return `${JSON.stringify(uid ?? name)}${location === null ? '' : ` (${location})`}`;
}

function snapshotName({ kind, checkpointId }: SnapshotMetadata): string {
  return `${kind} ${checkpointId}`;
}

function listOf(operators: readonly JobOperator[]): string {
  return operators.map(describeJobOperator).join(', ');
}

function plural(count: number, word: string): string {
  return count === 1 ? word : `${word}s`;
}

function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
