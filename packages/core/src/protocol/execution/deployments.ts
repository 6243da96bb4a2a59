/**
 * Builds the TaskDeployments of executions that start together: for each its place, its channels
 * with the attempts at their other ends, and what it restores.
 */
import { assert } from '../../base/assert.ts';
import { subtaskKey } from '../../base/ids.ts';
import type { ExecutionRef, SubtaskKey, VertexId } from '../../base/ids.ts';
import type { JobGraph, JobVertex } from '../job-graph.ts';
import type { ChannelDescriptor, SubtaskRef, TaskDeployment, TaskRestore } from '../messages.ts';
import type { SlotLayout } from '../slots/slot-layout.ts';
import type { Channel } from './channels.ts';
import type { JobExecution } from './job-execution.ts';

export interface DeploymentPlan {
  readonly jobGraph: JobGraph;
  readonly channels: readonly Channel[];
  readonly slots: SlotLayout;
  /** Knows the present attempts, those of the peers too. */
  readonly job: Pick<JobExecution, 'execution'>;
  readonly restores: ReadonlyMap<SubtaskKey, TaskRestore>;
  readonly ignoreUpTo: number;
  readonly lastCompletedCheckpointId: number;
}

/** In the order of `executions`. */
export function deploymentsOf(
  executions: readonly ExecutionRef[],
  plan: DeploymentPlan,
): readonly TaskDeployment[] {
  const keys = new Set(executions.map((ref) => subtaskKey(ref.vertexId, ref.subtask)));
  const inputs = new Map<SubtaskKey, ChannelDescriptor[]>();
  const outputs = new Map<SubtaskKey, ChannelDescriptor[]>();
  for (const channel of plan.channels) {
    const producer = subtaskKey(channel.producer.vertexId, channel.producer.subtask);
    const consumer = subtaskKey(channel.consumer.vertexId, channel.consumer.subtask);
    if (!keys.has(producer) && !keys.has(consumer)) continue;
    const descriptor = describeChannel(channel, plan);
    if (keys.has(producer)) append(outputs, producer, descriptor);
    if (keys.has(consumer)) append(inputs, consumer, descriptor);
  }
  return executions.map((execution) => {
    const { vertexId, subtask } = execution;
    const key = subtaskKey(vertexId, subtask);
    const vertex = vertexOf(vertexId, plan.jobGraph);
    return {
      execution,
      parallelism: vertex.parallelism,
      maxParallelism: vertex.maxParallelism,
      attemptNumber: plan.job.execution(vertexId, subtask).attemptNumber,
      slot: plan.slots.slotOf(vertexId, subtask),
      inputs: inputs.get(key) ?? [],
      outputs: outputs.get(key) ?? [],
      targetMaxParallelism: targetMaxParallelismOf(vertexId, plan.jobGraph),
      restore: plan.restores.get(key) ?? null,
      ignoreUpTo: plan.ignoreUpTo,
      lastCompletedCheckpointId: plan.lastCompletedCheckpointId,
    };
  });
}

function vertexOf(vertexId: VertexId, jobGraph: JobGraph): JobVertex {
  const vertex = jobGraph.vertices.find(({ id }) => id === vertexId);
  assert(vertex !== undefined, `the job graph has no vertex ${vertexId}`);
  return vertex;
}

/** Records are routed by key group, and the snapshot may have changed how many there are. */
function targetMaxParallelismOf(
  source: VertexId,
  jobGraph: JobGraph,
): Readonly<Record<number, number>> {
  const outgoing = jobGraph.edges.filter((edge) => edge.source === source);
  return Object.fromEntries(
    outgoing.map(({ index, target }) => [index, vertexOf(target, jobGraph).maxParallelism]),
  );
}

function describeChannel(channel: Channel, { job, slots }: DeploymentPlan): ChannelDescriptor {
  const present = ({ vertexId, subtask }: SubtaskRef): ExecutionRef =>
    job.execution(vertexId, subtask).ref;
  const slot = ({ vertexId, subtask }: SubtaskRef): number => slots.slotOf(vertexId, subtask);
  return {
    channelId: channel.channelId,
    edge: channel.edge,
    producer: present(channel.producer),
    producerSlot: slot(channel.producer),
    consumer: present(channel.consumer),
    consumerSlot: slot(channel.consumer),
  };
}

function append(
  lists: Map<SubtaskKey, ChannelDescriptor[]>,
  key: SubtaskKey,
  descriptor: ChannelDescriptor,
): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [descriptor]);
  else list.push(descriptor);
}
