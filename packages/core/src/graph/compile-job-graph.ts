/**
 * StreamGraph → JobGraph: what the user wrote becomes vertices (chains of operators) and the edges
 * between them, as plain data. Deterministic, since every subtask compiles the job anew and proves
 * by the plan hash that it got the same; costs some microseconds an operator.
 */
import { createHash } from 'node:crypto';
import type { StreamGraph, StreamNode } from '../api/stream-graph.ts';
import { assert } from '../base/assert.ts';
import type { OperatorId, VertexId } from '../base/ids.ts';
import type { JobEdge, JobGraph, JobOperator, JobVertex } from '../protocol/job-graph.ts';
import { chainsOf, isChained } from './chaining.ts';
import type { Chain } from './chaining.ts';
import { isStateful, statesOf } from './operator-facts.ts';
import { operatorIdsOf } from './operator-ids.ts';
import { resolveGraph } from './resolve-graph.ts';
import type { ResolvedEdge, ResolvedGraph, ResolvedNode } from './resolve-graph.ts';
import { validateGraph, warningsOf } from './validate-graph.ts';

export interface CompileOptions {
  /** Of operators whose user set none. */
  readonly defaultParallelism: number;
  /** Maximum parallelism set for the whole job; absent: derived from the parallelism. */
  readonly defaultMaxParallelism?: number;
  /** False: every operator is a vertex of its own. */
  readonly chaining?: boolean;
}

export interface CompiledJob {
  readonly jobGraph: JobGraph;
  /** Sentences for the user: stateful operators without a uid, results that nobody reads. */
  readonly warnings: readonly string[];
}

/** Throws `GraphValidationError`, with code UID_DUPLICATE when two operators have the same uid. */
export function compileJobGraph(streamGraph: StreamGraph, options: CompileOptions): CompiledJob {
  const resolved = resolveGraph(streamGraph, options);
  validateGraph(streamGraph, resolved);
  const ids = operatorIdsOf(resolved);
  const chains = chainsOf(resolved);
  const vertices = chains.map((chain) => vertexOf(chain, resolved, ids));
  const edges = edgesOf(chains, resolved, ids);
  const { jobName } = streamGraph;
  const planHash = planHashOf({ jobName, vertices, edges }, streamGraph);
  return { jobGraph: { jobName, vertices, edges, planHash }, warnings: warningsOf(resolved) };
}

function vertexOf(
  { operators }: Chain,
  resolved: ResolvedGraph,
  ids: ReadonlyMap<number, OperatorId>,
): JobVertex {
  const [head] = operators;
  assert(head !== undefined, 'a chain has a head');
  return {
    id: idOf(head, ids) as string as VertexId,
    name: chainName(head, resolved, ({ name }) => name),
    label: chainName(head, resolved, labelOf),
    parallelism: head.parallelism,
    maxParallelism: head.maxParallelism,
    maxParallelismFixed: head.maxParallelismFixed,
    slotSharingGroup: head.slotSharingGroup,
    operators: operators.map((operator) => ({
      ...operatorOf(operator, ids),
      chainedTo: chainedEdges(operator, resolved).map(({ edge }) => ({
        operator: operators.findIndex(({ node }) => node.id === edge.target),
        sideOutput: edge.sideOutput,
      })),
    })),
  };
}

function operatorOf(
  operator: ResolvedNode,
  ids: ReadonlyMap<number, OperatorId>,
): Omit<JobOperator, 'chainedTo'> {
  const { node } = operator;
  return {
    operatorId: idOf(operator, ids),
    node: node.id,
    type: node.spec.type,
    name: node.name,
    uid: node.uid,
    stateful: isStateful(node.spec),
    location: node.location,
  };
}

/** As Flink: `a -> b`, and `a -> (b, c -> d)` where the chain forks. */
function chainName(
  operator: ResolvedNode,
  resolved: ResolvedGraph,
  nameOf: (node: StreamNode) => string,
): string {
  const names = chainedEdges(operator, resolved).flatMap(({ edge }) => {
    const target = resolved.get(edge.target);
    return target === undefined ? [] : [chainName(target, resolved, nameOf)];
  });
  const own = nameOf(operator.node);
  if (names.length === 0) return own;
  return `${own} -> ${names.length === 1 ? names[0] : `(${names.join(', ')})`}`;
}

/** Of ten operators "KeyedProcess" a reader cannot tell which is meant. */
function labelOf({ name, isNamed = false, uid }: StreamNode): string {
  return isNamed ? name : (uid ?? name);
}

function chainedEdges(operator: ResolvedNode, resolved: ResolvedGraph): readonly ResolvedEdge[] {
  return operator.outputs.filter((edge) => isChained(edge, resolved));
}

/** The edges between chains: by target, then in the order of the user's calls. */
function edgesOf(
  chains: readonly Chain[],
  resolved: ResolvedGraph,
  ids: ReadonlyMap<number, OperatorId>,
): readonly JobEdge[] {
  const places = new Map<number, { readonly vertex: VertexId; readonly operator: number }>();
  for (const { operators } of chains) {
    const [head] = operators;
    assert(head !== undefined, 'a chain has a head');
    const vertex = idOf(head, ids) as string as VertexId;
    for (const [operator, { node }] of operators.entries())
      places.set(node.id, { vertex, operator });
  }
  const crossing = [...resolved.values()]
    .flatMap(({ inputs }) => inputs)
    .filter((edge) => !isChained(edge, resolved));
  return crossing.map(({ edge, partitioner }, index) => {
    const source = places.get(edge.source);
    const target = places.get(edge.target);
    assert(source !== undefined && target !== undefined, 'every operator is in a chain');
    assert(target.operator === 0, 'only the head of a chain has inputs from other vertices');
    return {
      index,
      source: source.vertex,
      sourceOperator: source.operator,
      sideOutput: edge.sideOutput,
      target: target.vertex,
      inputIndex: edge.inputIndex,
      partitioner,
      sourceNode: edge.source,
      targetNode: edge.target,
    };
  });
}

/**
 * Everything that must be alike in all threads and processes, states included; locations are not:
 * the same job may be loaded from a bundle here and from its source there.
 */
function planHashOf(
  { jobName, vertices, edges }: Omit<JobGraph, 'planHash'>,
  { nodes }: StreamGraph,
): string {
  const plan = {
    jobName,
    vertices: vertices.map((vertex) => ({
      ...vertex,
      operators: vertex.operators.map((operator) => ({ ...operator, location: null })),
    })),
    edges,
    states: nodes.map(({ spec }) => statesOf(spec)),
  };
  return createHash('sha256').update(JSON.stringify(plan)).digest('hex');
}

function idOf({ node }: ResolvedNode, ids: ReadonlyMap<number, OperatorId>): OperatorId {
  const id = ids.get(node.id);
  assert(id !== undefined, `operator "${node.name}" has no id`);
  return id;
}
