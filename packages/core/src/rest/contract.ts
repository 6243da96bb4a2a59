/**
 * The JSON of the REST API, as Flink's clients know it: names, shapes and absent values are
 * Flink's, so that its command line, dashboard and operators can drive Weir. Numbers that are not
 * known are 0 or -1, since Flink's client takes no `null` for a number. What is ours begins with
 * `x-`.
 */
import type { ExecutionState, JobStatus } from '../protocol/messages.ts';

/** Keys in small letters, and `total`. */
export type TaskCounts = Readonly<Record<string, number>>;

export interface JobOverviewJson {
  readonly jid: string;
  readonly name: string;
  readonly 'start-time': number;
  /** -1 while it runs. */
  readonly 'end-time': number;
  readonly duration: number;
  readonly state: JobStatus;
  readonly 'last-modification': number;
  readonly tasks: TaskCounts;
  readonly 'pending-operators': number;
  readonly jobType: 'STREAMING';
  readonly schedulerType: 'Default';
  /** The checkpoint that was last restored on the side, and when. */
  readonly 'x-proven': { readonly id: number; readonly timestamp: number } | null;
}

export interface ClusterOverviewJson {
  readonly taskmanagers: number;
  readonly 'slots-total': number;
  readonly 'slots-available': number;
  readonly 'jobs-running': number;
  readonly 'jobs-finished': number;
  readonly 'jobs-cancelled': number;
  readonly 'jobs-failed': number;
  readonly 'flink-version': string;
  readonly 'flink-commit': string;
  readonly 'x-weir-version': string;
}

export interface IoMetricsJson {
  readonly 'read-bytes': number;
  readonly 'read-bytes-complete': boolean;
  readonly 'write-bytes': number;
  readonly 'write-bytes-complete': boolean;
  readonly 'read-records': number;
  readonly 'read-records-complete': boolean;
  readonly 'write-records': number;
  readonly 'write-records-complete': boolean;
  readonly 'accumulated-backpressured-time': number;
  readonly 'accumulated-idle-time': number;
  readonly 'accumulated-busy-time': number;
}

export interface MetricJson {
  readonly id: string;
  /** Only when the metric was asked for by name. */
  readonly value?: string;
}

export interface VertexJson {
  readonly id: string;
  readonly slotSharingGroupId: string;
  readonly name: string;
  readonly maxParallelism: number;
  readonly parallelism: number;
  readonly status: ExecutionState;
  readonly 'start-time': number;
  readonly 'end-time': number;
  readonly duration: number;
  readonly tasks: Readonly<Record<string, number>>;
  readonly metrics: IoMetricsJson;
}

export interface PlanNodeJson {
  readonly id: string;
  readonly parallelism: number;
  readonly operator: string;
  readonly operator_strategy: string;
  /** With HTML's special characters escaped. */
  readonly description: string;
  readonly optimizer_properties: Readonly<Record<string, never>>;
  readonly inputs?: readonly {
    readonly num: number;
    readonly id: string;
    readonly ship_strategy: string;
    readonly exchange: string;
  }[];
}

export interface PlanJson {
  readonly jid: string;
  readonly name: string;
  readonly type: 'STREAMING';
  readonly nodes: readonly PlanNodeJson[];
}

export interface JobDetailsJson {
  readonly jid: string;
  readonly name: string;
  readonly isStoppable: boolean;
  readonly state: JobStatus;
  readonly 'job-type': 'STREAMING';
  readonly schedulerType: 'Default';
  readonly 'start-time': number;
  readonly 'end-time': number;
  readonly duration: number;
  readonly maxParallelism: number;
  readonly now: number;
  readonly timestamps: Readonly<Record<string, number>>;
  readonly vertices: readonly VertexJson[];
  readonly 'status-counts': Readonly<Record<string, number>>;
  readonly plan: PlanJson;
  readonly 'pending-operators': number;
}

export interface StatJson {
  readonly min: number;
  readonly max: number;
  readonly avg: number;
  readonly p50: number | 'NaN';
  readonly p90: number | 'NaN';
  readonly p95: number | 'NaN';
  readonly p99: number | 'NaN';
  readonly p999: number | 'NaN';
}

interface CheckpointNumbersJson {
  readonly latest_ack_timestamp: number;
  readonly checkpointed_size: number;
  readonly state_size: number;
  readonly end_to_end_duration: number;
  readonly alignment_buffered: number;
  readonly processed_data: number;
  readonly persisted_data: number;
  readonly num_subtasks: number;
  readonly num_acknowledged_subtasks: number;
}

export interface TaskCheckpointJson extends CheckpointNumbersJson {
  readonly id: number;
  readonly status: string;
}

export interface CheckpointJson extends CheckpointNumbersJson {
  readonly className: 'completed' | 'failed' | 'in_progress';
  readonly id: number;
  readonly status: 'COMPLETED' | 'FAILED' | 'IN_PROGRESS';
  readonly is_savepoint: boolean;
  readonly savepointFormat: 'CANONICAL' | null;
  readonly trigger_timestamp: number;
  readonly checkpoint_type: 'CHECKPOINT' | 'SAVEPOINT' | 'SYNC_SAVEPOINT';
  readonly tasks: Readonly<Record<string, TaskCheckpointJson>>;
  readonly external_path?: string | null;
  readonly discarded?: boolean;
  readonly failure_timestamp?: number;
  readonly failure_message?: string | null;
}

export interface CheckpointsJson {
  readonly counts: {
    readonly restored: number;
    readonly total: number;
    readonly in_progress: number;
    readonly completed: number;
    readonly failed: number;
  };
  readonly summary: Readonly<Record<string, StatJson>>;
  readonly latest: {
    readonly completed: CheckpointJson | null;
    readonly savepoint: CheckpointJson | null;
    readonly failed: CheckpointJson | null;
    readonly restored: {
      readonly id: number;
      readonly restore_timestamp: number;
      readonly is_savepoint: boolean;
      readonly external_path: string;
    } | null;
    /** The checkpoint that was last restored on the side. */
    readonly 'x-proven': { readonly id: number; readonly timestamp: number } | null;
  };
  readonly history: readonly CheckpointJson[];
}

/** What stands for an exception; Java clients read the base64 part alone. */
export interface FailureJson {
  readonly class: string;
  readonly 'stack-trace': string;
  readonly 'serialized-throwable': string;
}

export type OperationJson =
  | { readonly location: string }
  | { readonly checkpointId: number }
  | { readonly 'failure-cause': FailureJson }
  | { readonly failureCause: FailureJson }
  | Readonly<Record<string, never>>;

export interface AsyncOperationJson {
  readonly status: { readonly id: 'IN_PROGRESS' | 'COMPLETED' };
  readonly operation: OperationJson | null;
}

export interface TriggeredJson {
  readonly 'request-id': string;
}

export interface ErrorJson {
  readonly errors: readonly string[];
}
