/**
 * Puts a subtask together from its deployment: result partitions, input gate, operator chain with
 * state. The job's functions are built anew here, so that attempts share nothing.
 */
import type { StreamNode } from '../../api/stream-graph.ts';
import type { RuntimeContext } from '../../api/functions.ts';
import { assert, AssertionError } from '../../base/assert.ts';
import { keyGroupRange } from '../../base/key-groups.ts';
import { isWeirError, messageOf, UserFunctionError } from '../../base/errors.ts';
import type { WeirError } from '../../base/errors.ts';
import { InputGate } from '../../network/input-gate.ts';
import { ResultPartition } from '../../network/result-partition.ts';
import type { JobEdge, JobOperator, JobVertex } from '../../protocol/job-graph.ts';
import type { EnumeratorEvent, TaskDeployment } from '../../protocol/messages.ts';
import { HeapKeyedStateBackend } from '../../state/heap/heap-keyed-state-backend.ts';
import { OperatorStateBackend } from '../../state/operator/operator-state-backend.ts';
import { InternalTimers } from '../../state/timers/internal-timers.ts';
import { networkOutput } from '../chain/network-output.ts';
import { OperatorChain } from '../chain/operator-chain.ts';
import type { Output } from '../chain/output.ts';
import { createOperator, isKeyed } from '../operators/create-operator.ts';
import type { OperatorContext } from '../operators/stream-operator.ts';
import { LatencyMarkers } from './latency-markers.ts';
import type { BuiltJob, TaskEnvironment } from './task-environment.ts';
import type { TaskCounters } from './task-metrics.ts';

/** State of one operator of the chain, for snapshots and restore. */
export interface OperatorState {
  readonly keyed: HeapKeyedStateBackend | null;
  readonly timers: InternalTimers | null;
  readonly states: OperatorStateBackend;
}

export interface Subtask {
  readonly vertex: JobVertex;
  readonly partitions: readonly ResultPartition[];
  readonly gate: InputGate | null;
  readonly chain: OperatorChain;
  readonly latency: LatencyMarkers;
  /** To be aborted when the task ends before its time. */
  readonly ending: AbortController;
  /** By index of the operator in the vertex. */
  readonly operatorStates: readonly OperatorState[];
}

/** What the task does for its parts. */
export interface SubtaskOwner {
  canEmit(): boolean;
  wakeUp(): void;
  fail(error: unknown): void;
  sendToEnumerator(operator: number, event: EnumeratorEvent): void;
}

export interface SubtaskOptions {
  readonly environment: TaskEnvironment;
  readonly deployment: TaskDeployment;
  readonly counters: TaskCounters;
  readonly owner: SubtaskOwner;
}

export function buildSubtask(options: SubtaskOptions): Subtask {
  const { environment, deployment } = options;
  const job = environment.buildJob();
  const vertex = job.jobGraph.vertices.find((it) => it.id === deployment.execution.vertexId);
  assert(vertex !== undefined, 'the job graph has no vertex of the deployed id');
  const edges = job.jobGraph.edges.filter((edge) => edge.source === vertex.id);
  const outgoing = edges.map((edge) => buildPartition(edge, vertex, job, options));
  const operatorStates: OperatorState[] = [];
  const { generatesChains } = environment.settings;
  const ending = new AbortController();
  const chain = new OperatorChain({
    vertex,
    ...(generatesChains === undefined ? {} : { isGenerated: generatesChains }),
    edges: outgoing.map(({ edge, output }) => ({ edge, output })),
    make: (index, output, sideOutput) => {
      const node = nodeOf(job, vertex, index);
      const state = buildState(node, options);
      operatorStates[index] = state;
      const place = { index, vertex, node, state, signal: ending.signal };
      return createOperator(node, operatorContext(options, place, { output, sideOutput }));
    },
  });
  const partitions = outgoing.map(({ partition }) => partition);
  return {
    vertex,
    partitions,
    gate: buildGate(job, options),
    chain,
    latency: new LatencyMarkers({
      settings: environment.settings.latency,
      clock: environment.clock,
      random: environment.random,
      subtask: deployment.execution.subtask,
      operators: vertex.operators.map(({ operatorId }) => operatorId),
      isSource: chain.source !== null,
      partitions,
    }),
    ending,
    operatorStates,
  };
}

function nodeOf(job: BuiltJob, vertex: JobVertex, index: number): StreamNode {
  const operator = vertex.operators[index];
  assert(operator !== undefined, 'operator index out of range');
  const node = job.streamGraph.nodes.find((it) => it.id === operator.node);
  assert(node !== undefined, 'an operator of the job graph has no node in the stream graph');
  return node;
}

function buildState(node: StreamNode, { environment, deployment }: SubtaskOptions): OperatorState {
  const { maxParallelism, parallelism, execution } = deployment;
  const { subtask } = execution;
  const freeze = environment.settings.freezeState;
  const operatorName = node.uid ?? node.name;
  const states = new OperatorStateBackend({ operatorName, subtask, parallelism, freeze });
  if (!isKeyed(node)) return { keyed: null, timers: null, states };
  const keyGroups = keyGroupRange(maxParallelism, parallelism, subtask);
  return {
    keyed: new HeapKeyedStateBackend({ maxParallelism, keyGroups, operatorName, freeze }),
    timers: new InternalTimers({ maxParallelism, keyGroups }),
    states,
  };
}

interface OperatorPlace {
  readonly index: number;
  readonly vertex: JobVertex;
  readonly node: StreamNode;
  readonly state: OperatorState;
  readonly signal: AbortSignal;
}

function operatorContext(
  { environment, deployment, counters, owner }: SubtaskOptions,
  { index, vertex, node, state, signal }: OperatorPlace,
  outputs: { readonly output: Output; readonly sideOutput: (tag: string) => Output },
): OperatorContext {
  const operator = vertex.operators[index];
  assert(operator !== undefined, 'operator index out of range');
  const runtime: RuntimeContext = {
    subtask: deployment.execution.subtask,
    parallelism: deployment.parallelism,
    maxParallelism: deployment.maxParallelism,
    attemptNumber: deployment.attemptNumber,
    metrics: counters.user,
  };
  const keyed =
    state.keyed === null || state.timers === null
      ? null
      : {
          backend: state.keyed,
          timers: state.timers,
          keySelectors: node.keySelectors.map((selector) => selector ?? (() => 0)),
        };
  const { settings } = environment;
  return {
    operator,
    jobId: environment.jobId,
    attempt: deployment.execution.attempt,
    ...outputs,
    runtime,
    states: state.states,
    keyed,
    clock: environment.clock,
    random: environment.random,
    fileSystem: environment.fileSystem,
    logger: environment.logger,
    signal,
    active: environment.active,
    checkpointing: settings.checkpointingMode !== null,
    committerRetries: settings.committerRetries,
    autoWatermarkIntervalMs: settings.autoWatermarkIntervalMs,
    canEmit: () => owner.canEmit(),
    wakeUp: () => owner.wakeUp(),
    fail: (error) => owner.fail(error),
    sendToEnumerator: (event) => owner.sendToEnumerator(index, event),
  };
}

interface Outgoing {
  readonly edge: JobEdge;
  readonly partition: ResultPartition;
  readonly output: Output;
}

function buildPartition(
  edge: JobEdge,
  vertex: JobVertex,
  job: BuiltJob,
  { environment, deployment, counters, owner }: SubtaskOptions,
): Outgoing {
  const operator = vertex.operators[edge.sourceOperator];
  const target = job.jobGraph.vertices.find((it) => it.id === edge.target);
  const streamEdge = job.streamGraph.edges.find(
    (it) =>
      it.source === edge.sourceNode &&
      it.target === edge.targetNode &&
      it.inputIndex === edge.inputIndex &&
      it.sideOutput === edge.sideOutput,
  );
  assert(
    operator !== undefined && target !== undefined && streamEdge !== undefined,
    'an edge of the job graph is not in the stream graph',
  );
  const operatorName = operator.uid ?? operator.name;
  const channels = deployment.outputs.filter((channel) => channel.edge === edge.index);
  const partition = new ResultPartition({
    execution: deployment.execution,
    channels,
    operatorName,
    onError: (error: WeirError) => owner.fail(error),
    onAvailable: () => owner.wakeUp(),
  });
  const spec = streamEdge.partitioner;
  const output = networkOutput({
    partition,
    spec: spec ?? (edge.partitioner === 'forward' ? { type: 'forward' } : { type: 'rebalance' }),
    channelCount: channels.length,
    maxParallelism: deployment.targetMaxParallelism[edge.index] ?? target.maxParallelism,
    random: environment.random,
    operatorName,
    counters,
    failure: (error) => routingFailure(error, operator),
  });
  return { edge, partition, output };
}

/** What a key function or partitioner threw, for people who look for it in their code. */
function routingFailure(error: unknown, { uid, name, location }: JobOperator): unknown {
  if (isWeirError(error) || error instanceof AssertionError) return error;
  const operator = uid ?? name;
  const place = location === null ? '' : ` (${location})`;
  return new UserFunctionError(
    `the key function or partitioner behind operator "${operator}"${place} threw: ` +
      messageOf(error),
    { cause: error, details: { operator } },
  );
}

function buildGate(
  job: BuiltJob,
  { deployment, environment, owner }: SubtaskOptions,
): InputGate | null {
  if (deployment.inputs.length === 0) return null;
  return new InputGate({
    execution: deployment.execution,
    inputs: deployment.inputs.map((channel) => ({
      channel,
      inputIndex: job.jobGraph.edges[channel.edge]?.inputIndex ?? 0,
    })),
    onAvailable: () => owner.wakeUp(),
    window: environment.settings.buffersPerChannel,
  });
}
