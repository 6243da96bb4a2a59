/**
 * A sink that commits publishes when a checkpoint completes. With checkpoints off it can still do
 * so at the end of a bounded input; of an input without end nothing would ever be published.
 */
import type { StreamGraph } from '../api/stream-graph.ts';
import { GraphValidationError } from '../base/errors.ts';
import { describeNode } from './operator-facts.ts';

/** @throws GraphValidationError for a sink that could never publish. */
export function checkPublishing(graph: StreamGraph, isCheckpointing: boolean): void {
  if (isCheckpointing) return;
  const endless = downstreamOfEndlessSources(graph);
  for (const node of graph.nodes) {
    if (node.spec.type !== 'sink' || node.spec.sink.createCommitter === undefined) continue;
    if (!endless.has(node.id)) continue;
    throw new GraphValidationError(
      `${describeNode(node)}: this sink publishes on completed checkpoints; checkpointing is ` +
        'off, and the input has no end. Call env.enableCheckpointing("10s") or set ' +
        'execution.checkpointing.interval',
      { details: { operator: node.uid ?? node.name } },
    );
  }
}

function downstreamOfEndlessSources(graph: StreamGraph): ReadonlySet<number> {
  const reached = new Set<number>();
  const queue = graph.nodes
    .filter(({ spec }) => spec.type === 'source' && spec.source.boundedness === 'unbounded')
    .map((node) => node.id);
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (reached.has(id)) continue;
    reached.add(id);
    queue.push(...graph.edges.filter((edge) => edge.source === id).map((edge) => edge.target));
  }
  return reached;
}
