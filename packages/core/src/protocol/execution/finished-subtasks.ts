/**
 * Which subtasks a restore takes for finished, so that they only pass on their end. A subtask whose
 * producer runs again must run too, or it would never take part in the checkpoint that its producer
 * waits for. With barriers that are only counted a snapshot may hold such a pair: the consumer had
 * seen an end that the producer's part of the snapshot does not know.
 */
import { subtaskKey } from '../../base/ids.ts';
import type { SubtaskKey } from '../../base/ids.ts';
import type { JobGraph, JobVertex } from '../job-graph.ts';
import type { SubtaskRef } from '../messages.ts';
import { channelsOf } from './channels.ts';
import type { StoredOperators } from './stored-operators.ts';
import { subtasksOf } from './subtasks.ts';

export function finishedSubtasks(
  jobGraph: JobGraph,
  stored: StoredOperators,
): ReadonlySet<SubtaskKey> {
  const keyOf = ({ vertexId, subtask }: SubtaskRef): SubtaskKey => subtaskKey(vertexId, subtask);
  const vertices = new Map(jobGraph.vertices.map((vertex) => [vertex.id, vertex]));
  const finished = new Set<SubtaskKey>();
  for (const ref of subtasksOf(jobGraph)) {
    const vertex = vertices.get(ref.vertexId);
    if (vertex !== undefined && hadFinished(vertex, ref.subtask, stored)) finished.add(keyOf(ref));
  }
  const channels = channelsOf(jobGraph);
  for (let isStable = false; !isStable;) {
    isStable = true;
    for (const { producer, consumer } of channels)
      if (!finished.has(keyOf(producer)) && finished.delete(keyOf(consumer))) isStable = false;
  }
  return finished;
}

/** At another parallelism only a vertex of which every subtask had finished stays finished. */
function hadFinished(vertex: JobVertex, subtask: number, stored: StoredOperators): boolean {
  return vertex.operators.every(({ operatorId }) => {
    const old = stored.get(operatorId)?.vertex ?? null;
    if (old === null) return false;
    if (old.fullyFinished) return true;
    if (old.parallelism !== vertex.parallelism) return old.subtasks.every((it) => it.finished);
    return old.subtasks.some((it) => it.subtask === subtask && it.finished);
  });
}
