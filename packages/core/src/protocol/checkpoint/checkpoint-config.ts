/** The settings of the checkpoint coordinator and what follows from them. */

export type CheckpointingMode = 'EXACTLY_ONCE' | 'AT_LEAST_ONCE';

export type ExternalizedCheckpointRetention =
  | 'NO_EXTERNALIZED_CHECKPOINTS'
  | 'DELETE_ON_CANCELLATION'
  | 'RETAIN_ON_CANCELLATION';

/** Every field under its Flink key, `execution.checkpointing.<key>`. */
export interface CheckpointCoordinatorConfig {
  /** `interval`: milliseconds, at least 10; `null`: no periodic checkpoints. */
  readonly intervalMs: number | null;
  /** `interval-during-backlog`: 0: none meanwhile; `null`: same as the interval. */
  readonly intervalDuringBacklogMs: number | null;
  readonly mode: CheckpointingMode;
  /** `timeout`: milliseconds, at least 10. */
  readonly timeoutMs: number;
  /** `min-pause`: milliseconds between a completion and the next periodic trigger. */
  readonly minPauseMs: number;
  /** `max-concurrent-checkpoints`; one at a time whatever it says when there is a pause. */
  readonly maxConcurrentCheckpoints: number;
  /** `tolerable-failed-checkpoints`: consecutive failures that do not yet fail the job. */
  readonly tolerableFailedCheckpoints: number;
  /** `externalized-checkpoint-retention`. */
  readonly retention: ExternalizedCheckpointRetention;
  /** `num-retained`: completed checkpoints kept while the job runs. */
  readonly numRetained: number;
  /** `checkpoints-after-tasks-finish`: whether checkpoints go on once a task has finished. */
  readonly checkpointsAfterTasksFinish: boolean;
}

/** Fills in Flink's defaults; throws a `ConfigurationError` naming key and value if one is wrong. */
export function checkpointConfig(
  _settings: Partial<CheckpointCoordinatorConfig>,
): CheckpointCoordinatorConfig {
  throw new Error('stub');
}

/** How a run ended. SIGINT and SIGTERM, and a lost leadership, are `SUSPENDED`. */
export type RunEnd = 'FINISHED' | 'CANCELED' | 'FAILED' | 'SUSPENDED';

/** Whether the completed checkpoints of a run are kept when it ends so. */
export function keepsCheckpoints(
  _retention: ExternalizedCheckpointRetention,
  _end: RunEnd,
): boolean {
  throw new Error('stub');
}
