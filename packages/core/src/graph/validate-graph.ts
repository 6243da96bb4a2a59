/** Refuses graphs that cannot run, and collects what the user should know about those that can. */
import type { StreamGraph, StreamNode } from '../api/stream-graph.ts';
import { GraphValidationError } from '../base/errors.ts';
import { MAX_PARALLELISM_LIMIT } from '../base/key-groups.ts';
import { describeNode, isKeyed, isStateful } from './operator-facts.ts';
import type { ResolvedGraph, ResolvedNode } from './resolve-graph.ts';

/** Throws `GraphValidationError`. */
export function validateGraph(graph: StreamGraph, resolved: ResolvedGraph): void {
  const types = new Set(graph.nodes.map(({ spec }) => spec.type));
  if (!types.has('source'))
    throw new GraphValidationError(
      `job "${graph.jobName}" reads nothing: begin a stream with env.fromSource(…)`,
    );
  if (!types.has('sink'))
    throw new GraphValidationError(
      `job "${graph.jobName}" writes nothing: end a stream with sinkTo(…) or print()`,
    );
  for (const operator of resolved.values()) {
    checkParallelism(operator);
    checkForwardEdges(operator, resolved);
  }
}

/** Sentences for the user, in the order of the operators. */
export function warningsOf(resolved: ResolvedGraph): readonly string[] {
  return [...resolved.values()].flatMap(({ node, outputs }) => {
    const warnings: string[] = [];
    if (node.uid === null && node.uidHash === null && isStateful(node.spec))
      warnings.push(
        `${describeNode(node)} keeps state but has no uid: if the job is changed, its state may ` +
          'not find it again. Give it one: .uid("…")',
      );
    if (outputs.length === 0 && node.spec.type !== 'sink')
      warnings.push(`${describeNode(node)} emits to nobody: no operator reads its results`);
    return warnings;
  });
}

function checkParallelism({ node, parallelism, maxParallelism }: ResolvedNode): void {
  for (const count of [parallelism, maxParallelism])
    if (!Number.isInteger(count) || count < 1 || count > MAX_PARALLELISM_LIMIT)
      throw errorAt(
        node,
        `${describeNode(node)} has the parallelism ${parallelism}, maximum ${maxParallelism}: ` +
          `both must be whole numbers from 1 to ${MAX_PARALLELISM_LIMIT}`,
      );
  if (isKeyed(node.spec) && parallelism > maxParallelism)
    throw errorAt(
      node,
      `${describeNode(node)} has the parallelism ${parallelism}, but its keys are divided into ` +
        `${maxParallelism} key groups (its maximum parallelism), and every subtask needs one. ` +
        `Set its parallelism to ${maxParallelism} or less, or raise setMaxParallelism; since a ` +
        'snapshot keeps its key groups, that means to start with --fresh',
    );
}

function checkForwardEdges({ node, parallelism, inputs }: ResolvedNode, all: ResolvedGraph): void {
  for (const { edge, partitioner } of inputs) {
    const source = all.get(edge.source);
    if (partitioner !== 'forward' || source === undefined || source.parallelism === parallelism)
      continue;
    throw errorAt(
      node,
      `forward() from ${describeNode(source.node)} to ${describeNode(node)} needs equal ` +
        `parallelism, but they have ${source.parallelism} and ${parallelism}: make them equal, ` +
        'or use rescale() or rebalance()',
    );
  }
}

function errorAt({ name, uid, location }: StreamNode, message: string): GraphValidationError {
  return new GraphValidationError(message, { details: { operator: uid ?? name, location } });
}
