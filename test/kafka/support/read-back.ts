/** Reads results back: counted by requests of our own, told by Kafka's own console consumer. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaCluster } from '../../../packages/kafka/src/client/cluster.ts';
import { byTopicId } from '../../../packages/kafka/src/source/fetch-requests.ts';
import { PartitionReader } from '../../../packages/kafka/src/source/partition-reader.ts';
import { resolveOffsets } from '../../../packages/kafka/src/source/start-offsets.ts';
import { FETCH } from '../../../packages/kafka/src/wire/fetch.ts';
import { LIST_TRANSACTIONS } from '../../../packages/kafka/src/wire/transactions.ts';
import type { Broker } from '../../../tools/kafka/broker.ts';
import { consoleRead } from '../../../tools/kafka/console-consumer.ts';

/** How long a slow machine may take to start a consumer; no test waits for it in vain. */
const PATIENCE_MS = 60_000;

/** Committed records in front of the last stable offsets. */
export async function committedCount(cluster: KafkaCluster, topic: string): Promise<number> {
  return (await readValues(cluster, topic)).length;
}

/** All values as text, partition after partition; also those of open transactions, where asked. */
export async function readValues(
  cluster: KafkaCluster,
  topic: string,
  readCommitted: boolean = true,
): Promise<readonly string[]> {
  const { topicId, partitions } = await cluster.refreshTopic(topic);
  const numbers = partitions.map((it) => it.partition);
  const query = { topic, partitions: numbers, readCommitted, groupId: null };
  const values: string[] = [];
  for (const [partition, stop] of await resolveOffsets(cluster, query, 'latest')) {
    const split = { topic, topicId, partition, next: 0, stop };
    const reader = new PartitionReader(split, readCommitted);
    while (!reader.isFinished) {
      await fetchOnce(cluster, reader, readCommitted);
      for (; reader.advance(); reader.pass()) values.push(reader.record.valueText() ?? '');
    }
  }
  return values;
}

async function fetchOnce(
  cluster: KafkaCluster,
  reader: PartitionReader,
  readCommitted: boolean,
): Promise<void> {
  await cluster.retry(async () => {
    const leader = await cluster.leaderOf(reader.topic, reader.partition);
    if (leader === null) return;
    const answer = await cluster.call(leader, FETCH, {
      maxWaitMs: 100,
      minBytes: 1,
      maxBytes: 1 << 20,
      partitionMaxBytes: 1 << 20,
      readCommitted,
      topics: byTopicId([reader]),
    });
    for (const fetched of answer.partitions) reader.offer(fetched);
  });
}

/** A coordinator that was killed writes the markers of ended transactions when it is back. */
async function markersWritten(cluster: KafkaCluster): Promise<void> {
  const request = { states: ['PrepareCommit', 'PrepareAbort'], idPattern: null };
  for (;;) {
    const waiting = await cluster.retry(async () => {
      const { brokers } = await cluster.metadata([]);
      const answers = await Promise.all(
        brokers.map((broker) => cluster.call(broker, LIST_TRANSACTIONS, request)),
      );
      const isLoading = answers.some((answer) => answer.errorCode !== 0);
      return isLoading || answers.some((answer) => answer.transactions.length > 0);
    });
    if (!waiting) return;
    await sleep(50);
  }
}

/** Every committed record as the console consumer prints it: `key<TAB>value`. */
export async function readCommitted(
  broker: Broker,
  cluster: KafkaCluster,
  topic: string,
): Promise<string[]> {
  await markersWritten(cluster);
  const count = await committedCount(cluster, topic);
  return count === 0 ? [] : consoleRead(broker, { topic, count, idleMs: PATIENCE_MS });
}
