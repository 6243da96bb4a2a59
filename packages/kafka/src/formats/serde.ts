/**
 * Between values of a job and bytes of Kafka. Ready: JSON, text and bytes; for Avro, Protobuf or a
 * schema registry give an object with `serialize` and `deserialize`. Both are synchronous: load
 * schemas before the job starts, or read them into a map when a new id is met and throw till then.
 */
import type { KafkaRecord } from './kafka-record.ts';

export interface KafkaSerializer<T> {
  /** `null` writes a tombstone. The bytes are copied before this returns to the caller. */
  serialize(value: T): Buffer | null;
}

export interface KafkaDeserializer<T> {
  /** May throw: `onMalformed` of the source decides. `record` is valid only during the call. */
  deserialize(record: KafkaRecord): T;
}

export interface KafkaSerde<T> extends KafkaSerializer<T>, KafkaDeserializer<T> {}

/** JSON values. A tombstone reads as `null`, and `null` is written as one. */
export function json<T = unknown>(): KafkaSerde<T> {
  return {
    serialize: (value) => (value === null ? null : Buffer.from(JSON.stringify(value))),
    deserialize: (record) => {
      const text = record.valueText();
      return (text === null ? null : JSON.parse(text)) as T;
    },
  };
}

/** UTF-8 text. A tombstone reads as the empty string. */
export function text(): KafkaSerde<string> {
  return {
    serialize: (value) => Buffer.from(value),
    deserialize: (record) => record.valueText() ?? '',
  };
}

/** The bytes themselves; a copy, which may be kept. */
export function bytes(): KafkaSerde<Buffer | null> {
  return {
    serialize: (value) => value,
    deserialize: (record) => (record.value === null ? null : Buffer.from(record.value)),
  };
}
