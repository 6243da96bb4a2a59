/**
 * Fills in what the user left open: parallelism, maximum parallelism, slot sharing group, and the
 * partitioner of each edge. Nothing is checked here but that the graph leads forward.
 */
import type { PartitionerSpec, StreamEdge, StreamGraph, StreamNode } from '../api/stream-graph.ts';
import { assert } from '../base/assert.ts';
import { defaultMaxParallelism } from '../base/key-groups.ts';
import type { PartitionerType } from '../protocol/job-graph.ts';
import { DEFAULT_SLOT_SHARING_GROUP } from '../protocol/slots/slot-layout.ts';
import type { CompileOptions } from './compile-job-graph.ts';

export interface ResolvedNode {
  readonly node: StreamNode;
  readonly parallelism: number;
  readonly maxParallelism: number;
  readonly maxParallelismFixed: boolean;
  readonly slotSharingGroup: string;
  readonly inputs: readonly ResolvedEdge[];
  readonly outputs: readonly ResolvedEdge[];
}

export interface ResolvedEdge {
  readonly edge: StreamEdge;
  readonly partitioner: PartitionerType;
}

/** By id, in the order of the user's calls, so that inputs come before what reads them. */
export type ResolvedGraph = ReadonlyMap<number, ResolvedNode>;

export function resolveGraph(graph: StreamGraph, options: CompileOptions): ResolvedGraph {
  const parallelism = new Map(
    graph.nodes.map(({ id, parallelism }) => [id, parallelism ?? options.defaultParallelism]),
  );
  const edges = graph.edges.map((edge): ResolvedEdge => {
    const [source, target] = [parallelism.get(edge.source), parallelism.get(edge.target)];
    assert(source !== undefined && target !== undefined, 'an edge ends in no operator');
    assert(edge.source < edge.target, 'an edge leads back: the graph has a cycle');
    return { edge, partitioner: partitionerType(edge.partitioner, source === target) };
  });
  const resolved = new Map<number, ResolvedNode>();
  for (const given of graph.nodes.toSorted((a, b) => a.id - b.id)) {
    const node: StreamNode = options.chaining === false ? { ...given, chaining: 'never' } : given;
    const inputs = edges.filter(({ edge }) => edge.target === node.id);
    const own = parallelism.get(node.id) ?? options.defaultParallelism;
    const maxParallelism = node.maxParallelism ?? options.defaultMaxParallelism;
    resolved.set(node.id, {
      node,
      parallelism: own,
      maxParallelism: maxParallelism ?? defaultMaxParallelism(own),
      maxParallelismFixed: maxParallelism !== undefined,
      slotSharingGroup: node.slotSharingGroup ?? inheritedGroup(inputs, resolved),
      inputs,
      outputs: edges.filter(({ edge }) => edge.source === node.id),
    });
  }
  return resolved;
}

/** Where the user said nothing, records stay in their subtask if they can. */
function partitionerType(
  partitioner: PartitionerSpec | null,
  isSameParallelism: boolean,
): PartitionerType {
  if (partitioner !== null) return partitioner.type;
  return isSameParallelism ? 'forward' : 'rebalance';
}

/** An operator joins the group of its inputs, if they are in one. */
function inheritedGroup(
  inputs: readonly ResolvedEdge[],
  resolved: ReadonlyMap<number, ResolvedNode>,
): string {
  const groups = new Set(inputs.map(({ edge }) => resolved.get(edge.source)?.slotSharingGroup));
  const [group] = groups;
  return groups.size === 1 && group !== undefined ? group : DEFAULT_SLOT_SHARING_GROUP;
}
