/** The subtasks of a job. */
import type { JobGraph } from '../job-graph.ts';
import type { SubtaskRef } from '../messages.ts';

/** All subtasks: vertices in topological order, then by index. */
export function subtasksOf(jobGraph: JobGraph): readonly SubtaskRef[] {
  return jobGraph.vertices.flatMap(({ id, parallelism }) =>
    Array.from({ length: parallelism }, (_, subtask) => ({ vertexId: id, subtask })),
  );
}
