/**
 * A record that the source could not deserialise, as a value in the stream (`onMalformed: 'emit'`):
 * its bytes, where it stood and why. A `kafkaSink` with a dead-letter topic writes it there, within
 * the transaction of the checkpoint, so a replay does not double it.
 */
export class MalformedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly reason: string;

  constructor(record: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
    readonly timestamp: number;
    readonly key: Buffer | null;
    readonly value: Buffer | null;
    readonly reason: string;
  }) {
    this.topic = record.topic;
    this.partition = record.partition;
    this.offset = record.offset;
    this.timestamp = record.timestamp;
    this.key = record.key === null ? null : Buffer.from(record.key);
    this.value = record.value === null ? null : Buffer.from(record.value);
    this.reason = record.reason;
  }
}
