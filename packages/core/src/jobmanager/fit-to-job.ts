/**
 * Whether a job can go on from a snapshot, decided before anything is claimed or started: where its
 * state goes, and whether it can be read there.
 */
import { assignState } from '../protocol/execution/state-assignment.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { StorageIo } from '../storage/storage-io.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { checkStateTypes } from './check-state-types.ts';
import type { PreparedJob } from './prepare-run.ts';

/** Keys of each subtask whose values are read before a start, if their type has changed. */
const SAMPLE_MAX = 1000;

export interface FitOptions extends StorageIo {
  readonly allowNonRestored: boolean;
  warn(message: string): void;
}

/** @throws StateMigrationError when the snapshot does not fit the job. */
export async function fitToJob(
  options: FitOptions,
  { jobGraph, streamGraph, configuration }: PreparedJob,
  restored: StoredSnapshot | null,
): Promise<{ readonly jobGraph: JobGraph; readonly allowNonRestored: boolean }> {
  const allowNonRestored =
    options.allowNonRestored ||
    configuration.get('execution.state-recovery.ignore-unclaimed-state');
  if (restored === null) return { jobGraph, allowNonRestored };
  const { metadata, directory } = restored;
  const assigned = assignState(metadata, jobGraph, { directory, allowNonRestored });
  for (const message of assigned.warnings) options.warn(message);
  const check = { sampleMax: SAMPLE_MAX, readsAll: false };
  await checkStateTypes(options, restored, { jobGraph, streamGraph }, check);
  return { jobGraph: assigned.jobGraph, allowNonRestored };
}
