/**
 * Whether a job can go on from a snapshot, decided before anything is claimed or started: where its
 * state goes, whether it can be read there, and whether sinks have gone on since.
 */
import { fromErrorInfo } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import { assignState } from '../protocol/execution/state-assignment.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { StorageIo } from '../storage/storage-io.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { checkSinks } from './check-sinks.ts';
import { checkStateTypes } from './check-state-types.ts';
import type { StateFinding } from './check-state-types.ts';
import type { PreparedJob } from './prepare-run.ts';

/** Keys of each subtask whose values are read before a start, if their type has changed. */
const SAMPLE_MAX = 1000;

export interface FitOptions extends StorageIo {
  readonly random: Random;
  readonly allowNonRestored: boolean;
  warn(message: string): void;
}

/**
 * `newRun`: the id of a run that begins with the snapshot; a run that goes on (`null`) finds out
 * about its sinks when it recovers them.
 *
 * @throws StateMigrationError when the snapshot does not fit the job; what its sinks say (such as
 * SINK_AHEAD) when they cannot go on from it. What an outer system that does not answer knows is
 * left to the run, which tries again.
 */
export async function fitToJob(
  options: FitOptions,
  prepared: PreparedJob,
  restored: StoredSnapshot | null,
  newRun: JobId | null,
): Promise<{ readonly jobGraph: JobGraph; readonly allowNonRestored: boolean }> {
  const { jobGraph, streamGraph, configuration } = prepared;
  const allowNonRestored =
    options.allowNonRestored ||
    configuration.get('execution.state-recovery.ignore-unclaimed-state');
  if (restored === null) return { jobGraph, allowNonRestored };
  const { metadata, directory } = restored;
  const assigned = assignState(metadata, jobGraph, { directory, allowNonRestored });
  for (const message of assigned.warnings) options.warn(message);
  const check = { sampleMax: SAMPLE_MAX, readsAll: false };
  const findings = await checkStateTypes(options, restored, { jobGraph, streamGraph }, check);
  const warnings = newRun === null ? [] : missingFieldsWarnings(findings);
  for (const message of warnings) options.warn(message);
  if (newRun !== null) {
    const environment = { ...options, logger: { log: () => undefined } };
    const stored = [...assigned.restores.values()];
    const sinks = await checkSinks({ environment, prepared, jobId: newRun, stored });
    const obstacle = sinks.find((sink) => sink.obstacle?.kind === 'user')?.obstacle;
    if (obstacle !== undefined && obstacle !== null) throw fromErrorInfo(obstacle);
  }
  return { jobGraph: assigned.jobGraph, allowNonRestored };
}

function missingFieldsWarnings(findings: readonly StateFinding[]): readonly string[] {
  return findings
    .filter(({ missingFields }) => missingFields.length > 0)
    .map(
      ({ operator, state, checkedBy, missingFields }) =>
        `stored values of state "${state}" of ${operator} lack ${missingFields.join(', ')}, ` +
        `which its ${checkedBy} has: they are read as undefined; with a higher version and ` +
        'migrate the values can be filled in',
    );
}
