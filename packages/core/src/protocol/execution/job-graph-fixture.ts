/** Small job graphs for tests: `jobGraphOf({ source: 2, sum: 3 }, ['source -hash-> sum'])`. */
import { murmur128 } from '../../base/murmur.ts';
import type { OperatorId, VertexId } from '../../base/ids.ts';
import type { JobEdge, JobGraph, JobOperator, JobVertex, PartitionerType } from '../job-graph.ts';

export interface VertexOptions {
  readonly parallelism: number;
  readonly maxParallelism?: number;
  readonly maxParallelismFixed?: boolean;
  readonly slotSharingGroup?: string;
  /** Uids in the chain, head first; the vertex' name when absent. */
  readonly operators?: readonly string[];
  /** Whether the operators have state; true when absent. */
  readonly stateful?: boolean;
}

export function operatorIdOf(uid: string): OperatorId {
  return murmur128(uid) as OperatorId;
}

/** The id of a fixture's vertex, by the uid of its head. */
export function vertexIdOf(uid: string): VertexId {
  return murmur128(uid) as VertexId;
}

/** Vertices by name, in topological order; a number stands for a parallelism. */
export function jobGraphOf(
  vertices: Readonly<Record<string, number | VertexOptions>>,
  edges: readonly string[],
): JobGraph {
  const built = Object.entries(vertices).map(([name, options], index) =>
    vertexOf(name, typeof options === 'number' ? { parallelism: options } : options, index),
  );
  const headOf = new Map(
    Object.keys(vertices).map((name, index) => [name, built[index]?.id ?? vertexIdOf(name)]),
  );
  return {
    jobName: 'fixture',
    vertices: built,
    edges: edges.map((text, index) => edgeOf(text, index, headOf)),
    planHash: murmur128(JSON.stringify([vertices, edges])),
  };
}

function vertexOf(name: string, options: VertexOptions, index: number): JobVertex {
  const uids = options.operators ?? [name];
  const operators = uids.map((uid, place): JobOperator => ({
    operatorId: operatorIdOf(uid),
    node: index * 100 + place,
    type: index === 0 ? 'source' : 'keyedProcess',
    name: uid,
    uid,
    stateful: options.stateful ?? true,
    location: `job.ts:${index + 1}`,
    chainedTo: place + 1 < uids.length ? [{ operator: place + 1, sideOutput: null }] : [],
  }));
  return {
    id: vertexIdOf(uids[0] ?? name),
    name: uids.join(' -> '),
    parallelism: options.parallelism,
    maxParallelism: options.maxParallelism ?? 128,
    maxParallelismFixed: options.maxParallelismFixed ?? false,
    slotSharingGroup: options.slotSharingGroup ?? 'default',
    operators,
  };
}

function edgeOf(text: string, index: number, headOf: ReadonlyMap<string, VertexId>): JobEdge {
  const [, source = '', partitioner, target = ''] = /^(\S+) -(\w+)-> (\S+)$/.exec(text) ?? [];
  return {
    index,
    source: headOf.get(source) ?? vertexIdOf(source),
    sourceOperator: 0,
    sideOutput: null,
    target: headOf.get(target) ?? vertexIdOf(target),
    inputIndex: 0,
    partitioner: partitioner as PartitionerType,
    sourceNode: 0,
    targetNode: 0,
  };
}
