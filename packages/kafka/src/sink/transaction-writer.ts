/**
 * Writes the transactions of one subtask by the sequences of protocol 1 (docs/adr/0007): one
 * InitProducerId each, partitions added before they are written, all acknowledged at the barrier.
 */
import type { SinkWriterContext, TransactionalWriter } from '@weir/core';
import type { KafkaCluster } from '../client/cluster.ts';
import { asSinkErrors, asWeirError, KafkaError } from '../client/kafka-errors.ts';
import { END_TXN } from '../wire/transactions.ts';
import type { TransactionRef } from '../wire/transactions.ts';
import type { KafkaCommittable } from './committable.ts';
import { ProduceSession } from './produce-session.ts';
import type { ProduceSettings } from './produce-session.ts';
import { RecordEncoder } from './record-encoder.ts';
import type { EncoderOptions } from './record-encoder.ts';
import { TopicRouter } from './topic-router.ts';
import { transactionPrefix } from './transaction-id.ts';
import type { SlotReleases, TransactionSettings } from './transaction-committer.ts';
import { TransactionPool } from './transaction-pool.ts';

export interface OpenTransaction {
  readonly ref: TransactionRef;
  readonly session: ProduceSession;
  readonly routing: Promise<void>[];
  readonly begunAt: number;
  readonly firstWriteTs: number;
}

export interface TransactionWriterOptions<T> {
  readonly encoder: EncoderOptions<T>;
  readonly produce: ProduceSettings;
  readonly transactions: TransactionSettings;
  /** Bytes not yet acknowledged at which the writer takes no more records. */
  readonly bufferBytes: number;
  readonly releases: SlotReleases;
}

export class KafkaTransactionWriter<T> implements TransactionalWriter<
  T,
  OpenTransaction,
  KafkaCommittable
> {
  readonly #context: SinkWriterContext;
  readonly #cluster: KafkaCluster;
  readonly #options: TransactionWriterOptions<T>;
  readonly #encoder: RecordEncoder<T>;
  readonly #router: TopicRouter<T>;
  readonly #pool: TransactionPool;
  readonly #onCommitted: (transactionalId: string) => void;
  /** Pre-committed, and not yet acknowledged in full. */
  readonly #flushing = new Set<ProduceSession>();
  /** Settles when everything before the open transaction is acknowledged. */
  #flushed: Promise<void> = Promise.resolve();
  #current: OpenTransaction | null = null;

  constructor(
    context: SinkWriterContext,
    cluster: KafkaCluster,
    options: TransactionWriterOptions<T>,
  ) {
    this.#context = context;
    this.#cluster = cluster;
    this.#options = options;
    this.#encoder = new RecordEncoder(options.encoder, () => context.clock.wallTime());
    this.#router = new TopicRouter(cluster, this.#encoder);
    const { prefix, timeoutMs, reuseAfterCommits } = options.transactions;
    this.#pool = new TransactionPool({
      cluster,
      prefix: transactionPrefix(prefix, context),
      subtask: context.subtask,
      attempt: context.attempt,
      timeoutMs,
      reuseAfterCommits,
    });
    this.#onCommitted = (id) => this.#pool.committed(id);
    options.releases.add(this.#onCommitted);
  }

  async open(): Promise<void> {
    const { topic, deadLetterTopic } = this.#options.encoder;
    await asSinkErrors(async () => {
      if (typeof topic === 'string') await this.#router.load(topic);
      if (deadLetterTopic !== null) await this.#router.load(deadLetterTopic);
      await this.#pool.whenReady();
    });
  }

  get isWritable(): boolean {
    if (this.#current === null && !this.#pool.isReady) return false;
    let bufferedBytes = this.#current?.session.bufferedBytes ?? 0;
    if (this.#flushing.size > 0)
      for (const session of this.#flushing) bufferedBytes += session.bufferedBytes;
    return bufferedBytes < this.#options.bufferBytes;
  }

  async whenWritable(): Promise<void> {
    await asSinkErrors(async () => {
      while (!this.isWritable) {
        if (this.#current === null && !this.#pool.isReady) await this.#pool.whenReady();
        else await this.#firstBuffering()?.acknowledged();
      }
    });
  }

  begin(): OpenTransaction {
    const ref = this.#pool.take();
    const { clock } = this.#context;
    const session = new ProduceSession({
      cluster: this.#cluster,
      clock,
      settings: this.#options.produce,
      identity: ref,
      after: this.#flushed,
    });
    const begunAt = clock.now();
    this.#current = { ref, session, routing: [], begunAt, firstWriteTs: clock.wallTime() };
    return this.#current;
  }

  write(
    transaction: OpenTransaction,
    value: T,
    { timestamp }: { readonly timestamp: number },
  ): void {
    try {
      const record = this.#encoder.encode(value, timestamp);
      const later = this.#router.route(transaction.session, record);
      if (later !== null) transaction.routing.push(later);
    } catch (error) {
      throw asWeirError('SINK_UNAVAILABLE', error);
    }
  }

  preCommit(
    transaction: OpenTransaction,
    checkpointId: number,
  ): { readonly committable: KafkaCommittable | null; readonly durable: Promise<void> } {
    this.#current = null;
    const { ref, session, firstWriteTs, routing } = transaction;
    this.#pool.preCommitted(ref.transactionalId);
    const contents = session.queues().map(({ topic, partition, records }) => ({
      topic,
      partition,
      records,
    }));
    const committable: KafkaCommittable = {
      ...ref,
      checkpointId,
      protocol: 1,
      firstWriteTs,
      timeoutMs: this.#options.transactions.timeoutMs,
      contents,
    };
    this.#flushing.add(session);
    this.#flushed = Promise.all([this.#flushed, ...routing])
      .then(() => session.flush())
      .finally(() => this.#flushing.delete(session));
    const flushed = this.#flushed;
    const durable = asSinkErrors(async () => {
      await flushed;
      this.#checkAge(transaction);
    });
    return { committable, durable };
  }

  async abort({ ref, session }: OpenTransaction): Promise<void> {
    this.#current = null;
    const wasBegun = session.isBegun;
    await session.abandon();
    if (!wasBegun && !session.isBegun) return;
    const place = { type: 'transaction', name: ref.transactionalId } as const;
    // Recovery aborts it too: nothing depends on this call.
    await this.#cluster
      .callCoordinator(place, END_TXN, { ...ref, commit: false })
      .catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#options.releases.delete(this.#onCommitted);
    await this.#cluster.close();
    await this.#pool.close();
  }

  /** The one that sends. */
  #firstBuffering(): ProduceSession | undefined {
    const flushing = [...this.#flushing].find((session) => session.bufferedBytes > 0);
    return flushing ?? this.#current?.session;
  }

  /** Before the checkpoint counts on it: a transaction that timed out must fail the checkpoint. */
  #checkAge({ begunAt, ref }: OpenTransaction): void {
    const ageMs = this.#context.clock.now() - begunAt;
    const { timeoutMs } = this.#options.transactions;
    if (ageMs >= timeoutMs)
      throw new KafkaError(
        `transaction ${ref.transactionalId} is ${Math.round(ageMs)} ms old at the checkpoint, ` +
          `above transactionTimeoutMs = ${timeoutMs}: the broker has aborted it; checkpoint more ` +
          'often or raise the time-out',
        { isTransient: true, isRetriable: false },
      );
  }
}
