/**
 * The channels of a job: which subtask of an edge's source is connected with which of its target.
 * Numbered by edge, then producer, then consumer, so every thread and every attempt counts alike.
 * Pointwise edges (forward, rescale) connect as in Flink; all others connect all with all.
 */
import { assert } from '../../base/assert.ts';
import type { VertexId } from '../../base/ids.ts';
import { isPointwise } from '../job-graph.ts';
import type { JobEdge, JobGraph, JobVertex } from '../job-graph.ts';
import type { SubtaskRef } from '../messages.ts';

export interface Channel {
  readonly channelId: number;
  /** Index of the edge in the JobGraph. */
  readonly edge: number;
  readonly producer: SubtaskRef;
  readonly consumer: SubtaskRef;
}

export function channelsOf(jobGraph: JobGraph): readonly Channel[] {
  const vertices = new Map(jobGraph.vertices.map((vertex) => [vertex.id, vertex]));
  const channels: Channel[] = [];
  for (const edge of jobGraph.edges) {
    const producers = parallelismOf(vertices, edge.source);
    const consumers = parallelismOf(vertices, edge.target);
    for (let producer = 0; producer < producers; producer++) {
      const [first, end] = consumersOf(edge, producer, { producers, consumers });
      for (let consumer = first; consumer < end; consumer++)
        channels.push({
          channelId: channels.length,
          edge: edge.index,
          producer: { vertexId: edge.source, subtask: producer },
          consumer: { vertexId: edge.target, subtask: consumer },
        });
    }
  }
  return channels;
}

/** First consumer, and the one after the last, of a producing subtask. */
function consumersOf(
  edge: JobEdge,
  producer: number,
  { producers, consumers }: { readonly producers: number; readonly consumers: number },
): readonly [number, number] {
  if (!isPointwise(edge.partitioner)) return [0, consumers];
  if (producers < consumers)
    return [
      Math.ceil((producer * consumers) / producers),
      Math.ceil(((producer + 1) * consumers) / producers),
    ];
  // Consumer j reads the producers [j·n/m, (j+1)·n/m), rounded down; turned round, that is:
  const consumer = Math.floor(((producer + 1) * consumers - 1) / producers);
  return [consumer, consumer + 1];
}

function parallelismOf(vertices: ReadonlyMap<VertexId, JobVertex>, id: VertexId): number {
  const vertex = vertices.get(id);
  assert(vertex !== undefined, `an edge names the vertex ${id}, which the job graph does not have`);
  return vertex.parallelism;
}
