/** What the snapshot that a run begins with is to it: a place to start from, or its own. Pure. */
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import type { InitialRestore } from './job-master.ts';
import type { PreparedJob } from './prepare-run.ts';

/**
 * Values are watched where other code than this may have stored them: surely the same is that of
 * the same hash; where none is known, whoever names a snapshot may have changed it.
 */
export function initialRestore(
  restored: StoredSnapshot | null,
  { codeHash }: JobGraph,
  isNewRun: boolean,
): InitialRestore | null {
  if (restored === null) return null;
  const { metadata, directory } = restored;
  const isKnown = codeHash !== undefined && metadata.codeHash !== undefined;
  const watchesTypes = isKnown ? codeHash !== metadata.codeHash : isNewRun;
  return { metadata, directory, watchesTypes };
}

/** With claim mode CLAIM the snapshot is the run's own: it is removed when it is subsumed. */
export function claimedSnapshot(
  options: { warn(message: string): void },
  { configuration }: PreparedJob,
  restored: StoredSnapshot | null,
): CompletedCheckpoint | null {
  const mode = configuration.get('execution.state-recovery.claim-mode');
  if (restored === null || mode === 'NO_CLAIM') return null;
  if (mode === 'LEGACY') {
    options.warn(
      'execution.state-recovery.claim-mode: LEGACY is outdated and means the same as NO_CLAIM: ' +
        'the snapshot stays yours, and no checkpoint needs it',
    );
    return null;
  }
  const { checkpointId, kind, triggeredAt } = restored.metadata;
  return {
    checkpointId,
    kind,
    stopsJob: false,
    directory: restored.directory,
    triggeredAt,
    sizeBytes: 0,
    isOwned: true,
  };
}
