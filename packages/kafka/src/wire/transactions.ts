/**
 * The requests of transaction protocol 1: the client adds partitions before it writes to them, and
 * ends a transaction under the producer id and epoch it was begun with, so that any process that
 * knows these three can end it. Versions above these belong to protocol 2 and are never used.
 */
import type { Api } from './api.ts';

export interface ProducerIdentity {
  readonly producerId: bigint;
  readonly epoch: number;
}

export const INIT_PRODUCER_ID: Api<
  { readonly transactionalId: string | null; readonly timeoutMs: number },
  ProducerIdentity & { readonly errorCode: number }
> = {
  name: 'InitProducerId',
  key: 22,
  minVersion: 4,
  maxVersion: 5,
  // Producer id and epoch are left out (−1): the broker fences whoever held the id, and bumps.
  write: (writer, { transactionalId, timeoutMs }) =>
    void writer.string(transactionalId).int32(timeoutMs).int64(-1).int16(-1).end(),
  read: (reader) => {
    reader.int32();
    return { errorCode: reader.int16(), producerId: reader.bigInt64(), epoch: reader.int16() };
  },
};

export interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

export interface TransactionRef extends ProducerIdentity {
  readonly transactionalId: string;
}

export interface PartitionError {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
}

export const ADD_PARTITIONS_TO_TXN: Api<
  TransactionRef & { readonly topics: readonly TopicPartitions[] },
  readonly PartitionError[]
> = {
  name: 'AddPartitionsToTxn',
  key: 24,
  minVersion: 3,
  maxVersion: 3,
  write: (writer, request) => {
    writer.string(request.transactionalId).int64(request.producerId).int16(request.epoch);
    writer.array(request.topics, ({ topic, partitions }) => {
      writer.string(topic).array(partitions, (partition) => writer.int32(partition));
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

export const END_TXN: Api<
  TransactionRef & { readonly commit: boolean },
  { readonly errorCode: number }
> = {
  name: 'EndTxn',
  key: 26,
  minVersion: 3,
  maxVersion: 4,
  write: (writer, { transactionalId, producerId, epoch, commit }) =>
    void writer.string(transactionalId).int64(producerId).int16(epoch).boolean(commit).end(),
  read: (reader) => {
    reader.int32();
    return { errorCode: reader.int16() };
  },
};

export interface TransactionDescription extends TransactionRef {
  readonly errorCode: number;
  /** `Empty Ongoing PrepareCommit PrepareAbort CompleteCommit CompleteAbort Dead …` */
  readonly state: string;
  readonly timeoutMs: number;
  /** Milliseconds since the epoch; −1: none is open. */
  readonly startTime: number;
  readonly topics: readonly TopicPartitions[];
}

export const DESCRIBE_TRANSACTIONS: Api<readonly string[], readonly TransactionDescription[]> = {
  name: 'DescribeTransactions',
  key: 65,
  minVersion: 0,
  maxVersion: 0,
  write: (writer, ids) => void writer.array(ids, (id) => writer.string(id)).end(),
  read: (reader) => {
    reader.int32();
    return reader.array(() => {
      const description = {
        errorCode: reader.int16(),
        transactionalId: reader.string(),
        state: reader.string(),
        timeoutMs: reader.int32(),
        startTime: reader.int64(),
        producerId: reader.bigInt64(),
        epoch: reader.int16(),
        topics: reader.array(() => {
          const topic = reader.string();
          const partitions = reader.array(() => reader.int32());
          reader.end();
          return { topic, partitions };
        }),
      };
      reader.end();
      return description;
    });
  },
};

export interface ListedTransaction {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly state: string;
}

export const LIST_TRANSACTIONS: Api<
  { readonly states: readonly string[]; readonly idPattern: string | null },
  { readonly errorCode: number; readonly transactions: readonly ListedTransaction[] }
> = {
  name: 'ListTransactions',
  key: 66,
  minVersion: 0,
  maxVersion: 2,
  write: (writer, { states, idPattern }, version) => {
    writer.array(states, (state) => writer.string(state));
    writer.array<never>([], () => undefined);
    if (version >= 1) writer.int64(-1);
    if (version >= 2) writer.string(idPattern);
    writer.end();
  },
  read: (reader) => {
    reader.int32();
    const errorCode = reader.int16();
    reader.array(() => reader.string());
    const transactions = reader.array(() => {
      const transaction = {
        transactionalId: reader.string(),
        producerId: reader.bigInt64(),
        state: reader.string(),
      };
      reader.end();
      return transaction;
    });
    return { errorCode, transactions };
  },
};
