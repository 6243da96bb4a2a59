/**
 * Writes the records of one transaction (or of a writer without transactions) to their partitions:
 * one open batch a partition, at most one batch of a partition on its way, one request a broker and
 * round. A batch that was not acknowledged is sent again byte for byte, so that the broker knows it
 * by its sequence number. A session sends nothing until the one before it is acknowledged: each has
 * its own producer id, so the broker cannot keep the records of two in order. The first failure
 * that cannot be mended ends the session: every later call throws it, and a checkpoint waits for
 * every acknowledgement, so nothing is lost silently.
 */
import type { Clock, Timer } from '@weir/core';
import type { KafkaCluster } from '../client/cluster.ts';
import { KafkaError, refused } from '../client/kafka-errors.ts';
import { sleep } from '../client/sleep.ts';
import { BatchBuilder } from '../records/batch-builder.ts';
import type { OutgoingRecord } from '../records/batch-builder.ts';
import type { Compression } from '../records/compression.ts';
import * as codes from '../wire/error-codes.ts';
import { PRODUCE } from '../wire/produce.ts';
import type { ProduceResult } from '../wire/produce.ts';
import type { BrokerAddress } from '../wire/metadata.ts';
import { ADD_PARTITIONS_TO_TXN } from '../wire/transactions.ts';
import type { ProducerIdentity } from '../wire/transactions.ts';
import { byTopic, recordTooLarge } from './produce-requests.ts';

export interface ProduceSettings {
  readonly acks: -1 | 1;
  readonly compression: Compression;
  readonly lingerMs: number;
  readonly batchSizeBytes: number;
  /** How long one batch is tried before the session fails. */
  readonly deliveryTimeoutMs: number;
  readonly requestTimeoutMs: number;
}

/** Producer id and epoch; the transactional id is null for a writer without transactions. */
export interface SessionIdentity extends ProducerIdentity {
  readonly transactionalId: string | null;
}

interface Sealed {
  readonly records: Buffer;
  readonly count: number;
  /** What it took of the buffer before compression. */
  readonly bufferedBytes: number;
  firstTriedAt: number | null;
}

export interface PartitionQueue {
  readonly topic: string;
  readonly partition: number;
  builder: BatchBuilder | null;
  readonly sealed: Sealed[];
  nextSequence: number;
  isAdded: boolean;
  records: number;
}

const RETRY_DELAY_MS = 50;

export class ProduceSession {
  readonly #cluster: KafkaCluster;
  readonly #clock: Clock;
  readonly #settings: ProduceSettings;
  readonly #identity: SessionIdentity;
  /** Settles when it may send, or need not any more; null from then on. */
  #turn: Promise<void> | null;
  readonly #abandoning = Promise.withResolvers<void>();
  readonly #queues = new Map<string, Map<number, PartitionQueue>>();
  #bufferedBytes = 0;
  #failure: { readonly error: unknown } | null = null;
  #pumping: Promise<void> | null = null;
  #linger: Timer | null = null;
  #onAcknowledged: (() => void)[] = [];
  #isAbandoned = false;

  constructor(options: {
    readonly cluster: KafkaCluster;
    readonly clock: Clock;
    readonly settings: ProduceSettings;
    readonly identity: SessionIdentity;
    /** Resolves when this session may send; its rejection is the failure of this one as well. */
    readonly after?: Promise<void>;
  }) {
    this.#cluster = options.cluster;
    this.#clock = options.clock;
    this.#settings = options.settings;
    this.#identity = options.identity;
    const { after = Promise.resolve() } = options;
    this.#turn = Promise.race([after, this.#abandoning.promise]);
    // Whoever sends awaits it; in a session that never does a rejection must not be unhandled.
    this.#turn.catch(() => undefined);
  }

  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /** Whether the broker knows of the transaction: a partition was added to it. */
  get isBegun(): boolean {
    return this.queues().some((queue) => queue.isAdded);
  }

  queues(): PartitionQueue[] {
    return [...this.#queues.values()].flatMap((partitions) => [...partitions.values()]);
  }

  append(topic: string, partition: number, record: OutgoingRecord): void {
    if (this.#failure !== null) throw this.#failure.error;
    const queue = this.#queueOf(topic, partition);
    queue.builder ??= new BatchBuilder();
    const before = queue.builder.sizeBytes;
    queue.builder.append(record);
    queue.records++;
    this.#bufferedBytes += queue.builder.sizeBytes - before;
    if (queue.builder.sizeBytes >= this.#settings.batchSizeBytes) {
      this.#seal(queue);
      this.#pump();
    } else this.#linger ??= this.#clock.schedule(this.#settings.lingerMs, 'linger', this.#onLinger);
  }

  /** Resolves when everything appended is acknowledged; rejects with what made that impossible. */
  async flush(): Promise<void> {
    this.#sealAll();
    this.#pump();
    while (this.#pumping !== null) await this.#pumping;
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Resolves after the next acknowledgement; rejects when the session has failed. */
  async acknowledged(): Promise<void> {
    if (this.#failure === null && this.#bufferedBytes > 0) {
      this.#sealAll();
      this.#pump();
      await new Promise<void>((resolve) => this.#onAcknowledged.push(resolve));
    }
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Sends nothing more; resolves when nothing is on its way. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    this.#abandoning.resolve();
    this.#linger?.cancel();
    this.#failure ??= { error: new KafkaError('the writer is closed', { isTransient: false }) };
    await this.#pumping;
  }

  readonly #onLinger = (): void => {
    this.#sealAll();
    this.#pump();
  };

  #queueOf(topic: string, partition: number): PartitionQueue {
    let partitions = this.#queues.get(topic);
    if (partitions === undefined) this.#queues.set(topic, (partitions = new Map()));
    let queue = partitions.get(partition);
    if (queue === undefined) {
      queue = {
        topic,
        partition,
        builder: null,
        sealed: [],
        nextSequence: 0,
        isAdded: false,
        records: 0,
      };
      partitions.set(partition, queue);
    }
    return queue;
  }

  #sealAll(): void {
    this.#linger?.cancel();
    this.#linger = null;
    for (const queue of this.queues()) this.#seal(queue);
  }

  #seal(queue: PartitionQueue): void {
    const { builder } = queue;
    if (builder === null) return;
    const { transactionalId, producerId, epoch } = this.#identity;
    const isTransactional = transactionalId !== null;
    const baseSequence = producerId < 0n ? -1 : queue.nextSequence;
    const identity = { producerId, epoch, baseSequence, isTransactional };
    const { count, sizeBytes } = builder;
    const records = builder.finish(identity, this.#settings.compression);
    queue.sealed.push({
      records,
      count,
      bufferedBytes: sizeBytes - EMPTY_BYTES,
      firstTriedAt: null,
    });
    queue.nextSequence = (queue.nextSequence + count) % 0x80000000;
    queue.builder = null;
  }

  #pump(): void {
    if (this.#pumping !== null) return;
    this.#pumping = this.#sendRounds()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#pumping = null;
        this.#wake();
      });
  }

  async #sendRounds(): Promise<void> {
    for (;;) {
      const waiting = this.queues().filter((queue) => queue.sealed.length > 0);
      if (waiting.length === 0 || this.#isAbandoned) return;
      await this.#addPartitions(waiting.filter((queue) => !queue.isAdded));
      if (this.#turn !== null) await this.#turn;
      this.#turn = null;
      if (this.#isAbandoned) return;
      const isRetry = await this.#sendRound(waiting);
      this.#wake();
      if (isRetry) await sleep(this.#clock, RETRY_DELAY_MS);
    }
  }

  /** One batch of each partition; true when some must be sent again. */
  async #sendRound(waiting: readonly PartitionQueue[]): Promise<boolean> {
    const groups = new Map<BrokerAddress, PartitionQueue[]>();
    let isRetry = false;
    for (const queue of waiting) {
      const leader = await this.#cluster.leaderOf(queue.topic, queue.partition);
      if (leader === null) isRetry = true;
      else groups.set(leader, [...(groups.get(leader) ?? []), queue]);
    }
    const rounds = [...groups].map(([leader, queues]) => this.#sendTo(leader, queues));
    for (const needsRetry of await Promise.all(rounds)) isRetry ||= needsRetry;
    return isRetry;
  }

  async #sendTo(leader: BrokerAddress, queues: readonly PartitionQueue[]): Promise<boolean> {
    const { acks, requestTimeoutMs } = this.#settings;
    const now = this.#clock.now();
    for (const queue of queues) {
      const [batch] = queue.sealed;
      if (batch !== undefined) batch.firstTriedAt ??= now;
    }
    try {
      const results = await this.#cluster.call(
        leader,
        PRODUCE,
        {
          transactionalId: this.#identity.transactionalId,
          acks,
          timeoutMs: requestTimeoutMs,
          topics: byTopic(queues, (queue) => ({
            partition: queue.partition,
            records: queue.sealed[0]?.records ?? Buffer.alloc(0),
          })),
        },
        'produce',
      );
      let isRetry = false;
      for (const result of results) isRetry = this.#acknowledge(result) || isRetry;
      return isRetry;
    } catch (error) {
      if (!(error instanceof KafkaError && error.isRetriable)) throw error;
      for (const queue of queues) this.#retryLater(queue, error);
      return true;
    }
  }

  /** Whether the batch must be sent again. */
  #acknowledge({ topic, partition, errorCode, message }: ProduceResult): boolean {
    const queue = this.#queueOf(topic, partition);
    const [batch] = queue.sealed;
    if (batch === undefined) return false;
    // A duplicate is one whose acknowledgement was lost.
    if (errorCode === codes.NONE || errorCode === codes.DUPLICATE_SEQUENCE) {
      queue.sealed.shift();
      this.#bufferedBytes -= batch.bufferedBytes;
      return false;
    }
    const what = `to write to ${topic}/${partition}`;
    if (codes.isRecordTooLarge(errorCode)) throw recordTooLarge(what, batch.records.length);
    const error = WRITER_ENDED.has(errorCode)
      ? writerEnded(what, errorCode)
      : refused(what, errorCode, message);
    if (!error.isRetriable) throw error;
    this.#retryLater(queue, error);
    return true;
  }

  #retryLater(queue: PartitionQueue, error: KafkaError): void {
    const firstTriedAt = queue.sealed[0]?.firstTriedAt ?? this.#clock.now();
    if (this.#clock.now() - firstTriedAt > this.#settings.deliveryTimeoutMs) throw error;
    this.#cluster.forgetTopic(queue.topic);
  }

  async #addPartitions(queues: readonly PartitionQueue[]): Promise<void> {
    const { transactionalId, producerId, epoch } = this.#identity;
    if (transactionalId === null || queues.length === 0) return;
    const place = { type: 'transaction', name: transactionalId } as const;
    const topics = byTopic(queues, (queue) => queue.partition);
    await this.#cluster.retry(async () => {
      const results = await this.#cluster.callCoordinator(place, ADD_PARTITIONS_TO_TXN, {
        transactionalId,
        producerId,
        epoch,
        topics,
      });
      for (const { topic, partition, errorCode } of results) {
        const what = `to add ${topic}/${partition} to a transaction`;
        if (WRITER_ENDED.has(errorCode)) throw writerEnded(what, errorCode);
        if (codes.isCoordinatorMove(errorCode))
          this.#cluster.forgetCoordinator('transaction', transactionalId);
        // 55: another partition of the same request was the reason.
        if (errorCode !== codes.NONE && errorCode !== 55) throw refused(what, errorCode);
      }
    });
    for (const queue of queues) queue.isAdded = true;
  }

  #wake(): void {
    const waiting = this.#onAcknowledged;
    this.#onAcknowledged = [];
    for (const resolve of waiting) resolve();
  }
}

const EMPTY_BYTES = new BatchBuilder().sizeBytes;

/**
 * The transaction is over for its writer: timed out at the broker, or fenced by a newer attempt.
 */
const WRITER_ENDED: ReadonlySet<number> = new Set([
  codes.OUT_OF_ORDER_SEQUENCE,
  codes.INVALID_PRODUCER_EPOCH,
  codes.INVALID_TXN_STATE,
  codes.INVALID_PRODUCER_ID_MAPPING,
  codes.UNKNOWN_PRODUCER_ID,
  codes.PRODUCER_FENCED,
  codes.TRANSACTION_ABORTABLE,
]);

function writerEnded(what: string, code: number): KafkaError {
  return new KafkaError(
    `Kafka refuses ${what}: ${codes.nameOf(code)}; the transaction timed out at the broker or a ` +
      'newer attempt took over, so the job goes back to its last checkpoint',
    { isTransient: true, isRetriable: false, errorCode: code },
  );
}
