/** Resolves where to start and where to stop to numbers, one topic at a time. */
import type { KafkaCluster } from '../client/cluster.ts';
import { KafkaError, refused } from '../client/kafka-errors.ts';
import { isCoordinatorMove, NONE } from '../wire/error-codes.ts';
import {
  EARLIEST_TIMESTAMP,
  LATEST_TIMESTAMP,
  LIST_OFFSETS,
  OFFSET_FETCH,
} from '../wire/offsets.ts';

/**
 * Where a first start begins: a position, a point in time (milliseconds since the epoch; the end
 * when no record is that young), or what the consumer group committed, with what to do where it
 * has committed nothing.
 */
export type StartPosition =
  | 'earliest'
  | 'latest'
  | { readonly timestamp: number }
  | { readonly committed: 'earliest' | 'latest' | 'fail' };

/** Where a bounded source ends: what is there when it starts, or a point in time. */
export type StopPosition = 'latest' | { readonly timestamp: number };

export interface OffsetQuery {
  readonly topic: string;
  readonly partitions: readonly number[];
  readonly readCommitted: boolean;
  readonly groupId: string | null;
}

/** Offsets by partition. */
export async function resolveOffsets(
  cluster: KafkaCluster,
  query: OffsetQuery,
  position: StartPosition,
): Promise<ReadonlyMap<number, number>> {
  if (position === 'earliest') return listOffsets(cluster, query, EARLIEST_TIMESTAMP);
  if (position === 'latest') return listOffsets(cluster, query, LATEST_TIMESTAMP);
  if ('timestamp' in position) {
    const found = await listOffsets(cluster, query, position.timestamp);
    const missing = query.partitions.filter((partition) => (found.get(partition) ?? -1) < 0);
    const ends = await resolveMissing(cluster, query, missing, 'latest');
    return new Map([...found, ...ends]);
  }
  const committed = await committedOffsets(cluster, query);
  const missing = query.partitions.filter((partition) => !committed.has(partition));
  if (missing.length > 0 && position.committed === 'fail')
    throw new KafkaError(
      `group ${query.groupId} has committed no offset of ${query.topic} partition ` +
        `${missing.join(', ')}; choose start: { committed: 'earliest' } or 'latest' for such ones`,
      { isTransient: false },
    );
  const fallback = position.committed === 'latest' ? 'latest' : 'earliest';
  const others = await resolveMissing(cluster, query, missing, fallback);
  return new Map([...committed, ...others]);
}

async function resolveMissing(
  cluster: KafkaCluster,
  query: OffsetQuery,
  partitions: readonly number[],
  position: 'earliest' | 'latest',
): Promise<ReadonlyMap<number, number>> {
  if (partitions.length === 0) return new Map();
  return resolveOffsets(cluster, { ...query, partitions }, position);
}

/** −1 where there is no record of that time. */
async function listOffsets(
  cluster: KafkaCluster,
  { topic, partitions, readCommitted }: OffsetQuery,
  timestamp: number,
): Promise<Map<number, number>> {
  const offsets = new Map<number, number>();
  for (const partition of partitions) {
    const [found] = await cluster.retry(async () => {
      const leader = await cluster.leaderOf(topic, partition);
      if (leader === null)
        throw new KafkaError(`${topic}/${partition} has no leader`, { isTransient: true });
      const request = { readCommitted, topic, timestamp, partitions: [partition] };
      const answer = await cluster.call(leader, LIST_OFFSETS, request);
      const code = answer[0]?.errorCode ?? NONE;
      if (code === NONE) return answer;
      cluster.forgetTopic(topic);
      throw refused(`to list offsets of ${topic}/${partition}`, code);
    });
    offsets.set(partition, found?.offset ?? -1);
  }
  return offsets;
}

async function committedOffsets(
  cluster: KafkaCluster,
  { topic, partitions, groupId }: OffsetQuery,
): Promise<Map<number, number>> {
  const name = groupId ?? '';
  const place = { type: 'group', name } as const;
  const { offsets } = await cluster.retry(async () => {
    const request = { groupId: name, topic, partitions };
    const answer = await cluster.callCoordinator(place, OFFSET_FETCH, request);
    if (answer.errorCode === NONE) return answer;
    if (isCoordinatorMove(answer.errorCode)) cluster.forgetCoordinator('group', name);
    throw refused(`the committed offsets of group ${name}`, answer.errorCode);
  });
  const known = offsets.filter((it) => it.errorCode === NONE && it.offset >= 0);
  return new Map(known.map((it) => [it.partition, it.offset]));
}
