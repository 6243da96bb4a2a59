/**
 * Which operators run in one call stack. An edge is chained if its target reads from nowhere else,
 * no record changes its subtask, both ends share slots, and both policies allow it. Several edges
 * of one operator may be chained, so a chain is a tree.
 */
import type { ResolvedEdge, ResolvedGraph, ResolvedNode } from './resolve-graph.ts';

export interface Chain {
  /** Head first, depth first: whatever is read stands before what reads it. */
  readonly operators: readonly ResolvedNode[];
}

/** In topological order of their heads. */
export function chainsOf(resolved: ResolvedGraph): readonly Chain[] {
  return [...resolved.values()]
    .filter((operator) => !operator.inputs.some((edge) => isChained(edge, resolved)))
    .map((head) => ({ operators: withChained(head, resolved) }));
}

export function isChained({ edge, partitioner }: ResolvedEdge, resolved: ResolvedGraph): boolean {
  const source = resolved.get(edge.source);
  const target = resolved.get(edge.target);
  if (source === undefined || target === undefined) return false;
  return (
    target.inputs.length === 1 &&
    partitioner === 'forward' &&
    source.parallelism === target.parallelism &&
    source.slotSharingGroup === target.slotSharingGroup &&
    source.node.chaining !== 'never' &&
    target.node.chaining === 'always' &&
    hasSameMaxParallelism(source, target)
  );
}

/** A vertex has one maximum parallelism, so one set by hand is kept by a chain of its own. */
function hasSameMaxParallelism(source: ResolvedNode, target: ResolvedNode): boolean {
  const wanted = target.node.maxParallelism;
  return wanted === null || wanted === source.node.maxParallelism;
}

function withChained(operator: ResolvedNode, resolved: ResolvedGraph): readonly ResolvedNode[] {
  const next = operator.outputs.filter((edge) => isChained(edge, resolved));
  return [
    operator,
    ...next.flatMap(({ edge }) => {
      const target = resolved.get(edge.target);
      return target === undefined ? [] : withChained(target, resolved);
    }),
  ];
}
