/**
 * Which slot runs which subtask. Subtask `i` of every vertex of a slot sharing group runs in the
 * group's slot `i`, so a slot holds one slice of the pipeline; the group `default` comes first, the
 * others follow in order of appearance. Fixed for a job graph: a restart finds the same places.
 */
import { assert } from '../../base/assert.ts';
import type { VertexId } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';

export const DEFAULT_SLOT_SHARING_GROUP = 'default';

export interface SlotLayout {
  readonly slotCount: number;
  slotOf(vertexId: VertexId, subtask: number): number;
}

export function slotLayoutOf(jobGraph: JobGraph): SlotLayout {
  const sizes = new Map<string, number>([[DEFAULT_SLOT_SHARING_GROUP, 0]]);
  for (const { slotSharingGroup, parallelism } of jobGraph.vertices)
    sizes.set(slotSharingGroup, Math.max(sizes.get(slotSharingGroup) ?? 0, parallelism));
  const offsets = new Map<string, number>();
  let slotCount = 0;
  for (const [group, size] of sizes) {
    offsets.set(group, slotCount);
    slotCount += size;
  }
  const offsetOfVertex = new Map(
    jobGraph.vertices.map((vertex) => [vertex.id, offsets.get(vertex.slotSharingGroup) ?? 0]),
  );
  return {
    slotCount,
    slotOf(vertexId, subtask) {
      const offset = offsetOfVertex.get(vertexId);
      assert(offset !== undefined, `no vertex ${vertexId} in the job graph`);
      return offset + subtask;
    },
  };
}
