/** Which subtask restores what of a snapshot. */
import type { OperatorId, SubtaskKey } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import type { TaskRestore } from '../messages.ts';
import type { CoordinatorSnapshot, SnapshotMetadata } from '../snapshot.ts';

export interface StateAssignmentOptions {
  /** Directory against which relative paths of the snapshot are resolved. */
  readonly directory: string;
  /** Drop state whose operator the job no longer has, instead of refusing. */
  readonly allowNonRestored: boolean;
}

/** State of an operator that the job no longer has. */
export interface DroppedState {
  readonly operatorId: OperatorId;
  readonly uid: string | null;
  readonly name: string;
  readonly type: string;
  readonly keyCount: number;
  readonly sizeBytes: number;
}

export interface StateAssignment {
  /** By subtask; a subtask that is missing starts empty. */
  readonly restores: ReadonlyMap<SubtaskKey, TaskRestore>;
  /** State of split enumerators by operator. */
  readonly coordinators: ReadonlyMap<OperatorId, CoordinatorSnapshot>;
  /** The job graph with the maximum parallelism that the snapshot demands; same plan hash. */
  readonly jobGraph: JobGraph;
  readonly dropped: readonly DroppedState[];
  readonly warnings: readonly string[];
}

/** Throws `StateMigrationError` when the snapshot does not fit the job. */
export function assignState(
  _metadata: SnapshotMetadata,
  _jobGraph: JobGraph,
  _options: StateAssignmentOptions,
): StateAssignment {
  throw new Error('stub');
}
