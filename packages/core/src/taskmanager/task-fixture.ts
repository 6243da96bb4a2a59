/**
 * For tests of tasks: a thread with all subtasks of a job, on a clock that tests move. Plays the
 * JobManager: deploys, and keeps what the tasks say.
 */
import { buildStreamGraph } from '../api/build-stream-graph.ts';
import type { Job } from '../api/job.ts';
import { ManualClock } from '../base/clock.ts';
import type { JobId } from '../base/ids.ts';
import type { LogLevel } from '../base/logger.ts';
import { seededRandom } from '../base/random.ts';
import { compileJobGraph } from '../graph/compile-job-graph.ts';
import { createExchange } from '../network/data-exchange.ts';
import { channelsOf } from '../protocol/execution/channels.ts';
import { deploymentsOf } from '../protocol/execution/deployments.ts';
import { JobExecution } from '../protocol/execution/job-execution.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type {
  CheckpointTrigger,
  JobManagerMessage,
  ReaderEvent,
  TaskDeployment,
} from '../protocol/messages.ts';
import { slotLayoutOf } from '../protocol/slots/slot-layout.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { ActiveOperator } from './operators/active-operator.ts';
import type { BuiltJob, TaskSettings } from './task/task-environment.ts';
import { TaskExecutor } from './task-executor.ts';

const SETTINGS: TaskSettings = {
  checkpointingMode: 'EXACTLY_ONCE',
  checkpointsAfterTasksFinish: true,
  inlineThresholdBytes: 1 << 20,
  bufferTimeoutMs: 0,
  autoWatermarkIntervalMs: 0,
  committerRetries: 0,
  latency: { intervalMs: 0, granularity: 'operator', historySize: 128 },
  buffersPerChannel: 4,
  freezeState: true,
};

export class TaskThread {
  readonly clock: ManualClock = new ManualClock();
  readonly fileSystem: MemoryFileSystem = new MemoryFileSystem();
  readonly messages: JobManagerMessage[] = [];
  readonly logged: string[] = [];
  readonly deployments: readonly TaskDeployment[];
  readonly executor: TaskExecutor;
  readonly #jobGraph: JobGraph;

  constructor(job: Job, settings: Partial<TaskSettings> = {}, parallelism = 1) {
    const build = (): BuiltJob => {
      const { graph } = buildStreamGraph(job);
      const { jobGraph } = compileJobGraph(graph, { defaultParallelism: parallelism });
      return { streamGraph: graph, jobGraph };
    };
    this.#jobGraph = build().jobGraph;
    this.deployments = deploymentsFor(this.#jobGraph);
    this.executor = new TaskExecutor({
      environment: {
        jobId: '1'.repeat(32) as JobId,
        clock: this.clock,
        random: seededRandom(1),
        fileSystem: this.fileSystem,
        logger: { log: (level: LogLevel, text) => void this.logged.push(`${level} ${text}`) },
        exchange: createExchange({
          threadId: 0,
          threadOfSlot: () => 0,
          onActivity: () => this.executor.wakeUp(),
        }),
        settings: { ...SETTINGS, ...settings },
        active: new ActiveOperator(),
        buildJob: build,
        send: (message) => void this.messages.push(message),
      },
      stallWarningMs: 1000,
    });
  }

  /** Deploys every subtask, or those of the n-th vertex only. */
  deploy(vertex?: number): void {
    const id = vertex === undefined ? null : this.#jobGraph.vertices[vertex]?.id;
    for (const deployment of this.deployments)
      if (id === null || deployment.execution.vertexId === id)
        this.executor.handle({ type: 'deployTask', deployment });
  }

  /** The deployment of a subtask of the n-th vertex. */
  deployment(vertex: number, subtask = 0): TaskDeployment {
    const id = this.#jobGraph.vertices[vertex]?.id;
    const found = this.deployments.find(
      ({ execution }) => execution.vertexId === id && execution.subtask === subtask,
    );
    if (found === undefined) throw new Error(`there is no subtask ${subtask} of vertex ${vertex}`);
    return found;
  }

  /** Lets everything run that is due within `ms`. */
  async run(ms = 0): Promise<void> {
    for (let turn = 0; turn < 30; turn++) {
      for (let i = 0; i < 10; i++) await Promise.resolve();
      this.clock.advance(0);
    }
    if (ms === 0) return;
    this.clock.advance(ms);
    await this.run();
  }

  /** States that a subtask reported, in order. */
  states(vertex: number, subtask = 0): string[] {
    const { execution } = this.deployment(vertex, subtask);
    return this.of('taskStateChanged')
      .filter((it) => isSame(it.execution, execution))
      .map(({ state }) => state);
  }

  /** The error with which the task ended. */
  get error(): string | undefined {
    return this.of('taskStateChanged').find(({ error }) => error !== null)?.error?.message;
  }

  of<T extends JobManagerMessage['type']>(type: T): Extract<JobManagerMessage, { type: T }>[] {
    return this.messages.filter(
      (message): message is Extract<JobManagerMessage, { type: T }> => message.type === type,
    );
  }

  cancel(vertex: number): void {
    const { execution } = this.deployment(vertex);
    this.executor.handle({ type: 'cancelTask', execution });
  }

  trigger(
    vertex: number,
    checkpointId: number,
    kind: CheckpointTrigger['options']['kind'] = 'checkpoint',
  ): void {
    const { execution } = this.deployment(vertex);
    const trigger: CheckpointTrigger = {
      checkpointId,
      timestamp: this.clock.wallTime(),
      options: { kind, location: '/chk' },
    };
    this.executor.handle({ type: 'triggerCheckpoint', execution, trigger });
  }

  abort(vertex: number, checkpointId: number): void {
    const { execution } = this.deployment(vertex);
    const message = { execution, checkpointId, latestCompletedId: 0 };
    this.executor.handle({ type: 'notifyCheckpointAborted', ...message });
  }

  complete(vertex: number, checkpointId: number): void {
    const { execution } = this.deployment(vertex);
    this.executor.handle({ type: 'notifyCheckpointComplete', execution, checkpointId });
  }

  /** As the enumerator would. */
  tellReader(vertex: number, event: ReaderEvent): void {
    const { execution } = this.deployment(vertex);
    const operatorId = this.#jobGraph.vertices[vertex]?.operators[0]?.operatorId;
    if (operatorId === undefined) throw new Error(`there is no vertex ${vertex}`);
    this.executor.handle({ type: 'readerEvent', execution, operatorId, event });
  }
}

function deploymentsFor(jobGraph: JobGraph): readonly TaskDeployment[] {
  const job = new JobExecution({
    jobGraph,
    epoch: 1,
    restartStrategy: { type: 'none' },
    failoverStrategy: 'region',
  });
  return deploymentsOf(
    job.executions().map(({ ref }) => ref),
    {
      jobGraph,
      channels: channelsOf(jobGraph),
      slots: slotLayoutOf(jobGraph),
      job,
      restores: new Map(),
      ignoreUpTo: 0,
      lastCompletedCheckpointId: 0,
    },
  );
}

function isSame(a: TaskDeployment['execution'], b: TaskDeployment['execution']): boolean {
  return a.vertexId === b.vertexId && a.subtask === b.subtask;
}
