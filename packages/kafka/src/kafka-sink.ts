/**
 * `kafkaSink`: the options of a sink, their defaults and limits, and which writer and committer a
 * delivery guarantee means. Called by users while they build the graph; opens no connection.
 */
import { TwoPhaseCommitSink } from '@weir/core';
import type {
  CommitterContext,
  ConnectorEnvironment,
  Sink,
  SinkOuterFacts,
  SinkWriterContext,
  TransactionalCommitter,
  TransactionalWriter,
} from '@weir/core';
import {
  aFunction,
  checkOptions,
  connectionRules,
  isFunction,
  isObject,
  isText,
  oneOf,
  required,
  text,
  whole,
} from './check-options.ts';
import type { OptionRules } from './check-options.ts';
import type { Connect } from './client/broker-connection.ts';
import { clusterFactory } from './connection-options.ts';
import type { ClusterFactory, KafkaConnectionOptions } from './connection-options.ts';
import type { KafkaSerializer } from './formats/serde.ts';
import { askAboutTransactions } from './outer-facts.ts';
import type { Compression } from './records/compression.ts';
import type { KafkaCommittable } from './sink/committable.ts';
import { PlainKafkaWriter } from './sink/plain-writer.ts';
import type { ProduceSettings } from './sink/produce-session.ts';
import type { EncoderOptions } from './sink/record-encoder.ts';
import { KafkaTransactionCommitter } from './sink/transaction-committer.ts';
import type { SlotReleases, TransactionSettings } from './sink/transaction-committer.ts';
import { KafkaTransactionWriter } from './sink/transaction-writer.ts';
import type { OpenTransaction } from './sink/transaction-writer.ts';

export interface KafkaSinkOptions<T> extends KafkaConnectionOptions {
  /** One topic, or the topic of each record. Topics must exist. */
  readonly topic: string | ((value: T) => string);
  readonly value: KafkaSerializer<T>;
  /** Key of a record; it decides the partition as Kafka's own clients do. Default: no key. */
  readonly key?: (value: T) => string | Buffer | null;
  /** Own choice of the partition. Must depend on its arguments only. */
  readonly partition?: (value: T, partitionCount: number, key: Buffer | null) => number;
  readonly headers?: (value: T) => Readonly<Record<string, string | Buffer>>;
  /** Timestamp of the record; `timestamp` is its event time, or the wall clock without one. */
  readonly timestamp?: (value: T, timestamp: number) => number;
  /**
   * - `exactly-once` (default): transactions that commit with the checkpoint. Readers need
   *   `isolation.level=read_committed`; results appear with the checkpoint after them.
   * - `at-least-once`: acknowledged before the checkpoint counts on it; results appear at once, and
   *   twice after a failure.
   * - `none`: not waited for; results may be missing after a failure.
   */
  readonly delivery?: 'exactly-once' | 'at-least-once' | 'none';
  /**
   * Begin of the transactional ids; job and operator are appended, so sinks never share one. With
   * rights on transactional ids grant Write and Describe on this prefix. Default `weir`.
   */
  readonly transactionalIdPrefix?: string;
  /**
   * After so long the broker aborts a transaction and its results are lost, so it must exceed
   * checkpoint interval + checkpoint time-out + the longest outage. At most the broker's
   * `transaction.max.timeout.ms`. Default 900 000, which is that setting's default.
   */
  readonly transactionTimeoutMs?: number;
  /**
   * A transaction of a completed checkpoint that cannot be committed, or of which nobody can say
   * whether it was: end the job (default), or log an error and go on without its results.
   */
  readonly onUnresolvedCommit?: 'fail' | 'warn';
  /**
   * Checkpoints between that of a transactional id and its next use. Not below the number of
   * retained ones: an older snapshot cannot prove what became of its transactions. Default 16.
   */
  readonly reuseAfterCommits?: number;
  /** Takes records that cannot be serialised, and `MalformedRecord`s of a source. */
  readonly deadLetter?: { readonly topic: string };
  /** Default `none`. */
  readonly compression?: Compression;
  /** Longest wait for more records of a batch. Default 5 ms. */
  readonly lingerMs?: number;
  /** Default 256 KiB; at most the topic's `max.message.bytes`. */
  readonly batchSizeBytes?: number;
  /** Bytes not yet acknowledged at which the sink slows its producers. Default 32 MiB. */
  readonly bufferBytes?: number;
  /** How long one batch is tried before the job is restarted. Default 120 s. */
  readonly deliveryTimeoutMs?: number;
}

/**
 * Writes records to Kafka, by default exactly once. Needs brokers of version 3.8 or newer.
 *
 * Fails for good with `SINK_REFUSED` when the topic is missing, a right is missing, the credentials
 * are wrong, a record is too large, the transaction time-out is above the broker's maximum, or a
 * transaction of a completed checkpoint is lost; within the restart strategy with
 * `SINK_UNAVAILABLE` when the brokers are away.
 * @throws ConfigurationError when an option is not allowed.
 */
export function kafkaSink<T>(
  options: KafkaSinkOptions<T>,
  connect?: Connect,
): Sink<T, never, KafkaCommittable> {
  checkOptions<KafkaSinkOptions<T>>('kafkaSink', options, RULES);
  const { delivery = 'exactly-once' } = options;
  const cluster = clusterFactory('kafkaSink', options, connect);
  return delivery === 'exactly-once'
    ? new ExactlyOnceKafkaSink(options, cluster)
    : plainKafkaSink(options, cluster, delivery);
}

class ExactlyOnceKafkaSink<T> extends TwoPhaseCommitSink<T, OpenTransaction, KafkaCommittable> {
  readonly name: string;
  override readonly readersDuty: string;
  /** For the time budget that is shown before the run. */
  readonly transactionTimeoutMs: number;
  readonly #options: KafkaSinkOptions<T>;
  readonly #cluster: ClusterFactory;
  readonly #transactions: TransactionSettings;
  readonly #releases: SlotReleases = new Set();

  constructor(options: KafkaSinkOptions<T>, cluster: ClusterFactory) {
    super();
    this.name = sinkName(options);
    const topics = typeof options.topic === 'string' ? options.topic : 'its topics';
    this.readersDuty = `readers of ${topics} need isolation.level=read_committed`;
    this.#options = options;
    this.#cluster = cluster;
    this.transactionTimeoutMs = options.transactionTimeoutMs ?? 900_000;
    this.#transactions = {
      prefix: options.transactionalIdPrefix ?? 'weir',
      timeoutMs: this.transactionTimeoutMs,
      reuseAfterCommits: options.reuseAfterCommits ?? 16,
      onUnresolvedCommit: options.onUnresolvedCommit ?? 'fail',
    };
  }

  askOuterSystem(environment: ConnectorEnvironment): Promise<SinkOuterFacts> {
    return askAboutTransactions(this.#cluster, environment, this.transactionTimeoutMs);
  }

  protected override connectWriter(
    context: SinkWriterContext,
  ): TransactionalWriter<T, OpenTransaction, KafkaCommittable> {
    return new KafkaTransactionWriter(context, this.#cluster.open(context), {
      encoder: encoderOptions(this.#options),
      produce: produceSettings(this.#options, -1),
      transactions: this.#transactions,
      bufferBytes: this.#options.bufferBytes ?? BUFFER_BYTES,
      releases: this.#releases,
    });
  }

  protected override connectCommitter(
    context: CommitterContext,
  ): TransactionalCommitter<KafkaCommittable> {
    const cluster = this.#cluster.open(context);
    return new KafkaTransactionCommitter(context, cluster, this.#transactions, this.#releases);
  }
}

function plainKafkaSink<T>(
  options: KafkaSinkOptions<T>,
  cluster: ClusterFactory,
  delivery: 'at-least-once' | 'none',
): Sink<T, never, never> {
  const isAcknowledged = delivery === 'at-least-once';
  return {
    name: sinkName(options),
    write: isAcknowledged ? 'plain' : 'unacknowledged',
    createWriter: (context) =>
      new PlainKafkaWriter(context, cluster.open(context), {
        encoder: encoderOptions(options),
        produce: produceSettings(options, isAcknowledged ? -1 : 1),
        bufferBytes: options.bufferBytes ?? BUFFER_BYTES,
        isAcknowledged,
      }),
  };
}

const BUFFER_BYTES = 32 * 1024 ** 2;

function sinkName<T>({ topic }: KafkaSinkOptions<T>): string {
  return typeof topic === 'string' ? `kafka ${topic}` : 'kafka';
}

function encoderOptions<T>(options: KafkaSinkOptions<T>): EncoderOptions<T> {
  const { topic, value, key, partition, headers, timestamp, deadLetter } = options;
  return {
    topic,
    value,
    deadLetterTopic: deadLetter?.topic ?? null,
    ...(key === undefined ? {} : { key }),
    ...(partition === undefined ? {} : { partition }),
    ...(headers === undefined ? {} : { headers }),
    ...(timestamp === undefined ? {} : { timestamp }),
  };
}

function produceSettings<T>(options: KafkaSinkOptions<T>, acks: -1 | 1): ProduceSettings {
  return {
    acks,
    compression: options.compression ?? 'none',
    lingerMs: options.lingerMs ?? 5,
    batchSizeBytes: options.batchSizeBytes ?? 256 * 1024,
    deliveryTimeoutMs: options.deliveryTimeoutMs ?? 120_000,
    requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
  };
}

const RULES: OptionRules<KafkaSinkOptions<never>> = {
  ...connectionRules,
  topic: required({
    allowed: 'a name, or a function from the value to one',
    takes: (value) => isText(value) || isFunction(value),
  }),
  value: required({
    allowed: 'json(), text(), bytes() or an object with serialize(value)',
    takes: (value) => isObject(value) && isFunction(value['serialize']),
  }),
  key: aFunction,
  partition: aFunction,
  headers: aFunction,
  timestamp: aFunction,
  delivery: oneOf('exactly-once', 'at-least-once', 'none'),
  transactionalIdPrefix: text,
  transactionTimeoutMs: whole(1000),
  onUnresolvedCommit: oneOf('fail', 'warn'),
  reuseAfterCommits: whole(1),
  deadLetter: {
    allowed: '{ topic }',
    takes: (value) => isObject(value) && isText(value['topic']),
  },
  compression: oneOf('none', 'gzip', 'snappy', 'lz4', 'zstd'),
  lingerMs: whole(0),
  batchSizeBytes: whole(1),
  bufferBytes: whole(1, Number.MAX_SAFE_INTEGER),
  deliveryTimeoutMs: whole(1),
};
