/** Checkpoints as the REST API shows them. Pure: from the run's statistics to JSON. */
import type { CheckpointFacts, CheckpointStatistics } from '../jobmanager/checkpoint-statistics.ts';
import type { CheckpointCoordinatorConfig } from '../protocol/checkpoint/checkpoint-config.ts';
import type { AcknowledgedSubtask } from '../protocol/checkpoint/coordinator-messages.ts';
import type { CheckpointJson, CheckpointsJson, StatJson, TaskCheckpointJson } from './contract.ts';

/** Where a checkpoint is that is kept in the JobManager's memory, in Flink's words. */
const NOT_ADDRESSABLE = '<checkpoint-not-externally-addressable>';

export function checkpointsView(statistics: CheckpointStatistics): CheckpointsJson {
  const { counts, latest, history } = statistics.summary();
  const completed = history.filter(({ status }) => status === 'COMPLETED');
  const sizes = statOf(completed.map(({ sizeBytes }) => sizeBytes));
  const nothing = statOf(completed.map(() => 0));
  const { restored } = latest;
  return {
    counts: {
      restored: counts.restored,
      total: counts.total,
      in_progress: counts.inProgress,
      completed: counts.completed,
      failed: counts.failed,
    },
    summary: {
      checkpointed_size: sizes,
      state_size: sizes,
      end_to_end_duration: statOf(completed.map(({ durationMs }) => Math.round(durationMs))),
      alignment_buffered: nothing,
      processed_data: nothing,
      persisted_data: nothing,
    },
    latest: {
      completed: latest.completed === null ? null : checkpointView(latest.completed),
      savepoint: latest.savepoint === null ? null : checkpointView(latest.savepoint),
      failed: latest.failed === null ? null : checkpointView(latest.failed),
      restored:
        restored === null
          ? null
          : {
              id: restored.checkpointId,
              restore_timestamp: restored.restoredAt,
              is_savepoint: restored.kind === 'savepoint',
              external_path: pathView(restored.directory),
            },
      'x-proven': provenView(statistics),
    },
    history: history.map((facts) => checkpointView(facts)),
  };
}

export function provenView(
  statistics: CheckpointStatistics,
): { readonly id: number; readonly timestamp: number } | null {
  const { proven } = statistics.summary().latest;
  return proven === null ? null : { id: proven.checkpointId, timestamp: proven.provenAt };
}

/** `tasks` is filled only where one checkpoint is asked for. */
export function checkpointView(facts: CheckpointFacts, withTasks = false): CheckpointJson {
  const { status, kind, stopsJob, triggeredAt, durationMs, acknowledged, failure } = facts;
  const isSavepoint = kind === 'savepoint';
  return {
    className: CLASS_NAMES[status],
    id: facts.checkpointId,
    status,
    is_savepoint: isSavepoint,
    savepointFormat: isSavepoint ? 'CANONICAL' : null,
    trigger_timestamp: triggeredAt,
    ...numbersOf(facts, acknowledged, totalOf(facts)),
    end_to_end_duration: Math.round(durationMs),
    checkpointed_size: facts.sizeBytes,
    state_size: facts.sizeBytes,
    checkpoint_type: isSavepoint ? (stopsJob ? 'SYNC_SAVEPOINT' : 'SAVEPOINT') : 'CHECKPOINT',
    tasks: withTasks ? tasksOf(facts) : {},
    ...(status === 'COMPLETED'
      ? { external_path: pathView(facts.directory ?? ''), discarded: false }
      : {}),
    ...(failure === null
      ? {}
      : {
          failure_timestamp: Math.round(triggeredAt + durationMs),
          failure_message: failure.message,
        }),
  };
}

export function checkpointConfigView(
  config: CheckpointCoordinatorConfig,
  storage: string,
): Readonly<Record<string, unknown>> {
  return {
    mode: config.mode.toLowerCase(),
    // Flink's client reads a long.
    interval: config.intervalMs ?? Number.MAX_SAFE_INTEGER,
    timeout: config.timeoutMs,
    min_pause: config.minPauseMs,
    max_concurrent: config.maxConcurrentCheckpoints,
    externalization: {
      enabled: config.retention !== 'NO_EXTERNALIZED_CHECKPOINTS',
      delete_on_cancellation: config.retention !== 'RETAIN_ON_CANCELLATION',
    },
    state_backend: 'HashMapStateBackend',
    checkpoint_storage:
      storage === 'jobmanager' ? 'JobManagerCheckpointStorage' : 'FileSystemCheckpointStorage',
    unaligned_checkpoints: false,
    tolerable_failed_checkpoints: config.tolerableFailedCheckpoints,
    aligned_checkpoint_timeout: 0,
    checkpoints_after_tasks_finish: config.checkpointsAfterTasksFinish,
    state_changelog_enabled: false,
    changelog_periodic_materialization_interval: 600_000,
    changelog_storage: null,
  };
}

/** A path on this machine, as Flink's tools print it: one slash behind the scheme. */
export function pathView(directory: string): string {
  if (!directory.startsWith('/')) return NOT_ADDRESSABLE;
  // Spaces stay, as with Flink; what would be read back as something else, or end the line, not.
  return `file:${directory.replaceAll(/[%\p{Cc}]/gu, encodeURIComponent)}`;
}

const CLASS_NAMES = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  IN_PROGRESS: 'in_progress',
} as const;

function tasksOf(facts: CheckpointFacts): Readonly<Record<string, TaskCheckpointJson>> {
  return Object.fromEntries(
    [...facts.subtasks].map(([vertexId, count]) => {
      const acknowledged = facts.acknowledged.filter((it) => it.execution.vertexId === vertexId);
      const numbers = numbersOf(facts, acknowledged, count);
      return [vertexId, { id: facts.checkpointId, status: facts.status, ...numbers }];
    }),
  );
}

function numbersOf(
  { triggeredAt }: CheckpointFacts,
  acknowledged: readonly AcknowledgedSubtask[],
  subtasks: number,
): Omit<TaskCheckpointJson, 'id' | 'status'> {
  const latencies = acknowledged.map(({ latencyMs }) => Math.round(latencyMs));
  const duration = Math.max(0, ...latencies);
  const sizeBytes = acknowledged.reduce((sum, subtask) => sum + subtask.sizeBytes, 0);
  return {
    latest_ack_timestamp: acknowledged.length === 0 ? -1 : triggeredAt + duration,
    checkpointed_size: sizeBytes,
    state_size: sizeBytes,
    end_to_end_duration: duration,
    alignment_buffered: 0,
    processed_data: 0,
    persisted_data: 0,
    num_subtasks: subtasks,
    num_acknowledged_subtasks: acknowledged.length,
  };
}

function totalOf({ subtasks }: CheckpointFacts): number {
  return [...subtasks.values()].reduce((sum, count) => sum + count, 0);
}

function statOf(values: readonly number[]): StatJson {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number | 'NaN' =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 'NaN';
  const sum = sorted.reduce((total, value) => total + value, 0);
  return {
    min: sorted[0] ?? 0,
    max: sorted.at(-1) ?? 0,
    avg: sorted.length === 0 ? 0 : Math.round(sum / sorted.length),
    p50: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
    p999: at(0.999),
  };
}
