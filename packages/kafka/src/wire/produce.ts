/** Writing record batches. Acknowledged by all in-sync replicas, or (`acks` 0 or 1) by fewer. */
import type { Api } from './api.ts';

export interface ProduceRequest {
  readonly transactionalId: string | null;
  readonly acks: number;
  readonly timeoutMs: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number; readonly records: Buffer }[];
  }[];
}

export interface ProduceResult {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  readonly baseOffset: number;
  readonly message: string | null;
}

export const PRODUCE: Api<ProduceRequest, readonly ProduceResult[]> = {
  name: 'Produce',
  key: 0,
  minVersion: 9,
  maxVersion: 11,
  write: (writer, { transactionalId, acks, timeoutMs, topics }) => {
    writer.string(transactionalId).int16(acks).int32(timeoutMs);
    writer.array(topics, ({ topic, partitions }) => {
      writer.string(topic).array(partitions, ({ partition, records }) => {
        writer.int32(partition).bytes(records).end();
      });
      writer.end();
    });
    writer.end();
  },
  read: (reader) =>
    reader.perPartition((topic) => {
      const partition = reader.int32();
      const errorCode = reader.int16();
      const baseOffset = reader.int64();
      reader.int64();
      reader.int64();
      const recordErrors = reader.array(() => {
        reader.int32();
        const message = reader.nullableString();
        reader.end();
        return message;
      });
      const message = reader.nullableString() ?? recordErrors[0] ?? null;
      return { topic, partition, errorCode, baseOffset, message };
    }),
};
