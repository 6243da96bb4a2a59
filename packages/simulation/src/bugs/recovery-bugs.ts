/** Mistakes in who takes part in a checkpoint, what is restored, and by whom. */
import { StorageUnavailableError } from '@weir/core/internal/base/errors';
import { CheckpointShell } from '@weir/core/internal/jobmanager/checkpoint-shell';
import { SourceCoordinator } from '@weir/core/internal/jobmanager/source-coordinator';
import * as stores from '@weir/core/internal/protocol/checkpoint/completed-checkpoint-store';
import { PendingCheckpoint } from '@weir/core/internal/protocol/checkpoint/pending-checkpoint';
import { PendingCheckpoints } from '@weir/core/internal/protocol/checkpoint/pending-checkpoints';
import { JobExecution } from '@weir/core/internal/protocol/execution/job-execution';
import { FileCheckpointStorage } from '@weir/core/internal/storage/file-checkpoint-storage';
import type { PlantedBug } from './planted-bugs.ts';
import { substituteGetter, substituteMethod } from './substitute.ts';

export const recoveryBugs: readonly PlantedBug[] = [
  {
    name: 'acknowledgement of a stale attempt counted',
    scenario: 'acknowledgements-of-the-dead',
    plant: () => substituteMethod(PendingCheckpoints.prototype, 'abortAll', () => () => undefined),
  },
  {
    name: 'late acknowledgement counted',
    scenario: 'acknowledgements-too-late',
    plant: () =>
      substituteMethod(
        PendingCheckpoints.prototype,
        'abort',
        (original) =>
          function (this: PendingCheckpoints, pending, now, failure) {
            if (failure.reason !== 'CHECKPOINT_EXPIRED' || pending.state !== 'triggered')
              return original.call(this, pending, now, failure);
            const told = copyOf(pending, pending.startedAt);
            original.call(this, told, now, failure);
            const kept = copyOf(pending, now);
            kept.directory = pending.directory;
            kept.coordinators = pending.coordinators;
            for (const acknowledgement of pending.acknowledgements.values())
              kept.acknowledge(acknowledgement);
            this.add(kept);
          },
      ),
  },
  {
    name: 'checkpoint that has expired goes on',
    scenario: 'acknowledgements-too-late',
    plant: () =>
      substituteMethod(PendingCheckpoints.prototype, 'onExpiryTimer', () => () => undefined),
  },
  {
    name: 'decline of a checkpoint not heard',
    plant: () =>
      substituteMethod(PendingCheckpoints.prototype, 'onDeclined', () => () => undefined),
  },
  {
    name: 'restart does not wait for a completion under way',
    plant: () =>
      substituteMethod(CheckpointShell.prototype, 'settled', () => () => Promise.resolve()),
  },
  {
    name: 'checkpoints made durable side by side',
    plant: () =>
      substituteGetter(PendingCheckpoints.prototype, 'isFinalising', function () {
        return false;
      }),
  },
  {
    name: 'oldest checkpoint restored instead of the newest',
    plant: () =>
      substituteGetter(stores.CompletedCheckpointStore.prototype, 'latest', function () {
        return this.checkpoints[0] ?? null;
      }),
  },
  {
    name: 'newest checkpoint deleted instead of the oldest',
    plant: () =>
      substituteMethod(
        stores.CompletedCheckpointStore.prototype,
        'add',
        (original) =>
          function (this: stores.CompletedCheckpointStore, checkpoint) {
            const subsumed = original.call(this, checkpoint);
            return subsumed.length === 0 ? subsumed : [checkpoint];
          },
      ),
  },
  {
    name: 'one checkpoint too many deleted',
    plant: () =>
      substituteMethod(
        stores.CompletedCheckpointStore.prototype,
        'add',
        (original) =>
          function (this: stores.CompletedCheckpointStore, checkpoint) {
            const subsumed = original.call(this, checkpoint);
            const [oldest] = this.checkpoints;
            const isKept = oldest === undefined || oldest === checkpoint;
            return isKept ? subsumed : [...subsumed, oldest];
          },
      ),
  },
  {
    name: 'unknown outcome of the completing write taken for a failure',
    scenario: 'disk-silent-in-completion',
    plant: () =>
      substituteMethod(
        FileCheckpointStorage.prototype,
        'publish',
        (original) =>
          async function (this: FileCheckpointStorage, location, metadata) {
            try {
              await original.call(this, location, metadata);
            } catch {
              throw new StorageUnavailableError('the disk does not answer');
            }
          },
      ),
  },
  {
    name: 'enumerator in the snapshot as it was at the one before',
    plant: () => {
      const earlier = new WeakMap<SourceCoordinator, ReturnType<SourceCoordinator['snapshot']>>();
      return substituteMethod(
        SourceCoordinator.prototype,
        'snapshot',
        (original) =>
          function (this: SourceCoordinator, checkpointId) {
            const now = original.call(this, checkpointId);
            const before = earlier.get(this) ?? now;
            earlier.set(this, now);
            return before;
          },
      );
    },
  },
  {
    name: 'assignments after a checkpoint forgotten with it',
    plant: () =>
      substituteMethod(
        SourceCoordinator.prototype,
        'notifyCheckpointComplete',
        (original) =>
          function (this: SourceCoordinator) {
            original.call(this, Number.MAX_SAFE_INTEGER);
          },
      ),
  },
  {
    name: 'attempt deployed that was cancelled meanwhile',
    scenario: 'enumerator-fails-in-restart',
    plant: () => substituteMethod(JobExecution.prototype, 'mayDeploy', () => () => true),
  },
];

function copyOf(pending: PendingCheckpoint, startedAt: number): PendingCheckpoint {
  const { checkpointId, request, plan, timestamp } = pending;
  const copy = new PendingCheckpoint({ checkpointId, request, plan, timestamp, startedAt });
  copy.moveTo('triggered');
  return copy;
}
