/**
 * Brokers, topics and their leaders; coordinators of groups and transactions; supported versions.
 */
import type { Api } from './api.ts';

export interface BrokerAddress {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

export interface PartitionMetadata {
  readonly partition: number;
  readonly errorCode: number;
  readonly leaderId: number;
  readonly leaderEpoch: number;
}

export interface TopicMetadata {
  readonly name: string;
  readonly topicId: string;
  readonly errorCode: number;
  readonly partitions: readonly PartitionMetadata[];
}

export interface ClusterMetadata {
  readonly brokers: readonly BrokerAddress[];
  readonly topics: readonly TopicMetadata[];
}

export const METADATA: Api<{ readonly topics: readonly string[] }, ClusterMetadata> = {
  name: 'Metadata',
  key: 3,
  minVersion: 12,
  maxVersion: 12,
  write: (writer, { topics }) => {
    writer.array(topics, (topic) => writer.uuid('0'.repeat(32)).string(topic).end());
    writer.boolean(false).boolean(false).end();
  },
  read: (reader) => {
    reader.int32();
    const brokers = reader.array(() => {
      const broker = { nodeId: reader.int32(), host: reader.string(), port: reader.int32() };
      reader.nullableString();
      reader.end();
      return broker;
    });
    reader.nullableString();
    reader.int32();
    const topics = reader.array(() => {
      const errorCode = reader.int16();
      const name = reader.string();
      const topicId = reader.uuid();
      reader.boolean();
      const partitions = reader.array(() => {
        const partition = {
          errorCode: reader.int16(),
          partition: reader.int32(),
          leaderId: reader.int32(),
          leaderEpoch: reader.int32(),
        };
        for (let list = 0; list < 3; list++) reader.array(() => reader.int32());
        reader.end();
        return partition;
      });
      reader.int32();
      reader.end();
      return { errorCode, name, topicId, partitions };
    });
    reader.end();
    return { brokers, topics };
  },
};

export type CoordinatorType = 'group' | 'transaction';

export interface Coordinator extends BrokerAddress {
  readonly errorCode: number;
}

export const FIND_COORDINATOR: Api<
  { readonly type: CoordinatorType; readonly name: string },
  Coordinator
> = {
  name: 'FindCoordinator',
  key: 10,
  minVersion: 4,
  maxVersion: 6,
  write: (writer, { type, name }) => {
    writer.int8(type === 'group' ? 0 : 1).array([name], (key) => writer.string(key));
    writer.end();
  },
  read: (reader) => {
    reader.int32();
    const found = reader.array(() => {
      reader.string();
      const address = { nodeId: reader.int32(), host: reader.string(), port: reader.int32() };
      const errorCode = reader.int16();
      reader.nullableString();
      reader.end();
      return { ...address, errorCode };
    });
    reader.end();
    const [first] = found;
    if (first === undefined) throw new RangeError('FindCoordinator names no coordinator');
    return first;
  },
};

export interface SupportedVersions {
  readonly errorCode: number;
  readonly ranges: ReadonlyMap<number, { readonly min: number; readonly max: number }>;
}

export const API_VERSIONS: Api<null, SupportedVersions> = {
  name: 'ApiVersions',
  key: 18,
  minVersion: 3,
  maxVersion: 3,
  write: (writer) => void writer.string('weir').string('0').end(),
  read: (reader) => {
    const errorCode = reader.int16();
    const ranges = new Map<number, { min: number; max: number }>();
    reader.array(() => {
      ranges.set(reader.int16(), { min: reader.int16(), max: reader.int16() });
      reader.end();
    });
    return { errorCode, ranges };
  },
};

export interface ConfigEntry {
  readonly name: string;
  readonly value: string | null;
}

/** What has settings: a topic (resource type 2) or a broker (4). */
export interface ConfigQuery {
  readonly of: { readonly topic: string } | { readonly nodeId: number };
  readonly names: readonly string[];
}

/** Settings of one topic or broker by name. */
export const DESCRIBE_CONFIGS: Api<
  ConfigQuery,
  { readonly errorCode: number; readonly entries: readonly ConfigEntry[] }
> = {
  name: 'DescribeConfigs',
  key: 32,
  minVersion: 4,
  maxVersion: 4,
  write: (writer, { of, names }) => {
    writer.array([of], (it) => {
      if ('topic' in it) writer.int8(2).string(it.topic);
      else writer.int8(4).string(String(it.nodeId));
      writer.array(names, (name) => writer.string(name)).end();
    });
    writer.boolean(false).boolean(false).end();
  },
  read: (reader) => {
    reader.int32();
    const results = reader.array(() => {
      const errorCode = reader.int16();
      reader.nullableString();
      reader.int8();
      reader.string();
      const entries = reader.array(() => {
        const entry = { name: reader.string(), value: reader.nullableString() };
        reader.boolean();
        reader.int8();
        reader.boolean();
        reader.array(() => {
          reader.string();
          reader.nullableString();
          reader.int8();
          reader.end();
        });
        reader.int8();
        reader.nullableString();
        reader.end();
        return entry;
      });
      reader.end();
      return { errorCode, entries };
    });
    reader.end();
    return results[0] ?? { errorCode: 0, entries: [] };
  },
};

export interface NewTopic {
  readonly name: string;
  readonly partitions: number;
  readonly configs?: Readonly<Record<string, string>>;
}

export interface TopicResult {
  readonly name: string;
  readonly errorCode: number;
  readonly message: string | null;
}

export const CREATE_TOPICS: Api<readonly NewTopic[], readonly TopicResult[]> = {
  name: 'CreateTopics',
  key: 19,
  minVersion: 5,
  maxVersion: 7,
  write: (writer, topics) => {
    writer.array(topics, ({ name, partitions, configs = {} }) => {
      writer.string(name).int32(partitions).int16(-1);
      writer.array<never>([], () => undefined);
      writer.array(Object.entries(configs), ([key, value]) =>
        writer.string(key).string(value).end(),
      );
      writer.end();
    });
    writer.int32(30_000).boolean(false).end();
  },
  read: (reader, version) => {
    reader.int32();
    return reader.array(() => {
      const name = reader.string();
      if (version >= 7) reader.uuid();
      const errorCode = reader.int16();
      const message = reader.nullableString();
      reader.int32();
      reader.int16();
      reader.array(() => {
        reader.string();
        reader.nullableString();
        reader.boolean();
        reader.int8();
        reader.boolean();
        reader.end();
      });
      reader.end();
      return { name, errorCode, message };
    });
  },
};
