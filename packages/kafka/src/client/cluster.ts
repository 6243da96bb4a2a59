/**
 * A Kafka cluster as source and sink see it: finds leaders and coordinators, keeps one connection a
 * broker and purpose (a fetch that waits for data must not hold up other requests), and retries
 * what may be retried within a time limit, and tells so in the log. Every method throws
 * `KafkaError`; what was retried for long enough is an error of the source or sink.
 */
import { Retries } from '@weir/core';
import type { ConnectorEnvironment } from '@weir/core';
import type { Api } from '../wire/api.ts';
import { isCoordinatorMove, NONE, UNKNOWN_TOPIC_OR_PARTITION } from '../wire/error-codes.ts';
import { FIND_COORDINATOR, METADATA } from '../wire/metadata.ts';
import type {
  BrokerAddress,
  ClusterMetadata,
  CoordinatorType,
  TopicMetadata,
} from '../wire/metadata.ts';
import type { BrokerConnection, Connect } from './broker-connection.ts';
import { asWeirError, KafkaError, noSuchTopic, refused } from './kafka-errors.ts';
import type { Side } from './kafka-errors.ts';

export type Purpose = 'control' | 'fetch' | 'produce';

export interface ClusterOptions {
  readonly bootstrap: readonly { readonly host: string; readonly port: number }[];
  readonly environment: Pick<ConnectorEnvironment, 'clock' | 'logger' | 'signal'>;
  readonly connect: Connect;
  /** Source or sink, for the log: `kafkaSink`. */
  readonly name: string;
  /** Of the failure that is reported. */
  readonly code: Side;
  /** How long one operation is retried before its failure is reported. */
  readonly retryForMs: number;
}

/** A topic made a moment ago may not be known to every broker yet. */
const MISSING_TOPIC_MS = 3000;
const RETRY_DELAY_MAX_MS = 1000;

export class KafkaCluster {
  readonly #options: ClusterOptions;
  readonly #retries: Retries;
  readonly #connections = new Map<string, Promise<BrokerConnection>>();
  readonly #coordinators = new Map<string, BrokerAddress>();
  readonly #topics = new Map<string, TopicMetadata>();
  #brokers: readonly BrokerAddress[] = [];
  /** The broker that answered last: one that is away is not waited for again and again. */
  #answering: { readonly host: string; readonly port: number } | null = null;
  #isClosed = false;

  constructor(options: ClusterOptions) {
    this.#options = options;
    const { environment, name, code, retryForMs } = options;
    const limits = { retryForMs, maxDelayMs: RETRY_DELAY_MAX_MS };
    this.#retries = new Retries(environment, { name, code, ...limits });
    this.#retries.cut.addEventListener('abort', () => void this.close(), { once: true });
  }

  get brokers(): readonly BrokerAddress[] {
    return this.#brokers;
  }

  /**
   * Fresh facts about topics; `topics` empty: about the brokers only. One attempt at each broker.
   */
  async metadata(topics: readonly string[]): Promise<ClusterMetadata> {
    const answer = await this.callAny(METADATA, { topics });
    this.#brokers = answer.brokers;
    for (const topic of answer.topics)
      if (topic.errorCode === NONE) this.#topics.set(topic.name, topic);
      else this.#topics.delete(topic.name);
    return answer;
  }

  /** Partitions of a topic that exists; retried while leaders are being elected. */
  async topic(name: string): Promise<TopicMetadata> {
    return this.#topics.get(name) ?? (await this.refreshTopic(name));
  }

  async refreshTopic(name: string): Promise<TopicMetadata> {
    const { environment, retryForMs } = this.#options;
    const missingMs = Math.min(MISSING_TOPIC_MS, retryForMs / 2);
    let missingSince: number | null = null;
    return this.retry(async () => {
      const { topics } = await this.metadata([name]);
      const found = topics.find((topic) => topic.name === name);
      if (found?.errorCode === NONE) return found;
      const code = found?.errorCode ?? UNKNOWN_TOPIC_OR_PARTITION;
      if (code === UNKNOWN_TOPIC_OR_PARTITION) {
        const now = environment.clock.now();
        missingSince ??= now;
        if (now - missingSince > missingMs) throw noSuchTopic(name);
      }
      throw refused(`topic ${name}`, code);
    });
  }

  forgetTopic(name: string): void {
    this.#topics.delete(name);
  }

  /** The leader of a partition; `null` while there is none. */
  async leaderOf(topic: string, partition: number): Promise<BrokerAddress | null> {
    const { partitions } = await this.topic(topic);
    const leaderId = partitions.find((it) => it.partition === partition)?.leaderId;
    const leader = this.#brokers.find((broker) => broker.nodeId === leaderId);
    if (leader === undefined) this.forgetTopic(topic);
    return leader ?? null;
  }

  async call<Request, Response>(
    broker: BrokerAddress,
    api: Api<Request, Response>,
    request: Request,
    purpose: Purpose = 'control',
  ): Promise<Response> {
    const connection = await this.#connection(broker.host, broker.port, purpose);
    return connection.call(api, request);
  }

  /** At the first broker that answers. */
  async callAny<Request, Response>(
    api: Api<Request, Response>,
    request: Request,
  ): Promise<Response> {
    let failure: unknown = null;
    const first = this.#answering === null ? [] : [this.#answering];
    for (const { host, port } of [...first, ...this.#options.bootstrap, ...this.#brokers]) {
      try {
        const connection = await this.#connection(host, port, 'control');
        const answer = await connection.call(api, request);
        this.#answering = { host, port };
        return answer;
      } catch (error) {
        this.#answering = null;
        failure ??= error;
        if (!(error instanceof KafkaError && error.isRetriable)) throw error;
      }
    }
    throw failure;
  }

  /** Asks the coordinator of a group or transaction; looks it up (again) where it moved. */
  async callCoordinator<Request, Response>(
    { type, name }: { readonly type: CoordinatorType; readonly name: string },
    api: Api<Request, Response>,
    request: Request,
  ): Promise<Response> {
    const key = `${type}/${name}`;
    const broker = this.#coordinators.get(key) ?? (await this.#findCoordinator(type, name));
    this.#coordinators.set(key, broker);
    try {
      return await this.call(broker, api, request);
    } catch (error) {
      this.#coordinators.delete(key);
      throw error;
    }
  }

  /** To be called when an answer says that the coordinator is another one. */
  forgetCoordinator(type: CoordinatorType, name: string): void {
    this.#coordinators.delete(`${type}/${name}`);
  }

  /** Repeats while it fails with an error that may pass and time is left. */
  retry<R>(run: () => Promise<R>): Promise<R> {
    return this.#retries.run(async () => {
      try {
        return await run();
      } catch (error) {
        const isRetriable = error instanceof KafkaError && error.isRetriable;
        throw isRetriable ? asWeirError(this.#options.code, error) : error;
      }
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#retries.close();
    const connections = [...this.#connections.values()];
    this.#connections.clear();
    for (const connection of connections)
      await connection.then((open) => open.close()).catch(() => undefined);
  }

  async #findCoordinator(type: CoordinatorType, name: string): Promise<BrokerAddress> {
    const found = await this.callAny(FIND_COORDINATOR, { type, name });
    if (found.errorCode === NONE) return found;
    throw refused(`the ${type} coordinator of ${name}`, found.errorCode);
  }

  async #connection(host: string, port: number, purpose: Purpose): Promise<BrokerConnection> {
    if (this.#isClosed) throw new KafkaError('the client is closed', { isTransient: false });
    const key = `${host}:${port}/${purpose}`;
    const existing = this.#connections.get(key);
    if (existing !== undefined) {
      const open = await existing.catch(() => null);
      if (open?.isOpen === true) return open;
      if (this.#connections.get(key) === existing) this.#connections.delete(key);
      // One that logs in anew, as brokers ask after a while, is replaced rather than waited for.
      void open?.close().catch(() => undefined);
      return this.#connection(host, port, purpose);
    }
    const connecting = this.#options.connect(host, port);
    this.#connections.set(key, connecting);
    try {
      return await connecting;
    } catch (error) {
      if (this.#connections.get(key) === connecting) this.#connections.delete(key);
      throw error;
    }
  }
}

/** Throws where the code is an error; a moved coordinator is forgotten first. */
export function checkCoordinatorAnswer(
  cluster: KafkaCluster,
  coordinator: { readonly type: CoordinatorType; readonly name: string },
  code: number,
  what: string,
): void {
  if (code === NONE) return;
  if (isCoordinatorMove(code)) cluster.forgetCoordinator(coordinator.type, coordinator.name);
  throw refused(what, code);
}
