/**
 * Reads ahead: one loop fetches for all partitions of a reader, one request a broker at a time,
 * until each partition has enough. A broker that does not answer is tried again for a while; then
 * the failure is what the next `poll` throws.
 */
import type { Clock } from '@weir/core';
import type { KafkaCluster } from '../client/cluster.ts';
import { KafkaError, refused } from '../client/kafka-errors.ts';
import { sleep } from '../client/sleep.ts';
import * as codes from '../wire/error-codes.ts';
import { unpackAhead } from '../records/unpack-ahead.ts';
import { FETCH } from '../wire/fetch.ts';
import type { FetchedPartition } from '../wire/fetch.ts';
import type { BrokerAddress } from '../wire/metadata.ts';
import { byTopicId } from './fetch-requests.ts';
import type { PartitionReader } from './partition-reader.ts';

export interface FetchSettings {
  readonly readCommitted: boolean;
  readonly partitionMaxBytes: number;
  readonly maxWaitMs: number;
  /** Bytes read ahead of one partition. */
  readonly queuedBytesMax: number;
  readonly retryForMs: number;
}

export interface FetcherOptions {
  readonly cluster: KafkaCluster;
  readonly clock: Clock;
  readonly settings: FetchSettings;
  /** Something can be read, or `failure` is set. */
  readonly onProgress: () => void;
  /** Facts of each answered partition, for metrics. */
  readonly onFetched: (partition: PartitionReader, fetched: FetchedPartition) => void;
  /** The wanted offset does not exist: seeks, or throws. */
  readonly onOutOfRange: (partition: PartitionReader) => Promise<void>;
}

const RETRY_DELAY_MS = 100;
/** Wait at the broker while a partition is left out that will want more any moment. */
const SHORT_WAIT_MS = 10;

export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #partitions = new Map<string, PartitionReader>();
  readonly #busy = new Set<number>();
  #failure: { readonly error: unknown } | null = null;
  #troubleSince: number | null = null;
  #isClosed = false;
  #isScheduling = false;
  #isWanted = false;

  constructor(options: FetcherOptions) {
    this.#options = options;
  }

  get failure(): { readonly error: unknown } | null {
    return this.#failure;
  }

  add(partition: PartitionReader): void {
    this.#partitions.set(partition.id, partition);
    this.wake();
  }

  remove(partition: PartitionReader): void {
    this.#partitions.delete(partition.id);
  }

  /** To be called when a partition may want more. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isScheduling || this.#isClosed || this.#failure !== null) return;
    this.#isScheduling = true;
    void this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
  }

  async #schedule(): Promise<void> {
    try {
      while (this.#isWanted && !this.#isClosed) {
        this.#isWanted = false;
        for (const [leader, partitions] of await this.#hungryByLeader())
          if (!this.#busy.has(leader.nodeId)) void this.#fetch(leader, partitions);
      }
    } catch (error) {
      await this.#trouble(error);
      this.#isWanted = true;
    } finally {
      this.#isScheduling = false;
    }
    if (this.#isWanted) this.wake();
  }

  async #hungryByLeader(): Promise<Map<BrokerAddress, PartitionReader[]>> {
    const { cluster, settings } = this.#options;
    const groups = new Map<BrokerAddress, PartitionReader[]>();
    for (const partition of this.#partitions.values()) {
      if (!partition.wantsMore || partition.queuedBytes >= settings.queuedBytesMax) continue;
      const leader = await cluster.leaderOf(partition.topic, partition.partition);
      if (leader === null)
        throw new KafkaError(`${partition.id} has no leader`, { isTransient: true });
      groups.set(leader, [...(groups.get(leader) ?? []), partition]);
    }
    return groups;
  }

  async #fetch(leader: BrokerAddress, partitions: readonly PartitionReader[]): Promise<void> {
    const { cluster, settings, onProgress } = this.#options;
    this.#busy.add(leader.nodeId);
    try {
      const isPartial = [...this.#partitions.values()].some(
        (it) => it.queuedBytes >= settings.queuedBytesMax,
      );
      const offsets = new Map(partitions.map((it) => [it, it.fetchOffset]));
      const answer = await cluster.call(
        leader,
        FETCH,
        {
          maxWaitMs: isPartial ? Math.min(SHORT_WAIT_MS, settings.maxWaitMs) : settings.maxWaitMs,
          minBytes: 1,
          maxBytes: settings.partitionMaxBytes * Math.max(1, partitions.length),
          partitionMaxBytes: settings.partitionMaxBytes,
          readCommitted: settings.readCommitted,
          topics: byTopicId(partitions),
        },
        'fetch',
      );
      if (this.#isClosed) return;
      if (answer.errorCode !== codes.NONE) throw refused('to fetch', answer.errorCode);
      for (const [partition, offset] of offsets) {
        const fetched = answer.partitions.find(
          (it) => it.topicId === partition.topicId && it.partition === partition.partition,
        );
        if (fetched !== undefined) await this.#take(partition, fetched, offset);
      }
      this.#troubleSince = null;
    } catch (error) {
      // Where the broker is gone, another may lead now; it is looked up again.
      for (const { topic } of partitions) cluster.forgetTopic(topic);
      await this.#trouble(error);
    } finally {
      this.#busy.delete(leader.nodeId);
      if (!this.#isClosed) {
        onProgress();
        this.wake();
      }
    }
  }

  async #take(
    partition: PartitionReader,
    fetched: FetchedPartition,
    offset: number,
  ): Promise<void> {
    const { cluster, onFetched, onOutOfRange } = this.#options;
    const { errorCode, records } = fetched;
    const isWanted = (batch: Buffer): boolean => partition.wants(batch, fetched);
    const unpacked = records === null ? undefined : await unpackAhead(records, isWanted);
    // A seek in between makes the answer one of the past.
    if (partition.fetchOffset !== offset || this.#isClosed) return;
    if (errorCode === codes.NONE) {
      partition.offer(fetched, unpacked);
      onFetched(partition, fetched);
      return;
    }
    if (errorCode === codes.OFFSET_OUT_OF_RANGE) return onOutOfRange(partition);
    cluster.forgetTopic(partition.topic);
    if (errorCode === codes.UNKNOWN_TOPIC_ID || errorCode === codes.INCONSISTENT_TOPIC_ID)
      await this.#checkTopicId(partition);
    throw refused(`to read ${partition.id}`, errorCode);
  }

  /** A topic of that name with another id is another topic: its offsets mean something else. */
  async #checkTopicId(partition: PartitionReader): Promise<void> {
    const { topicId } = await this.#options.cluster.refreshTopic(partition.topic);
    if (topicId === partition.topicId) return;
    throw recreatedTopic(partition.topic, partition.topicId, topicId);
  }

  /** Waits, or gives up. */
  async #trouble(error: unknown): Promise<void> {
    const { clock, settings, onProgress } = this.#options;
    if (this.#isClosed) return;
    this.#troubleSince ??= clock.now();
    const isRetriable = error instanceof KafkaError && error.isRetriable;
    if (isRetriable && clock.now() - this.#troubleSince < settings.retryForMs)
      return sleep(clock, RETRY_DELAY_MS);
    this.#failure ??= { error };
    onProgress();
  }
}

export function recreatedTopic(topic: string, known: string, found: string): KafkaError {
  return new KafkaError(
    `topic ${topic} was deleted and made anew (its id was ${known} and is ${found}), so the ` +
      'stored offsets mean other records; start without the old state, or read from another topic',
    { isTransient: false, errorCode: codes.UNKNOWN_TOPIC_ID },
  );
}
