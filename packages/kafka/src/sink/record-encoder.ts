/**
 * Turns values into records and finds their partition: by the key's murmur2 hash as Kafka's own
 * clients do, so that writers in other languages agree, or round robin without a key. What cannot
 * be serialised goes to the dead-letter topic, where there is one, in the same transaction.
 */
import { messageOf, SerializationError } from '@weir/core';
import { murmur2 } from '@platformatic/kafka';
import { MalformedRecord } from '../source/malformed-record.ts';
import type { KafkaSerializer } from '../formats/serde.ts';
import type { OutgoingRecord, RecordHeader } from '../records/batch-builder.ts';

export interface EncoderOptions<T> {
  readonly topic: string | ((value: T) => string);
  readonly value: KafkaSerializer<T>;
  readonly key?: (value: T) => string | Buffer | null;
  readonly partition?: (value: T, partitionCount: number, key: Buffer | null) => number;
  readonly headers?: (value: T) => Readonly<Record<string, string | Buffer>>;
  readonly timestamp?: (value: T, timestamp: number) => number;
  readonly deadLetterTopic: string | null;
}

export interface RoutedRecord<T> extends OutgoingRecord {
  readonly topic: string;
  /** For the user's own partitioner; absent for a dead letter. */
  readonly source: { readonly value: T } | null;
}

export class RecordEncoder<T> {
  readonly #options: EncoderOptions<T>;
  readonly #wallTime: () => number;
  #nextPartition = 0;

  constructor(options: EncoderOptions<T>, wallTime: () => number) {
    this.#options = options;
    this.#wallTime = wallTime;
  }

  encode(value: T, timestamp: number): RoutedRecord<T> {
    const { deadLetterTopic } = this.#options;
    if (value instanceof MalformedRecord) return this.#deadLetter(value);
    try {
      return this.#encode(value, timestamp);
    } catch (error) {
      if (deadLetterTopic === null)
        throw new SerializationError(`kafkaSink cannot serialise a record: ${messageOf(error)}`, {
          cause: error,
        });
      return this.#unserialisable(value, messageOf(error));
    }
  }

  /** Called once the number of partitions is known. */
  partitionOf(record: RoutedRecord<T>, partitionCount: number): number {
    const { partition } = this.#options;
    if (partition !== undefined && record.source !== null) {
      const chosen = partition(record.source.value, partitionCount, record.key);
      if (Number.isInteger(chosen) && chosen >= 0 && chosen < partitionCount) return chosen;
      throw new SerializationError(
        `kafkaSink partition: ${chosen} is no partition of ${record.topic}, which has ` +
          `${partitionCount}`,
      );
    }
    if (record.key !== null) return (murmur2(record.key) & 0x7fffffff) % partitionCount;
    this.#nextPartition = (this.#nextPartition + 1) % partitionCount;
    return this.#nextPartition;
  }

  #encode(value: T, timestamp: number): RoutedRecord<T> {
    const { topic, key, headers, timestamp: timestampOf } = this.#options;
    const own = Number.isFinite(timestamp) ? timestamp : this.#wallTime();
    const time = timestampOf === undefined ? own : timestampOf(value, own);
    if (!Number.isFinite(time)) throw new RangeError(`timestamp: ${String(time)} is no time`);
    return {
      topic: typeof topic === 'string' ? topic : topic(value),
      key: toBytes('key', key?.(value) ?? null),
      value: toBytes('value', this.#options.value.serialize(value)),
      headers: headers === undefined ? NO_HEADERS : toHeaders(headers(value)),
      timestamp: Math.floor(time),
      source: { value },
    };
  }

  #deadLetter(record: MalformedRecord): RoutedRecord<T> {
    const { deadLetterTopic } = this.#options;
    if (deadLetterTopic === null)
      throw new SerializationError(
        `kafkaSink got the malformed record ${record.topic}/${record.partition} offset ` +
          `${record.offset} (${record.reason}) and has no deadLetter topic for it`,
        { code: 'RECORD_MALFORMED' },
      );
    return {
      topic: deadLetterTopic,
      key: record.key,
      value: record.value,
      headers: toHeaders({
        'weir.topic': record.topic,
        'weir.partition': String(record.partition),
        'weir.offset': String(record.offset),
        'weir.error': record.reason,
      }),
      timestamp: record.timestamp,
      source: null,
    };
  }

  #unserialisable(value: T, reason: string): RoutedRecord<T> {
    return {
      topic: this.#options.deadLetterTopic ?? '',
      key: null,
      value: Buffer.from(printed(value)),
      headers: toHeaders({ 'weir.error': reason }),
      timestamp: this.#wallTime(),
      source: null,
    };
  }
}

const NO_HEADERS: readonly RecordHeader[] = [];

function toHeaders(headers: Readonly<Record<string, string | Buffer>>): RecordHeader[] {
  return Object.entries(headers).map(([key, value]) => ({
    key,
    value: toBytes(`header ${key}`, value),
  }));
}

/** What is neither text nor bytes would make a batch that nobody can read. */
function toBytes(what: string, value: unknown): Buffer | null {
  if (value === null || Buffer.isBuffer(value)) return value;
  if (typeof value === 'string') return Buffer.from(value);
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`${what}: ${typeof value} is neither text nor bytes`);
}

function printed(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
