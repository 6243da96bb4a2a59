/**
 * `kafkaSource`: the options of a source, their defaults and limits, and the enumerator and readers
 * made of them. Called by users while they build the graph; opens no connection.
 */
import { ConfigurationError } from '@weir/core';
import type { Source, SourceGuaranteeFacts } from '@weir/core';
import {
  checkOptions,
  connectionRules,
  isFunction,
  isListOf,
  isObject,
  isText,
  isWhole,
  oneOf,
  required,
  text,
  whole,
} from './check-options.ts';
import type { OptionRules } from './check-options.ts';
import type { Connect } from './client/broker-connection.ts';
import { clusterFactory } from './connection-options.ts';
import type { KafkaConnectionOptions } from './connection-options.ts';
import type { KafkaDeserializer } from './formats/serde.ts';
import { askAboutRetention } from './outer-facts.ts';
import { KafkaEnumerator } from './source/kafka-enumerator.ts';
import type { KafkaEnumeratorOptions } from './source/kafka-enumerator.ts';
import { KafkaSourceReader } from './source/kafka-source-reader.ts';
import type { KafkaSourceReaderOptions } from './source/kafka-source-reader.ts';
import { describeKafkaSplit, splitId } from './source/kafka-split.ts';
import type { KafkaEnumeratorState, KafkaSplit } from './source/kafka-split.ts';
import type { MalformedRecord } from './source/malformed-record.ts';
import type { StartPosition, StopPosition } from './source/start-offsets.ts';

export interface KafkaSourceOptions<T> extends KafkaConnectionOptions {
  readonly topics: string | readonly string[];
  readonly value: KafkaDeserializer<T>;
  /** Where a first start begins; a restored position always wins. Default `earliest`. */
  readonly start?: StartPosition;
  /**
   * Makes the source end: at what is in the partitions when they are found (for `read_committed`
   * the last stable offset), or at a point in time. An end that was found is restored with the
   * position; a job restored without one gets it then. Default: it does not end.
   */
  readonly bounded?: StopPosition;
  /** Whether records of open and aborted transactions are left out. Default `read_committed`. */
  readonly isolation?: 'read_committed' | 'read_uncommitted';
  /**
   * Group to which the positions of completed checkpoints are written, for monitoring; also the one
   * that `start: { committed }` reads. Default: none.
   */
  readonly groupId?: string;
  /** How often new partitions are looked for. Default 5 min; `null`: never. */
  readonly discoveryIntervalMs?: number | null;
  /**
   * A record that cannot be deserialised: `fail` (default) names it; `skip` counts it in the metric
   * `malformedRecords`; `emit` counts it and emits a `MalformedRecord`, which a `kafkaSink` with a
   * dead-letter topic writes there.
   */
  readonly onMalformed?: 'fail' | 'skip' | 'emit';
  /** The position no longer exists in the broker's log. Default `fail`. */
  readonly onOutOfRange?: 'fail' | 'earliest' | 'latest';
  /** Most bytes of a partition in one fetch. Default 1 MiB. */
  readonly partitionMaxBytes?: number;
  /** Bytes read ahead of one partition. Default 4 MiB. */
  readonly queuedBytesMax?: number;
  /** Longest wait at the broker for new records. Default 500 ms. */
  readonly maxWaitMs?: number;
}

const DISCOVERY_INTERVAL_MS = 300_000;

const RULES: OptionRules<KafkaSourceOptions<never>> = {
  ...connectionRules,
  topics: required({
    allowed: 'at least one name, and none empty',
    takes: (value) => isText(value) || isListOf(value, isText),
  }),
  value: required({
    allowed: 'json(), text(), bytes() or an object with deserialize(record)',
    takes: (value) => isObject(value) && isFunction(value['deserialize']),
  }),
  start: {
    allowed:
      "'earliest', 'latest', { timestamp } in milliseconds, or { committed } with 'earliest', " +
      "'latest' or 'fail'",
    takes: (value) =>
      value === 'earliest' ||
      isStop(value) ||
      (isObject(value) && oneOf('earliest', 'latest', 'fail').takes(value['committed'])),
  },
  bounded: { allowed: "'latest' or { timestamp } in milliseconds", takes: isStop },
  isolation: oneOf('read_committed', 'read_uncommitted'),
  groupId: text,
  discoveryIntervalMs: {
    allowed: 'milliseconds, or null for never',
    takes: (value) => value === null || whole(1).takes(value),
  },
  onMalformed: oneOf('fail', 'skip', 'emit'),
  onOutOfRange: oneOf('fail', 'earliest', 'latest'),
  partitionMaxBytes: whole(1),
  queuedBytesMax: whole(1, Number.MAX_SAFE_INTEGER),
  maxWaitMs: whole(0),
};

function isStop(value: unknown): boolean {
  return value === 'latest' || (isObject(value) && isWhole(value['timestamp'], 0));
}

/**
 * Reads topics of Kafka, exactly once with checkpoints: positions are part of the state. Watermarks
 * and idleness are per partition. Needs brokers of version 3.8 or newer.
 *
 * Fails with `SOURCE_UNAVAILABLE`: for good when a topic is missing or was made anew, a right is
 * missing, credentials are wrong, or the position no longer exists; within the restart strategy
 * when the brokers are away. Fails with `RECORD_MALFORMED` on a record it cannot read.
 * @throws ConfigurationError when an option is not allowed.
 */
export function kafkaSource<T>(
  options: KafkaSourceOptions<T> & { readonly onMalformed: 'emit' },
  connect?: Connect,
): Source<T | MalformedRecord, KafkaSplit, KafkaEnumeratorState>;
export function kafkaSource<T>(
  options: KafkaSourceOptions<T>,
  connect?: Connect,
): Source<T, KafkaSplit, KafkaEnumeratorState>;
export function kafkaSource<T>(
  options: KafkaSourceOptions<T>,
  connect?: Connect,
): Source<T | MalformedRecord, KafkaSplit, KafkaEnumeratorState> & SourceGuaranteeFacts {
  checkOptions<KafkaSourceOptions<T>>('kafkaSource', options, RULES);
  const topics = typeof options.topics === 'string' ? [options.topics] : [...options.topics];
  check(options, topics);
  const cluster = clusterFactory('kafkaSource', options, connect);
  const enumerator = enumeratorOptions(options, topics);
  const reader = readerOptions(options);
  return {
    name: `kafka ${topics.join(', ')}`,
    boundedness: options.bounded === undefined ? 'unbounded' : 'bounded',
    replay: 'offsets',
    ...(options.onMalformed === 'skip' ? { onMalformed: 'skip' } : {}),
    createEnumerator: (context, restored) =>
      new KafkaEnumerator(context, cluster.open(context), enumerator, restored),
    createReader: (context) => new KafkaSourceReader(context, cluster.open(context), reader),
    describeSplit: describeKafkaSplit,
    splitId,
    askOuterSystem: (environment) => askAboutRetention(cluster, environment, topics),
  };
}

function enumeratorOptions<T>(
  options: KafkaSourceOptions<T>,
  topics: readonly string[],
): KafkaEnumeratorOptions {
  const { bounded, discoveryIntervalMs } = options;
  // A bounded source knows all there is when it starts.
  const interval = bounded === undefined ? (discoveryIntervalMs ?? DISCOVERY_INTERVAL_MS) : null;
  return {
    topics,
    start: options.start ?? 'earliest',
    stop: bounded ?? null,
    readCommitted: options.isolation !== 'read_uncommitted',
    groupId: options.groupId ?? null,
    discoveryIntervalMs: discoveryIntervalMs === null ? null : interval,
  };
}

function readerOptions<T>(options: KafkaSourceOptions<T>): KafkaSourceReaderOptions<T> {
  return {
    value: options.value,
    onMalformed: options.onMalformed ?? 'fail',
    onOutOfRange: options.onOutOfRange ?? 'fail',
    groupId: options.groupId ?? null,
    isBounded: options.bounded !== undefined,
    fetch: {
      readCommitted: options.isolation !== 'read_uncommitted',
      partitionMaxBytes: options.partitionMaxBytes ?? 1024 ** 2,
      maxWaitMs: options.maxWaitMs ?? 500,
      queuedBytesMax: options.queuedBytesMax ?? 4 * 1024 ** 2,
      retryForMs: options.retryForMs ?? 60_000,
    },
  };
}

function check<T>(options: KafkaSourceOptions<T>, topics: readonly string[]): void {
  if (new Set(topics).size !== topics.length)
    throw new ConfigurationError(`kafkaSource topics: ${topics.join(', ')} names one twice`);
  const { start, groupId } = options;
  if (typeof start === 'object' && 'committed' in start && groupId === undefined)
    throw new ConfigurationError('kafkaSource start: committed offsets need a groupId');
}
