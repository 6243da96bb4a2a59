/** Offsets by time, and those a consumer group has committed. */
import type { Api } from './api.ts';

export const EARLIEST_TIMESTAMP = -2;
export const LATEST_TIMESTAMP = -1;

export interface PartitionOffset {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  /** −1: there is none. */
  readonly offset: number;
}

/** `timestamp`: milliseconds, or one of the constants. */
export const LIST_OFFSETS: Api<
  {
    readonly readCommitted: boolean;
    readonly topic: string;
    readonly timestamp: number;
    readonly partitions: readonly number[];
  },
  readonly PartitionOffset[]
> = {
  name: 'ListOffsets',
  key: 2,
  minVersion: 6,
  maxVersion: 8,
  write: (writer, { readCommitted, topic, timestamp, partitions }) => {
    writer.int32(-1).int8(readCommitted ? 1 : 0);
    writer.array([topic], (name) => {
      writer.string(name).array(partitions, (partition) => {
        writer.int32(partition).int32(-1).int64(timestamp).end();
      });
      writer.end();
    });
    writer.end();
  },
  read: (reader) => {
    reader.int32();
    return reader.perPartition((topic) => {
      const partition = reader.int32();
      const errorCode = reader.int16();
      reader.int64();
      const offset = reader.int64();
      reader.int32();
      return { topic, partition, errorCode, offset };
    });
  },
};

export const OFFSET_FETCH: Api<
  { readonly groupId: string; readonly topic: string; readonly partitions: readonly number[] },
  { readonly errorCode: number; readonly offsets: readonly PartitionOffset[] }
> = {
  name: 'OffsetFetch',
  key: 9,
  minVersion: 8,
  maxVersion: 8,
  write: (writer, { groupId, topic, partitions }) => {
    writer.array([groupId], (group) => {
      writer.string(group).array([topic], (name) => {
        writer.string(name).array(partitions, (partition) => writer.int32(partition));
        writer.end();
      });
      writer.end();
    });
    writer.boolean(true).end();
  },
  read: (reader) => {
    reader.int32();
    const groups = reader.array(() => {
      reader.string();
      const offsets = reader.perPartition((topic) => {
        const partition = reader.int32();
        const offset = reader.int64();
        reader.int32();
        reader.nullableString();
        const errorCode = reader.int16();
        return { topic, partition, offset, errorCode };
      });
      const errorCode = reader.int16();
      reader.end();
      return { errorCode, offsets };
    });
    return groups[0] ?? { errorCode: 0, offsets: [] };
  },
};

export const OFFSET_COMMIT: Api<
  {
    readonly groupId: string;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly offset: number }[];
    }[];
  },
  readonly { readonly topic: string; readonly partition: number; readonly errorCode: number }[]
> = {
  name: 'OffsetCommit',
  key: 8,
  minVersion: 8,
  maxVersion: 8,
  write: (writer, { groupId, topics }) => {
    writer.string(groupId).int32(-1).string('').string(null);
    writer.array(topics, ({ topic, partitions }) => {
      writer.string(topic).array(partitions, ({ partition, offset }) => {
        writer.int32(partition).int64(offset).int32(-1).string(null).end();
      });
      writer.end();
    });
    writer.end();
  },
  read: (reader) => {
    reader.int32();
    return reader.perPartition((topic) => ({
      topic,
      partition: reader.int32(),
      errorCode: reader.int16(),
    }));
  },
};
