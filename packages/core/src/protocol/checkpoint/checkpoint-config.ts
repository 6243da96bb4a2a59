/**
 * The settings of the checkpoint coordinator under Flink's keys, their validation, and what follows
 * from them. Only numbers here: texts such as `10 s` are parsed where configuration is read.
 */
import { ConfigurationError } from '../../base/errors.ts';

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

/** Flink's defaults. */
export const CHECKPOINT_CONFIG_DEFAULTS: CheckpointCoordinatorConfig = {
  intervalMs: null,
  intervalDuringBacklogMs: null,
  mode: 'EXACTLY_ONCE',
  timeoutMs: 600_000,
  minPauseMs: 0,
  maxConcurrentCheckpoints: 1,
  tolerableFailedCheckpoints: 0,
  retention: 'NO_EXTERNALIZED_CHECKPOINTS',
  numRetained: 1,
  checkpointsAfterTasksFinish: true,
};

/** Flink's least interval and time-out: below it a job would do little else. */
const LEAST_MS = 10;
/** Flink's cap of the pause: 365 days. */
const MIN_PAUSE_MAX_MS = 365 * 24 * 3_600_000;

/** Fills in Flink's defaults; throws a `ConfigurationError` with key and value if one is wrong. */
export function checkpointConfig(
  settings: Partial<CheckpointCoordinatorConfig>,
): CheckpointCoordinatorConfig {
  const config = { ...CHECKPOINT_CONFIG_DEFAULTS, ...settings };
  const { intervalMs, intervalDuringBacklogMs } = config;
  if (intervalMs !== null) requireAtLeast('interval', intervalMs, LEAST_MS, 'ms');
  requireAtLeast('timeout', config.timeoutMs, LEAST_MS, 'ms');
  requireAtLeast('min-pause', config.minPauseMs, 0, 'ms');
  requireCount('max-concurrent-checkpoints', config.maxConcurrentCheckpoints, 1);
  requireCount('tolerable-failed-checkpoints', config.tolerableFailedCheckpoints, 0);
  requireCount('num-retained', config.numRetained, 1);
  if (intervalDuringBacklogMs !== null && intervalDuringBacklogMs !== 0) {
    const least = Math.max(LEAST_MS, intervalMs ?? 0);
    if (!(intervalDuringBacklogMs >= least))
      throw invalid(
        'interval-during-backlog',
        `${intervalDuringBacklogMs} ms`,
        `0 (no checkpoints meanwhile) or at least the interval, here ${least} ms`,
      );
  }
  return { ...config, minPauseMs: Math.min(config.minPauseMs, MIN_PAUSE_MAX_MS) };
}

/** Milliseconds between periodic triggers; Infinity: none. A pause longer than it stretches it. */
export function effectiveIntervalMs(
  config: CheckpointCoordinatorConfig,
  isBacklog: boolean,
): number {
  if (config.intervalMs === null) return Infinity;
  const wanted = isBacklog
    ? (config.intervalDuringBacklogMs ?? config.intervalMs)
    : config.intervalMs;
  return wanted === 0 ? Infinity : Math.max(wanted, config.minPauseMs);
}

/** A pause means one at a time: so says Flink's documentation, which its code does not follow. */
export function effectiveConcurrency(config: CheckpointCoordinatorConfig): number {
  return config.minPauseMs > 0 ? 1 : config.maxConcurrentCheckpoints;
}

/** How a run ended. SIGINT and SIGTERM, and a lost leadership, are `SUSPENDED`. */
export type RunEnd = 'FINISHED' | 'CANCELED' | 'FAILED' | 'SUSPENDED';

/**
 * Whether the completed checkpoints of a run are kept when it ends so. A failed or suspended run
 * always keeps them: they are all that is left of its work.
 */
export function keepsCheckpoints(retention: ExternalizedCheckpointRetention, end: RunEnd): boolean {
  switch (end) {
    case 'FAILED':
    case 'SUSPENDED':
      return true;
    case 'CANCELED':
      return retention === 'RETAIN_ON_CANCELLATION';
    case 'FINISHED':
      return false;
  }
}

function requireAtLeast(key: string, value: number, least: number, unit: string): void {
  // Written so that NaN is refused too.
  if (!(value >= least)) throw invalid(key, `${value} ${unit}`, `at least ${least} ${unit}`);
}

/** Infinity passes: no limit. */
function requireCount(key: string, value: number, least: number): void {
  const isWhole = Number.isInteger(value) || value === Infinity;
  if (!isWhole || value < least) throw invalid(key, `${value}`, `a whole number from ${least} on`);
}

function invalid(key: string, value: string, allowed: string): ConfigurationError {
  return new ConfigurationError(
    `execution.checkpointing.${key} is ${value}; allowed is ${allowed}`,
    { details: { key: `execution.checkpointing.${key}`, value, allowed } },
  );
}
