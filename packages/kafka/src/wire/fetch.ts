/** Reading record batches, by topic id: a topic that was deleted and made anew is another topic. */
import type { Api } from './api.ts';

export interface FetchPartition {
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly offset: number;
}

export interface FetchRequest {
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly partitionMaxBytes: number;
  readonly readCommitted: boolean;
  readonly topics: readonly {
    readonly topicId: string;
    readonly partitions: readonly FetchPartition[];
  }[];
}

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: number;
}

export interface FetchedPartition {
  readonly topicId: string;
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: number;
  readonly lastStableOffset: number;
  readonly logStartOffset: number;
  readonly aborted: readonly AbortedTransaction[];
  readonly records: Buffer | null;
}

export interface FetchResponse {
  readonly errorCode: number;
  readonly partitions: readonly FetchedPartition[];
}

export const FETCH: Api<FetchRequest, FetchResponse> = {
  name: 'Fetch',
  key: 1,
  minVersion: 13,
  maxVersion: 13,
  write: (writer, request) => {
    writer.int32(-1).int32(request.maxWaitMs).int32(request.minBytes).int32(request.maxBytes);
    // Session −1 with epoch −1: every request is whole, nothing is remembered by the broker.
    writer
      .int8(request.readCommitted ? 1 : 0)
      .int32(0)
      .int32(-1);
    writer.array(request.topics, ({ topicId, partitions }) => {
      writer.uuid(topicId).array(partitions, ({ partition, leaderEpoch, offset }) => {
        writer.int32(partition).int32(leaderEpoch).int64(offset);
        writer.int32(-1).int64(-1).int32(request.partitionMaxBytes).end();
      });
      writer.end();
    });
    writer.array<never>([], () => undefined);
    writer.string('').end();
  },
  read: (reader) => {
    reader.int32();
    const errorCode = reader.int16();
    reader.int32();
    const partitions = reader
      .array(() => {
        const topicId = reader.uuid();
        const found = reader.array(() => {
          const head = {
            topicId,
            partition: reader.int32(),
            errorCode: reader.int16(),
            highWatermark: reader.int64(),
            lastStableOffset: reader.int64(),
            logStartOffset: reader.int64(),
          };
          const aborted = reader.array(() => {
            const entry = { producerId: reader.bigInt64(), firstOffset: reader.int64() };
            reader.end();
            return entry;
          });
          reader.int32();
          const records = reader.bytes();
          reader.end();
          return { ...head, aborted, records };
        });
        reader.end();
        return found;
      })
      .flat();
    return { errorCode, partitions };
  },
};
