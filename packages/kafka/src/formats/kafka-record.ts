/**
 * What a deserializer is given: one record, read from the fetched bytes when it is asked for. The
 * source makes one per partition and moves the cursor below it, so reading costs no objects.
 */
import type { RecordHeader } from '../records/batch-builder.ts';
import type { RecordCursor } from '../records/record-cursor.ts';

/**
 * A record as a deserializer sees it. One object is used for all records of a partition, and `key`,
 * `value` and `headers` are views into the fetched bytes: copy what outlives the call.
 */
export class KafkaRecord {
  readonly topic: string;
  readonly partition: number;
  readonly #cursor: RecordCursor;

  constructor(topic: string, partition: number, cursor: RecordCursor) {
    this.topic = topic;
    this.partition = partition;
    this.#cursor = cursor;
  }

  get offset(): number {
    return this.#cursor.offset;
  }

  /** Milliseconds since the epoch; of the producer or of the broker, as the topic is configured. */
  get timestamp(): number {
    return this.#cursor.timestamp;
  }

  get key(): Buffer | null {
    return this.#cursor.key();
  }

  get value(): Buffer | null {
    return this.#cursor.value();
  }

  get headers(): readonly RecordHeader[] {
    return this.#cursor.headers();
  }

  valueText(): string | null {
    return this.#cursor.valueText();
  }
}
