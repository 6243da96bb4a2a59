/**
 * Writes without transactions. `at-least-once`: an idempotent producer whose every record is
 * acknowledged by all in-sync replicas before the checkpoint counts on it. `none`: acknowledged by
 * the leader alone and not waited for; a failed write still fails the task when it is noticed.
 */
import type { PreparedCommit, SinkWriter, SinkWriterContext } from '@weir/core';
import type { KafkaCluster } from '../client/cluster.ts';
import { asSinkErrors, asWeirError, refused } from '../client/kafka-errors.ts';
import { NONE } from '../wire/error-codes.ts';
import { INIT_PRODUCER_ID } from '../wire/transactions.ts';
import { ProduceSession } from './produce-session.ts';
import type { ProduceSettings } from './produce-session.ts';
import { RecordEncoder } from './record-encoder.ts';
import type { EncoderOptions } from './record-encoder.ts';
import { TopicRouter } from './topic-router.ts';

export interface PlainWriterOptions<T> {
  readonly encoder: EncoderOptions<T>;
  readonly produce: ProduceSettings;
  readonly bufferBytes: number;
  readonly isAcknowledged: boolean;
}

export class PlainKafkaWriter<T> implements SinkWriter<T, never, never> {
  readonly #context: SinkWriterContext;
  readonly #cluster: KafkaCluster;
  readonly #options: PlainWriterOptions<T>;
  readonly #encoder: RecordEncoder<T>;
  readonly #router: TopicRouter<T>;
  #session: ProduceSession | null = null;
  #routing: Promise<void>[] = [];

  constructor(context: SinkWriterContext, cluster: KafkaCluster, options: PlainWriterOptions<T>) {
    this.#context = context;
    this.#cluster = cluster;
    this.#options = options;
    this.#encoder = new RecordEncoder(options.encoder, () => context.clock.wallTime());
    this.#router = new TopicRouter(cluster, this.#encoder);
  }

  async open(): Promise<void> {
    const { encoder, produce, isAcknowledged } = this.#options;
    await asSinkErrors(async () => {
      if (typeof encoder.topic === 'string') await this.#router.load(encoder.topic);
      if (encoder.deadLetterTopic !== null) await this.#router.load(encoder.deadLetterTopic);
      const producer = isAcknowledged ? await this.#producerId() : NO_PRODUCER;
      this.#session = new ProduceSession({
        cluster: this.#cluster,
        clock: this.#context.clock,
        settings: produce,
        identity: { ...producer, transactionalId: null },
      });
    });
  }

  get isWritable(): boolean {
    return this.#opened().bufferedBytes < this.#options.bufferBytes;
  }

  async whenWritable(): Promise<void> {
    await asSinkErrors(async () => {
      while (!this.isWritable) await this.#opened().acknowledged();
    });
  }

  write(value: T, { timestamp }: { readonly timestamp: number }): void {
    try {
      const record = this.#encoder.encode(value, timestamp);
      const later = this.#router.route(this.#opened(), record);
      if (later !== null) this.#routing.push(later);
    } catch (error) {
      throw asWeirError('SINK_UNAVAILABLE', error);
    }
  }

  prepareCommit({ endOfInput }: { readonly endOfInput: boolean }): PreparedCommit<never, never> {
    const routing = this.#routing;
    this.#routing = [];
    const flushed = asSinkErrors(async () => {
      await Promise.all(routing);
      await this.#opened().flush();
    });
    const isWaitedFor = this.#options.isAcknowledged || endOfInput;
    if (!isWaitedFor) flushed.catch(() => undefined);
    const durable = isWaitedFor ? flushed : Promise.resolve();
    return { committables: [], writerStates: [], durable };
  }

  async close(): Promise<void> {
    await this.#session?.abandon();
    await this.#cluster.close();
  }

  async #producerId(): Promise<{ readonly producerId: bigint; readonly epoch: number }> {
    const request = { transactionalId: null, timeoutMs: 0 };
    return this.#cluster.retry(async () => {
      const found = await this.#cluster.callAny(INIT_PRODUCER_ID, request);
      if (found.errorCode === NONE) return found;
      throw refused('a producer id', found.errorCode);
    });
  }

  #opened(): ProduceSession {
    if (this.#session === null) throw new Error('kafkaSink is written to before it is open');
    return this.#session;
  }
}

const NO_PRODUCER = { producerId: -1n, epoch: -1 };
