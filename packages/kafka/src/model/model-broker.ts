/**
 * A Kafka broker in memory, for simulations and quick tests: `connect` takes the place of the TCP
 * connections of source and sink, which then run unchanged. Time-outs follow the given clock.
 * Faults are the caller's: `fault` may lose a request or an answer, as a broken connection does.
 */
import type { Clock } from '@weir/core';
import type { BrokerConnection, Connect } from '../client/broker-connection.ts';
import { KafkaError } from '../client/kafka-errors.ts';
import * as head from '../records/record-header.ts';
import type { Api } from '../wire/api.ts';
import * as codes from '../wire/error-codes.ts';
import { FETCH } from '../wire/fetch.ts';
import type { FetchRequest } from '../wire/fetch.ts';
import { CREATE_TOPICS, DESCRIBE_CONFIGS, FIND_COORDINATOR, METADATA } from '../wire/metadata.ts';
import type { NewTopic } from '../wire/metadata.ts';
import { EARLIEST_TIMESTAMP, LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH } from '../wire/offsets.ts';
import { PRODUCE } from '../wire/produce.ts';
import type { ProduceRequest } from '../wire/produce.ts';
import {
  ADD_PARTITIONS_TO_TXN,
  DESCRIBE_TRANSACTIONS,
  END_TXN,
  INIT_PRODUCER_ID,
  LIST_TRANSACTIONS,
} from '../wire/transactions.ts';
import { ModelCoordinator } from './model-coordinator.ts';
import { ModelLog } from './model-log.ts';

/** What happens to one request. */
export type ModelFault = 'none' | 'lose-request' | 'lose-answer';

export interface ModelBrokerOptions {
  readonly clock: Clock;
  /** Default 900 000, as the real one. */
  readonly maxTransactionTimeoutMs?: number;
  readonly fault?: (requestName: string) => ModelFault;
}

interface ModelTopic {
  readonly topicId: string;
  readonly logs: readonly ModelLog[];
}

const ADDRESS = { nodeId: 1, host: 'model', port: 9092 } as const;

type Handler = (request: never) => unknown;

export class ModelBroker {
  readonly coordinator: ModelCoordinator;
  /** Answered requests by name, for tests. */
  readonly counts: Map<string, number> = new Map();
  fault: (requestName: string) => ModelFault;
  isDown = false;
  /** What topics say of how long they keep records; −1: for ever. The model removes none. */
  retentionMs = -1;
  readonly #clock: Clock;
  readonly #maxTimeoutMs: number;
  readonly #topics = new Map<string, ModelTopic>();
  readonly #committed = new Map<string, number>();
  readonly #handlers: ReadonlyMap<number, Handler>;
  #topicCount = 0;

  constructor({ clock, maxTransactionTimeoutMs = 900_000, fault }: ModelBrokerOptions) {
    this.#clock = clock;
    this.#maxTimeoutMs = maxTransactionTimeoutMs;
    this.coordinator = new ModelCoordinator(clock, maxTransactionTimeoutMs);
    this.fault = fault ?? ((): ModelFault => 'none');
    this.#handlers = this.#createHandlers();
  }

  readonly connect: Connect = () => {
    if (this.isDown) return Promise.reject(lostConnection());
    const connection: BrokerConnection = {
      isOpen: true,
      call: (api, request) => this.#call(api, request),
      close: () => Promise.resolve(),
    };
    return Promise.resolve(connection);
  };

  createTopic(name: string, partitions: number): void {
    const topicId = (++this.#topicCount).toString(16).padStart(32, '0');
    this.#topics.set(name, {
      topicId,
      logs: Array.from({ length: partitions }, () => new ModelLog()),
    });
  }

  deleteTopic(name: string): void {
    this.#topics.delete(name);
  }

  addPartition(name: string): void {
    const { topicId, logs } = this.#topic(name);
    this.#topics.set(name, { topicId, logs: [...logs, new ModelLog()] });
  }

  log(topic: string, partition: number): ModelLog {
    const log = this.#topic(topic).logs[partition];
    if (log === undefined) throw new Error(`no partition ${topic}/${partition}`);
    return log;
  }

  committedOffset(groupId: string, topic: string, partition: number): number {
    return this.#committed.get(`${groupId}/${topic}/${partition}`) ?? -1;
  }

  async #call<Request, Response>(api: Api<Request, Response>, request: Request): Promise<Response> {
    const handler = this.#handlers.get(api.key);
    if (handler === undefined) throw new Error(`the model of a broker has no ${api.name}`);
    if (api === (FETCH as unknown)) await this.#wait((request as FetchRequest).maxWaitMs);
    else await this.#wait(0);
    const fault = this.fault(api.name);
    if (this.isDown || fault === 'lose-request') throw lostConnection();
    this.counts.set(api.name, (this.counts.get(api.name) ?? 0) + 1);
    const response = handler(request as never) as Response;
    if (fault === 'lose-answer') throw lostConnection();
    return response;
  }

  #createHandlers(): ReadonlyMap<number, Handler> {
    const handlers = new Map<number, Handler>();
    const on = <Q, A>({ key }: Api<Q, A>, handle: (request: Q) => A): void =>
      void handlers.set(key, handle);
    on(METADATA, ({ topics }) => ({
      brokers: [ADDRESS],
      topics: topics.map((name) => this.#metadataOf(name)),
    }));
    on(FIND_COORDINATOR, () => ({ ...ADDRESS, errorCode: codes.NONE }));
    on(DESCRIBE_CONFIGS, ({ names }) => ({
      errorCode: codes.NONE,
      entries: names.map((name) => ({ name, value: this.#settings(name) })),
    }));
    on(CREATE_TOPICS, (topics) => topics.map((topic) => this.#create(topic)));
    on(INIT_PRODUCER_ID, ({ transactionalId, timeoutMs }) =>
      transactionalId === null
        ? { errorCode: codes.NONE, producerId: this.coordinator.newProducerId(), epoch: 0 }
        : this.coordinator.init(transactionalId, timeoutMs),
    );
    on(ADD_PARTITIONS_TO_TXN, (request) =>
      request.topics.flatMap(({ topic, partitions }) =>
        partitions.map((partition) => {
          const log = this.#topics.get(topic)?.logs[partition];
          const errorCode =
            log === undefined
              ? codes.UNKNOWN_TOPIC_OR_PARTITION
              : this.coordinator.addPartition(request, `${topic}/${partition}`, log);
          return { topic, partition, errorCode };
        }),
      ),
    );
    on(END_TXN, (request) => ({ errorCode: this.coordinator.end(request, request.commit) }));
    on(DESCRIBE_TRANSACTIONS, (ids) => ids.map((id) => this.coordinator.describe(id)));
    on(LIST_TRANSACTIONS, ({ states }) => ({
      errorCode: codes.NONE,
      transactions: this.coordinator.list(states),
    }));
    on(PRODUCE, (request) => this.#produce(request));
    on(FETCH, (request) => this.#fetch(request));
    on(LIST_OFFSETS, ({ topic, partitions, timestamp, readCommitted }) =>
      partitions.map((partition) => {
        const log = this.log(topic, partition);
        const end = readCommitted ? log.lastStableOffset : log.highWatermark;
        const offset = timestamp === EARLIEST_TIMESTAMP ? log.startOffset : end;
        return { topic, partition, errorCode: codes.NONE, offset };
      }),
    );
    on(OFFSET_FETCH, ({ groupId, topic, partitions }) => ({
      errorCode: codes.NONE,
      offsets: partitions.map((partition) => {
        const offset = this.committedOffset(groupId, topic, partition);
        return { topic, partition, errorCode: codes.NONE, offset };
      }),
    }));
    on(OFFSET_COMMIT, ({ groupId, topics }) =>
      topics.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }) => {
          this.#committed.set(`${groupId}/${topic}/${partition}`, offset);
          return { topic, partition, errorCode: codes.NONE };
        }),
      ),
    );
    return handlers;
  }

  #create({ name, partitions }: NewTopic) {
    const exists = this.#topics.has(name);
    if (!exists) this.createTopic(name, partitions);
    return { name, errorCode: exists ? 36 : codes.NONE, message: null };
  }

  /** Of the broker and of all topics alike. */
  #settings(name: string): string | null {
    if (name === 'transaction.max.timeout.ms') return String(this.#maxTimeoutMs);
    if (name === 'retention.ms') return String(this.retentionMs);
    return name === 'cleanup.policy' ? 'delete' : null;
  }

  #metadataOf(name: string) {
    const topic = this.#topics.get(name);
    const errorCode = topic === undefined ? codes.UNKNOWN_TOPIC_OR_PARTITION : codes.NONE;
    const partitions = (topic?.logs ?? []).map((_, partition) => ({
      partition,
      errorCode: codes.NONE,
      leaderId: ADDRESS.nodeId,
      leaderEpoch: 0,
    }));
    return { name, topicId: topic?.topicId ?? '', errorCode, partitions };
  }

  #produce({ transactionalId, topics }: ProduceRequest) {
    return topics.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, records }) => {
        const place = { topic, partition, message: null };
        const log = this.#topics.get(topic)?.logs[partition];
        if (log === undefined)
          return { ...place, errorCode: codes.UNKNOWN_TOPIC_OR_PARTITION, baseOffset: -1 };
        const producerId = records.readBigInt64BE(head.PRODUCER_ID_AT);
        const epoch = records.readInt16BE(head.PRODUCER_EPOCH_AT);
        const errorCode =
          transactionalId === null
            ? codes.NONE
            : this.coordinator.mayWrite(
                transactionalId,
                producerId,
                epoch,
                `${topic}/${partition}`,
              );
        if (errorCode !== codes.NONE) return { ...place, errorCode, baseOffset: -1 };
        return { ...place, ...log.append(records) };
      }),
    );
  }

  #fetch({ topics, readCommitted, partitionMaxBytes }: FetchRequest) {
    const byId = new Map([...this.#topics.values()].map((topic) => [topic.topicId, topic]));
    const partitions = topics.flatMap(({ topicId, partitions: wanted }) =>
      wanted.map(({ partition, offset }) => {
        const log = byId.get(topicId)?.logs[partition];
        const nothing = { aborted: [], records: null };
        const place = { topicId, partition, highWatermark: -1, lastStableOffset: -1 };
        if (log === undefined)
          return { ...place, ...nothing, logStartOffset: -1, errorCode: codes.UNKNOWN_TOPIC_ID };
        const { highWatermark, lastStableOffset, startOffset: logStartOffset } = log;
        const facts = { topicId, partition, highWatermark, lastStableOffset, logStartOffset };
        if (offset < logStartOffset || offset > highWatermark)
          return { ...facts, ...nothing, errorCode: codes.OFFSET_OUT_OF_RANGE };
        const found = log.read(offset, { readCommitted, maxBytes: partitionMaxBytes });
        return { ...facts, ...found, errorCode: codes.NONE };
      }),
    );
    return { errorCode: codes.NONE, partitions };
  }

  #topic(name: string): ModelTopic {
    const topic = this.#topics.get(name);
    if (topic === undefined) throw new Error(`no topic ${name}`);
    return topic;
  }

  /** A request takes a moment, so that others come in between. */
  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (ms > 0) this.#clock.schedule(Math.min(ms, 5), 'model-broker', resolve);
      else this.#clock.defer('model-broker', resolve);
    });
  }
}

function lostConnection(): KafkaError {
  return new KafkaError('the connection broke', { isTransient: true });
}
