/**
 * Finds the one operator that a harness drives, in a graph built with the API that jobs use. The
 * graph is built anew for every attempt, as the engine does, so functions are new objects each time
 * and what they keep in variables is gone.
 */
import { GraphValidationError } from '@weir/core';
import { buildStreamGraph } from '@weir/core/internal/api/build-stream-graph';
import type { BuildOptions } from '@weir/core/internal/api/build-stream-graph';
import type { Job } from '@weir/core';
import type { StreamGraph, StreamNode } from '@weir/core/internal/api/stream-graph';
import { compileJobGraph } from '@weir/core/internal/graph/compile-job-graph';
import type { JobOperator, JobVertex } from '@weir/core/internal/protocol/job-graph';

/** How records of an input find their subtask. */
export type Routing =
  | { readonly type: 'key'; readonly keyOf: NonNullable<StreamNode['keySelectors'][number]> }
  | { readonly type: 'all' }
  | { readonly type: 'any' };

export interface OperatorUnderTest {
  readonly node: StreamNode;
  readonly vertex: JobVertex;
  readonly operator: JobOperator;
  /** By input index. */
  readonly routings: readonly Routing[];
}

export interface OperatorSource {
  readonly job: Job;
  readonly options: BuildOptions;
  /** Uid or name; `null`: the only one beside sources and sinks. */
  readonly called: string | null;
  readonly parallelism: number;
  readonly maxParallelism: number;
}

/** @throws GraphValidationError when there is no such operator, or not just one. */
export function findOperator(source: OperatorSource): OperatorUnderTest {
  const { graph } = buildStreamGraph(source.job, source.options);
  const node = nodeOf(graph, source);
  const { jobGraph } = compileJobGraph(graph, {
    defaultParallelism: 1,
    defaultMaxParallelism: source.maxParallelism,
    chaining: false,
  });
  const vertex = jobGraph.vertices.find(({ operators }) => operators[0]?.node === node.id);
  const operator = vertex?.operators[0];
  if (vertex === undefined || operator === undefined)
    throw new GraphValidationError(
      `OperatorHarness: ${node.name} is in no vertex of the job graph`,
    );
  const { parallelism, maxParallelism } = source;
  return {
    node,
    vertex: { ...vertex, parallelism, maxParallelism },
    operator,
    routings: routingsOf(graph, node),
  };
}

function nodeOf(graph: StreamGraph, { called }: OperatorSource): StreamNode {
  const inner = graph.nodes.filter(({ spec }) => spec.type !== 'source' && spec.type !== 'sink');
  const names = inner.map(({ uid, name }) => `"${uid ?? name}"`).join(', ');
  if (called === null) {
    const [only, ...others] = inner;
    if (only !== undefined && others.length === 0) return only;
    throw new GraphValidationError(
      `OperatorHarness: build exactly one operator, not ${inner.length}` +
        (inner.length === 0 ? '' : ` (${names}); of a whole job take one with ofJob`),
    );
  }
  const found = inner.filter(
    ({ uid, name }) => uid === called || (uid === null && name === called),
  );
  if (found[0] !== undefined && found.length === 1) return found[0];
  const count = found.length === 0 ? 'no operator' : `${found.length} operators`;
  throw new GraphValidationError(
    `OperatorHarness: job "${graph.jobName}" has ${count} "${called}" between sources and sinks; ` +
      `it has ${names === '' ? 'none at all' : names}`,
  );
}

function routingsOf(graph: StreamGraph, node: StreamNode): readonly Routing[] {
  return node.keySelectors.map((keyOf, index): Routing => {
    if (keyOf !== null) return { type: 'key', keyOf };
    const edge = graph.edges.find((it) => it.target === node.id && it.inputIndex === index);
    return { type: edge?.partitioner?.type === 'broadcast' ? 'all' : 'any' };
  });
}
