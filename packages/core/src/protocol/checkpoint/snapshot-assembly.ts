/**
 * Makes the metadata of a checkpoint out of its acknowledgements. Vertices that had wholly finished
 * become a mark without state; a subtask that had finished beside running ones becomes an entry
 * without state, so that it is restored as finished.
 */
import { assert } from '../../base/assert.ts';
import type { JobId } from '../../base/ids.ts';
import type { JobVertex } from '../job-graph.ts';
import type { SnapshotMetadata, SubtaskSnapshot, VertexSnapshot } from '../snapshot.ts';
import type { JobTopology } from './job-topology.ts';
import type { PendingCheckpoint } from './pending-checkpoint.ts';

export function assembleMetadata(
  pending: PendingCheckpoint,
  jobId: JobId,
  topology: JobTopology,
): SnapshotMetadata {
  const { jobName, codeHash } = topology.jobGraph;
  return {
    formatVersion: 1,
    kind: pending.kind,
    jobId,
    jobName,
    ...(codeHash === undefined ? {} : { codeHash }),
    checkpointId: pending.checkpointId,
    triggeredAt: pending.timestamp,
    vertices: assembleVertices(pending, topology),
    coordinators: pending.coordinators,
  };
}

/**
 * Names an operator with union list state of which some subtasks have finished and some have not,
 * or `null`. What the finished ones held is gone from the union, so no snapshot can be right.
 */
export function findPartlyFinishedUnion(
  pending: PendingCheckpoint,
  topology: JobTopology,
): string | null {
  for (const vertex of assembleVertices(pending, topology)) {
    const finishedCount = vertex.subtasks.filter((subtask) => subtask.finished).length;
    if (finishedCount === 0 || finishedCount === vertex.subtasks.length) continue;
    for (const subtask of vertex.subtasks)
      for (const operator of subtask.operators)
        if (operator.operatorStates.some((state) => state.mode === 'union'))
          return (
            `"${operator.name}" has union list state, and of its ${vertex.parallelism} subtasks ` +
            `only ${finishedCount} have finished`
          );
  }
  return null;
}

export function sizeOf(pending: PendingCheckpoint): number {
  let sizeBytes = 0;
  for (const { snapshot } of pending.acknowledgements.values()) sizeBytes += snapshot.sizeBytes;
  return sizeBytes;
}

function assembleVertices(pending: PendingCheckpoint, topology: JobTopology): VertexSnapshot[] {
  const subtasks = new Map<string, SubtaskSnapshot[]>();
  for (const vertex of topology.jobGraph.vertices) subtasks.set(vertex.id, []);
  for (const { snapshot } of pending.acknowledgements.values())
    subtasks.get(snapshot.vertexId)?.push(snapshot);
  for (const { vertexId, subtask, attempt } of pending.plan.finishedTasks)
    subtasks.get(vertexId)?.push({
      vertexId,
      subtask,
      attempt,
      data: null,
      operators: [],
      inputs: [],
      outputs: [],
      finished: true,
      sizeBytes: 0,
    });
  return topology.jobGraph.vertices.map((vertex) =>
    assembleVertex(
      vertex,
      subtasks.get(vertex.id) ?? [],
      pending.plan.fullyFinishedVertices.has(vertex.id),
    ),
  );
}

function assembleVertex(
  vertex: JobVertex,
  subtasks: readonly SubtaskSnapshot[],
  fullyFinished: boolean,
): VertexSnapshot {
  assert(
    subtasks.length === vertex.parallelism,
    `"${vertex.name}" has ${vertex.parallelism} subtasks, the checkpoint ${subtasks.length}`,
  );
  return {
    vertexId: vertex.id,
    name: vertex.name,
    parallelism: vertex.parallelism,
    maxParallelism: vertex.maxParallelism,
    operatorIds: vertex.operators.map((operator) => operator.operatorId),
    fullyFinished,
    subtasks: fullyFinished ? [] : subtasks.toSorted((a, b) => a.subtask - b.subtask),
  };
}
