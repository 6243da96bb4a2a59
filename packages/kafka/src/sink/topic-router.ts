/**
 * Holds records until the partitions of their topic are known, then appends them in order. With a
 * fixed topic that is known at open; a topic chosen per record is looked up when first met.
 */
import type { KafkaCluster } from '../client/cluster.ts';
import type { RecordEncoder, RoutedRecord } from './record-encoder.ts';
import type { ProduceSession } from './produce-session.ts';

export class TopicRouter<T> {
  readonly #cluster: KafkaCluster;
  readonly #encoder: RecordEncoder<T>;
  readonly #partitionCounts = new Map<string, number>();
  readonly #loading = new Map<string, Promise<void>>();

  constructor(cluster: KafkaCluster, encoder: RecordEncoder<T>) {
    this.#cluster = cluster;
    this.#encoder = encoder;
  }

  async load(topic: string): Promise<void> {
    const { partitions } = await this.#cluster.refreshTopic(topic);
    this.#partitionCounts.set(topic, partitions.length);
  }

  /** Appends now, or as soon as the topic is known; then the promise tells when. */
  route(session: ProduceSession, record: RoutedRecord<T>): Promise<void> | null {
    const count = this.#partitionCounts.get(record.topic);
    if (count !== undefined && !this.#loading.has(record.topic)) {
      session.append(record.topic, this.#encoder.partitionOf(record, count), record);
      return null;
    }
    const before = this.#loading.get(record.topic) ?? this.load(record.topic);
    const appended = before.then(() => {
      const known = this.#partitionCounts.get(record.topic) ?? 1;
      session.append(record.topic, this.#encoder.partitionOf(record, known), record);
      if (this.#loading.get(record.topic) === appended) this.#loading.delete(record.topic);
    });
    // Whoever flushes awaits it; until then a rejection must not count as unhandled.
    appended.catch(() => undefined);
    this.#loading.set(record.topic, appended);
    return appended;
  }
}
