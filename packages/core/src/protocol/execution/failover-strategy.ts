/**
 * Which subtasks restart together with failed ones. All edges are pipelined: what a producer sent
 * is gone once it was consumed, so subtasks connected by channels, in whatever direction, must go
 * back together. Such a set is a region. A job with an exchange between all subtasks is one region;
 * only disjoint pipelines, or subtasks linked by forward edges alone, form several.
 */
import { assert, unreachable } from '../../base/assert.ts';
import { subtaskKey } from '../../base/ids.ts';
import type { SubtaskKey } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import type { Channel } from './channels.ts';
import { subtasksOf } from './subtasks.ts';

export type FailoverStrategyType = 'region' | 'full';

export interface FailoverStrategy {
  /** The failed subtasks and all that must restart with them. */
  tasksToRestart(failed: readonly SubtaskKey[]): ReadonlySet<SubtaskKey>;
}

export function createFailoverStrategy(
  type: FailoverStrategyType,
  jobGraph: JobGraph,
  channels: readonly Channel[],
): FailoverStrategy {
  switch (type) {
    case 'full': {
      const all = new Set(subtasksOf(jobGraph).map((it) => subtaskKey(it.vertexId, it.subtask)));
      return { tasksToRestart: () => all };
    }
    case 'region': {
      const regions = failoverRegionsOf(jobGraph, channels);
      return {
        tasksToRestart: (failed) => {
          const restarting = new Set<SubtaskKey>();
          for (const key of failed) {
            const region = regions.get(key);
            assert(region !== undefined, `the job graph has no subtask ${key}`);
            for (const member of region) restarting.add(member);
          }
          return restarting;
        },
      };
    }
    default:
      return unreachable(type);
  }
}

/** The region of each subtask. */
export function failoverRegionsOf(
  jobGraph: JobGraph,
  channels: readonly Channel[],
): ReadonlyMap<SubtaskKey, ReadonlySet<SubtaskKey>> {
  const regions = new Map<SubtaskKey, Set<SubtaskKey>>();
  for (const { vertexId, subtask } of subtasksOf(jobGraph)) {
    const key = subtaskKey(vertexId, subtask);
    regions.set(key, new Set([key]));
  }
  for (const { producer, consumer } of channels) {
    const a = regions.get(subtaskKey(producer.vertexId, producer.subtask));
    const b = regions.get(subtaskKey(consumer.vertexId, consumer.subtask));
    assert(a !== undefined && b !== undefined, 'a channel ends in no subtask of the job graph');
    if (a === b) continue;
    // The smaller joins the larger: each subtask moves at most log(n) times.
    const [larger, smaller] = a.size >= b.size ? [a, b] : [b, a];
    for (const key of smaller) {
      larger.add(key);
      regions.set(key, larger);
    }
  }
  return regions;
}
