/** Decides when snapshots are taken and when they are complete: a pure machine. */
import type { JobId } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import type { CheckpointCoordinatorConfig } from './checkpoint-config.ts';
import type { CompletedCheckpoint } from './completed-checkpoint-store.ts';
import type { CoordinatorEffect, CoordinatorEvent } from './coordinator-messages.ts';

export interface CheckpointCoordinatorOptions {
  readonly config: CheckpointCoordinatorConfig;
  readonly jobId: JobId;
  /** With the parallelism that runs. */
  readonly jobGraph: JobGraph;
  /** Completed checkpoints of earlier runs that are kept, oldest first. */
  readonly restored: readonly CompletedCheckpoint[];
  /** Highest id drawn so far, in any run; 0 if none. */
  readonly lastId: number;
}

export class CheckpointCoordinator {
  constructor(_options: CheckpointCoordinatorOptions) {}

  /** The newest from which failover restores; plain savepoints are never it. */
  get latestCompleted(): CompletedCheckpoint | null {
    throw new Error('stub');
  }
  /** Completed and kept, oldest first. */
  get completed(): readonly CompletedCheckpoint[] {
    throw new Error('stub');
  }
  get pendingIds(): readonly number[] {
    throw new Error('stub');
  }
  /** Whether a `finalise` awaits its answer. Until then no restore may be chosen. */
  get isFinalising(): boolean {
    throw new Error('stub');
  }
  /** Highest id drawn: `ignoreUpTo` of a deployment. */
  get lastId(): number {
    throw new Error('stub');
  }
  handle(_event: CoordinatorEvent): readonly CoordinatorEffect[] {
    throw new Error('stub');
  }
}
