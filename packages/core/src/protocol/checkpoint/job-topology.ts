/**
 * The job graph as the coordinator looks at it: subtasks, the channels between them, and their
 * names in messages. Built once per coordinator; its size is that of the channels.
 */
import { assert } from '../../base/assert.ts';
import { subtaskKey } from '../../base/ids.ts';
import type { SubtaskKey, VertexId } from '../../base/ids.ts';
import { channelsOf } from '../execution/channels.ts';
import type { Channel } from '../execution/channels.ts';
import type { JobGraph, JobVertex } from '../job-graph.ts';
import type { SubtaskRef } from '../messages.ts';

export class JobTopology {
  readonly jobGraph: JobGraph;
  readonly channels: readonly Channel[];
  readonly #vertices: ReadonlyMap<VertexId, JobVertex>;
  readonly #producers: ReadonlyMap<SubtaskKey, readonly SubtaskKey[]>;

  constructor(jobGraph: JobGraph) {
    this.jobGraph = jobGraph;
    this.channels = channelsOf(jobGraph);
    this.#vertices = new Map(jobGraph.vertices.map((vertex) => [vertex.id, vertex]));
    const producers = new Map<SubtaskKey, SubtaskKey[]>();
    for (const { producer, consumer } of this.channels) {
      const key = keyOf(consumer);
      const known = producers.get(key);
      if (known === undefined) producers.set(key, [keyOf(producer)]);
      else known.push(keyOf(producer));
    }
    this.#producers = producers;
  }

  /** The subtasks that feed this one. */
  producersOf(subtask: SubtaskRef): readonly SubtaskKey[] {
    return this.#producers.get(keyOf(subtask)) ?? [];
  }

  /** Such as `"totals" (subtask 1 of 4)`. Subtasks count from 0, as everywhere. */
  nameOf({ vertexId, subtask }: SubtaskRef): string {
    const vertex = this.#vertices.get(vertexId);
    assert(vertex !== undefined, `the job has no vertex ${vertexId}`);
    return `"${vertex.name}" (subtask ${subtask} of ${vertex.parallelism})`;
  }
}

export function keyOf({ vertexId, subtask }: SubtaskRef): SubtaskKey {
  return subtaskKey(vertexId, subtask);
}
