/** Parts of produce requests, and what is said when a record does not fit into one. */
import { KafkaError } from '../client/kafka-errors.ts';

/** Groups by topic, in the order of first appearance. */
export function byTopic<Q extends { readonly topic: string }, P>(
  queues: readonly Q[],
  partOf: (queue: Q) => P,
): { readonly topic: string; readonly partitions: P[] }[] {
  const topics = new Map<string, P[]>();
  for (const queue of queues) {
    const partitions = topics.get(queue.topic);
    if (partitions === undefined) topics.set(queue.topic, [partOf(queue)]);
    else partitions.push(partOf(queue));
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}

export function recordTooLarge(what: string, batchBytes: number): KafkaError {
  return new KafkaError(
    `Kafka refuses ${what}: a batch of ${batchBytes} bytes is above the topic's max.message.bytes` +
      '; raise it, or lower batchSizeBytes if no single record is that large',
    { isTransient: false, errorCode: 10 },
  );
}
