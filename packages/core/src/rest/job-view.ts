/** A job as the REST API shows it. Pure: from what the JobMaster knows to JSON. */
import { createHash } from 'node:crypto';
import type { JobMaster } from '../jobmanager/job-master.ts';
import type { TaskFacts } from '../jobmanager/run-history.ts';
import type { JobGraph, JobVertex, PartitionerType } from '../protocol/job-graph.ts';
import type { ExecutionState, JobStatus } from '../protocol/messages.ts';
import { provenView } from './checkpoint-view.ts';
import type {
  IoMetricsJson,
  JobDetailsJson,
  JobOverviewJson,
  PlanJson,
  TaskCounts,
  VertexJson,
} from './contract.ts';

/** What the views need of a JobMaster. */
export type ViewedJob = Pick<JobMaster, 'jobId' | 'jobGraph' | 'status' | 'history' | 'statistics'>;

/** Every status that Flink knows, in its order. */
const JOB_STATUSES = [
  'INITIALIZING',
  'CREATED',
  'RUNNING',
  'FAILING',
  'FAILED',
  'CANCELLING',
  'CANCELED',
  'FINISHED',
  'RESTARTING',
  'SUSPENDED',
  'RECONCILING',
] as const;
const TASK_STATES = [
  'CREATED',
  'SCHEDULED',
  'DEPLOYING',
  'RUNNING',
  'FINISHED',
  'CANCELING',
  'CANCELED',
  'FAILED',
  'RECONCILING',
  'INITIALIZING',
] as const;
const TERMINAL: ReadonlySet<string> = new Set(['FINISHED', 'CANCELED', 'FAILED', 'SUSPENDED']);
const ENDED: ReadonlySet<string> = new Set(['FINISHED', 'CANCELED', 'FAILED']);

const SHIP_STRATEGIES: Readonly<Record<PartitionerType, string>> = {
  forward: 'FORWARD',
  hash: 'HASH',
  rebalance: 'REBALANCE',
  rescale: 'RESCALE',
  shuffle: 'SHUFFLE',
  broadcast: 'BROADCAST',
  global: 'GLOBAL',
  custom: 'CUSTOM',
};

export function isTerminal(status: JobStatus): boolean {
  return TERMINAL.has(status);
}

export function jobOverview(job: ViewedJob, now: number): JobOverviewJson {
  const { jobId, jobGraph, status, history } = job;
  const { startTime, endTime } = timesOf(job);
  return {
    jid: jobId,
    name: jobGraph.jobName,
    'start-time': startTime,
    'end-time': endTime,
    duration: (endTime < 0 ? now : endTime) - startTime,
    state: status,
    'last-modification': Math.max(...Object.values(history.statusTimes)),
    tasks: lowerCounts(history.tasks),
    'pending-operators': 0,
    jobType: 'STREAMING',
    schedulerType: 'Default',
    'x-proven': provenView(job.statistics),
  };
}

export function jobDetails(job: ViewedJob, now: number): JobDetailsJson {
  const { jobId, jobGraph, status, history } = job;
  const { startTime, endTime } = timesOf(job);
  const vertices = jobGraph.vertices.map((vertex) => vertexView(vertex, history.tasks, now));
  return {
    jid: jobId,
    name: jobGraph.jobName,
    isStoppable: false,
    state: status,
    'job-type': 'STREAMING',
    schedulerType: 'Default',
    'start-time': startTime,
    'end-time': endTime,
    duration: (endTime < 0 ? now : endTime) - startTime,
    maxParallelism: -1,
    now,
    timestamps: Object.fromEntries(
      JOB_STATUSES.map((name) => [name, history.statusTimes[name as JobStatus] ?? 0]),
    ),
    vertices,
    'status-counts': upperCounts(vertices.map((vertex) => vertex.status)),
    plan: planView(jobId, jobGraph),
    'pending-operators': 0,
  };
}

export function planView(jobId: string, jobGraph: JobGraph): PlanJson {
  return {
    jid: jobId,
    name: jobGraph.jobName,
    type: 'STREAMING',
    nodes: jobGraph.vertices.map((vertex) => {
      const inputs = jobGraph.edges
        .filter((edge) => edge.target === vertex.id)
        .map((edge, num) => ({
          num,
          id: edge.source,
          ship_strategy: SHIP_STRATEGIES[edge.partitioner],
          exchange: 'pipelined_bounded',
        }));
      return {
        id: vertex.id,
        parallelism: vertex.parallelism,
        operator: '',
        operator_strategy: '',
        description: escapeHtml(vertex.name),
        optimizer_properties: {},
        ...(inputs.length === 0 ? {} : { inputs }),
      };
    }),
  };
}

function vertexView(vertex: JobVertex, all: readonly TaskFacts[], now: number): VertexJson {
  const tasks = all.filter(({ execution }) => execution.vertexId === vertex.id);
  const states = tasks.map(({ state }) => state);
  const starts = tasks.map(({ times }) => times.DEPLOYING ?? times.RUNNING ?? Infinity);
  const startTime = Math.min(...starts);
  const ends = tasks.map(({ times }) => times.FINISHED ?? times.CANCELED ?? times.FAILED ?? 0);
  const hasEnded = states.length > 0 && states.every((state) => ENDED.has(state));
  const endTime = hasEnded ? Math.max(...ends) : -1;
  const hasStarted = startTime !== Infinity;
  return {
    id: vertex.id,
    slotSharingGroupId: createHash('md5').update(vertex.slotSharingGroup).digest('hex'),
    name: vertex.name,
    maxParallelism: vertex.maxParallelism,
    parallelism: vertex.parallelism,
    status: aggregate(states),
    'start-time': hasStarted ? startTime : -1,
    'end-time': endTime,
    duration: hasStarted ? (hasEnded ? endTime : now) - startTime : -1,
    tasks: upperCounts(states),
    metrics: ioMetrics(tasks),
  };
}

function ioMetrics(tasks: readonly TaskFacts[]): IoMetricsJson {
  const isComplete = tasks.every(({ metrics }) => metrics !== null);
  const sum = (of: (task: NonNullable<TaskFacts['metrics']>) => number): number =>
    tasks.reduce((total, { metrics }) => total + (metrics === null ? 0 : of(metrics)), 0);
  return {
    'read-bytes': 0,
    'read-bytes-complete': false,
    'write-bytes': 0,
    'write-bytes-complete': false,
    'read-records': sum((task) => task.recordsIn),
    'read-records-complete': isComplete,
    'write-records': sum((task) => task.recordsOut),
    'write-records-complete': isComplete,
    'accumulated-backpressured-time': Math.round(sum((task) => task.backPressuredMs)),
    'accumulated-idle-time': Math.round(sum((task) => task.idleMs)),
    'accumulated-busy-time': Math.round(sum((task) => task.busyMs)),
  };
}

/** The state that says most of a vertex: what is worst, or least far. */
function aggregate(states: readonly ExecutionState[]): ExecutionState {
  const order: readonly ExecutionState[] = [
    'FAILED',
    'CANCELING',
    'CANCELED',
    'CREATED',
    'SCHEDULED',
    'DEPLOYING',
    'INITIALIZING',
    'RUNNING',
  ];
  return (
    order.find((state) => states.includes(state)) ?? (states.length > 0 ? 'FINISHED' : 'CREATED')
  );
}

function timesOf({ status, history }: ViewedJob): {
  readonly startTime: number;
  readonly endTime: number;
} {
  const { statusTimes } = history;
  return {
    startTime: statusTimes.CREATED ?? 0,
    endTime: isTerminal(status) ? (statusTimes[status] ?? -1) : -1,
  };
}

function lowerCounts(tasks: readonly TaskFacts[]): TaskCounts {
  const upper = upperCounts(tasks.map(({ state }) => state));
  const counts = Object.entries(upper).map(([state, count]) => [state.toLowerCase(), count]);
  return { ...(Object.fromEntries(counts) as TaskCounts), total: tasks.length };
}

function upperCounts(states: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    TASK_STATES.map((name) => [name, states.filter((state) => state === name).length]),
  );
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
