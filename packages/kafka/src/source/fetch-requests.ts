import type { FetchRequest } from '../wire/fetch.ts';
import type { PartitionReader } from './partition-reader.ts';

/** The partitions of a fetch request, grouped by topic. */
export function byTopicId(partitions: readonly PartitionReader[]): FetchRequest['topics'] {
  const topics = new Map<string, PartitionReader[]>();
  for (const partition of partitions) {
    const list = topics.get(partition.topicId);
    if (list === undefined) topics.set(partition.topicId, [partition]);
    else list.push(partition);
  }
  return [...topics].map(([topicId, list]) => ({
    topicId,
    partitions: list.map(({ partition, fetchOffset }) => ({
      partition,
      leaderEpoch: -1,
      offset: fetchOffset,
    })),
  }));
}
