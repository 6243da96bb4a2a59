/**
 * What Kafka 4.4.0 answers to the requests of transaction protocol 1, request by request. The sink
 * is built on these facts (docs/adr/0007); a broker that answers otherwise must not go unnoticed.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { BatchBuilder } from '../../packages/kafka/src/records/batch-builder.ts';
import {
  CONCURRENT_TRANSACTIONS,
  INVALID_TRANSACTION_TIMEOUT,
  INVALID_TXN_STATE,
  PRODUCER_FENCED,
} from '../../packages/kafka/src/wire/error-codes.ts';
import type { Api } from '../../packages/kafka/src/wire/api.ts';
import { PRODUCE } from '../../packages/kafka/src/wire/produce.ts';
import {
  ADD_PARTITIONS_TO_TXN,
  DESCRIBE_TRANSACTIONS,
  END_TXN,
  INIT_PRODUCER_ID,
  LIST_TRANSACTIONS,
} from '../../packages/kafka/src/wire/transactions.ts';
import type { TransactionRef } from '../../packages/kafka/src/wire/transactions.ts';
import { ADMIN, LIMITED } from '../../tools/kafka/broker-properties.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { readCommitted } from './support/read-back.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

const coordinatorOf = (name: string) => ({ type: 'transaction', name }) as const;

/** A new transaction; repeated while the coordinator ends an older one, as every client must. */
async function init(
  cluster: KafkaCluster,
  transactionalId: string,
  timeoutMs = 60_000,
): Promise<TransactionRef> {
  for (;;) {
    const found = await cluster.retry(() =>
      cluster.callCoordinator(coordinatorOf(transactionalId), INIT_PRODUCER_ID, {
        transactionalId,
        timeoutMs,
      }),
    );
    if (found.errorCode === 0)
      return { transactionalId, producerId: found.producerId, epoch: found.epoch };
    assert.ok(
      [CONCURRENT_TRANSACTIONS, 14, 15, 16].includes(found.errorCode),
      `${found.errorCode}`,
    );
    if (found.errorCode !== CONCURRENT_TRANSACTIONS)
      cluster.forgetCoordinator('transaction', transactionalId);
    await sleep(50);
  }
}

async function end(cluster: KafkaCluster, ref: TransactionRef, commit: boolean): Promise<number> {
  const place = coordinatorOf(ref.transactionalId);
  return (await cluster.callCoordinator(place, END_TXN, { ...ref, commit })).errorCode;
}

async function endAfterRetries(cluster: KafkaCluster, ref: TransactionRef): Promise<number> {
  for (;;) {
    const code = await end(cluster, ref, true);
    if (code !== CONCURRENT_TRANSACTIONS) return code;
    await sleep(20);
  }
}

async function add(
  cluster: KafkaCluster,
  ref: TransactionRef,
  topic: string,
): Promise<readonly number[]> {
  for (;;) {
    const place = coordinatorOf(ref.transactionalId);
    const request = { ...ref, topics: [{ topic, partitions: [0] }] };
    const results = await cluster.callCoordinator(place, ADD_PARTITIONS_TO_TXN, request);
    const codes = results.map((result) => result.errorCode);
    if (!codes.includes(CONCURRENT_TRANSACTIONS)) return codes;
    await sleep(20);
  }
}

async function produce(
  cluster: KafkaCluster,
  ref: TransactionRef,
  { topic, value, sequence = 0 }: { topic: string; value: string; sequence?: number },
): Promise<number> {
  const builder = new BatchBuilder();
  builder.append({ key: null, value: Buffer.from(value), headers: [], timestamp: Date.now() });
  const { producerId, epoch } = ref;
  const identity = { producerId, epoch, baseSequence: sequence, isTransactional: true };
  const records = builder.finish(identity, 'none');
  const leader = await cluster.leaderOf(topic, 0);
  assert.ok(leader);
  for (;;) {
    const [result] = await cluster.call(leader, PRODUCE, {
      transactionalId: ref.transactionalId,
      acks: -1,
      timeoutMs: 10_000,
      topics: [{ topic, partitions: [{ partition: 0, records }] }],
    });
    // A new partition may not have its leader yet.
    if (result !== undefined && ![3, 6].includes(result.errorCode)) return result.errorCode;
    await sleep(20);
  }
}

async function describe(cluster: KafkaCluster, transactionalId: string): Promise<string> {
  const place = coordinatorOf(transactionalId);
  const [found] = await cluster.callCoordinator(place, DESCRIBE_TRANSACTIONS, [transactionalId]);
  return `${found?.state} epoch ${found?.epoch}`;
}

/** Of no other test: rights that one gives are for these ids alone. */
const ID_PREFIX = 'facts-tx';

async function open(cluster: KafkaCluster, topic: string, value: string, timeoutMs?: number) {
  const ref = await init(cluster, fresh(ID_PREFIX), timeoutMs);
  assert.deepEqual(await add(cluster, ref, topic), [0]);
  assert.equal(await produce(cluster, ref, { topic, value }), 0);
  return ref;
}

/** What brokers send each other since protocol 2: here only to see that clients may not. */
const ADD_PARTITIONS_V4: Api<{ ref: TransactionRef; topic: string }, { errorCode: number }> = {
  name: 'AddPartitionsToTxn',
  key: 24,
  minVersion: 4,
  maxVersion: 4,
  write: (writer, { ref, topic }) => {
    writer.array([ref], ({ transactionalId, producerId, epoch }) => {
      writer.string(transactionalId).int64(producerId).int16(epoch).boolean(false);
      writer.array([topic], (name) => {
        writer.string(name).array([0], (partition) => writer.int32(partition));
        writer.end();
      });
      writer.end();
    });
    writer.end();
  },
  read: (reader) => {
    reader.int32();
    return { errorCode: reader.int16() };
  },
};

brokerTest('EndTxn v4 commits, and the same EndTxn again succeeds', async (broker) => {
  const cluster = clusterAt(broker);
  const topic = fresh('facts');
  await createTopic(cluster, topic);
  const ref = await open(cluster, topic, 'one');
  assert.equal(await end(cluster, ref, true), 0);
  assert.equal(await endAfterRetries(cluster, ref), 0);
  assert.equal(await endAfterRetries(cluster, ref), 0);
  assert.match(await describe(cluster, ref.transactionalId), /CompleteCommit epoch 0/);
  assert.equal(await end(cluster, ref, false), INVALID_TXN_STATE, 'abort after commit');
  assert.deepEqual(await readCommitted(broker, cluster, topic), ['null\tone']);
  await cluster.close();
});

brokerTest(
  'EndTxn v4 is answered from another connection than that of the writer',
  async (broker) => {
    const writer = clusterAt(broker);
    const topic = fresh('facts');
    await createTopic(writer, topic);
    const ref = await open(writer, topic, 'one');
    await writer.close();
    const other = clusterAt(broker);
    assert.equal(await end(other, ref, true), 0);
    await other.close();
  },
);

brokerTest('a transaction that timed out answers EndTxn with PRODUCER_FENCED', async (broker) => {
  const cluster = clusterAt(broker);
  const topic = fresh('facts');
  await createTopic(cluster, topic);
  const ref = await open(cluster, topic, 'late', 1000);
  let state = '';
  while (!state.startsWith('CompleteAbort')) {
    await sleep(100);
    state = await describe(cluster, ref.transactionalId);
  }
  assert.equal(state, 'CompleteAbort epoch 1', 'the epoch is one higher than ours');
  assert.equal(await end(cluster, ref, true), PRODUCER_FENCED);
  await cluster.close();
});

brokerTest(
  'a fenced transaction answers EndTxn with PRODUCER_FENCED and is aborted',
  async (broker) => {
    const cluster = clusterAt(broker);
    const topic = fresh('facts');
    await createTopic(cluster, topic);
    const ref = await open(cluster, topic, 'fenced');
    const newer = await init(cluster, ref.transactionalId);
    assert.equal(newer.producerId, ref.producerId);
    // One for the abort by the coordinator, one for the new producer.
    assert.equal(newer.epoch, ref.epoch + 2);
    assert.equal(await end(cluster, ref, true), PRODUCER_FENCED);
    assert.equal(await produce(cluster, ref, { topic, value: 'x', sequence: 1 }), 47);
    await cluster.close();
  },
);

brokerTest('committing an empty transaction is INVALID_TXN_STATE', async (broker) => {
  const cluster = clusterAt(broker);
  const ref = await init(cluster, fresh('tx'));
  assert.equal(await end(cluster, ref, true), INVALID_TXN_STATE);
  await cluster.close();
});

brokerTest("a time-out above the broker's maximum is error 50", async (broker) => {
  const cluster = clusterAt(broker);
  const transactionalId = fresh('tx');
  await init(cluster, fresh('warm'));
  const request = { transactionalId, timeoutMs: 900_001 };
  const place = coordinatorOf(transactionalId);
  const found = await cluster.callCoordinator(place, INIT_PRODUCER_ID, request);
  assert.equal(found.errorCode, INVALID_TRANSACTION_TIMEOUT);
  await cluster.close();
});

brokerTest(
  'ListTransactions v2 filters by state and by a full-match expression',
  async (broker) => {
    const cluster = clusterAt(broker);
    const topic = fresh('facts');
    await createTopic(cluster, topic);
    const ref = await open(cluster, topic, 'one');
    const [address] = (await cluster.metadata([])).brokers;
    assert.ok(address);
    const list = (idPattern: string) =>
      cluster.call(address, LIST_TRANSACTIONS, { states: ['Ongoing'], idPattern });
    const prefix = ref.transactionalId.slice(0, -1);
    const found = await list(`\\Q${prefix}\\E.*`);
    assert.deepEqual(
      found.transactions.map((it) => [it.transactionalId, it.state]),
      [[ref.transactionalId, 'Ongoing']],
    );
    assert.deepEqual((await list(`\\Q${prefix}\\E`)).transactions, []);
    await end(cluster, ref, false);
    await cluster.close();
  },
);

brokerTest('a prepared transaction survives a killed broker, and then commits', async (broker) => {
  if (!broker.isOwn) return;
  const cluster = clusterAt(broker);
  const topic = fresh('facts');
  await createTopic(cluster, topic);
  const ref = await open(cluster, topic, 'kept');
  await broker.restart('SIGKILL');
  let code = -1;
  // The coordinator reads its log first.
  while ([-1, 14, 15, 16].includes(code)) {
    cluster.forgetCoordinator('transaction', ref.transactionalId);
    code = await cluster.retry(() => endAfterRetries(cluster, ref));
    await sleep(50);
  }
  assert.equal(code, 0);
  assert.deepEqual(await readCommitted(broker, cluster, topic), ['null\tkept']);
  await cluster.close();
});

brokerTest(
  'AddPartitionsToTxn v3 needs only the rights of a transactional writer, no cluster right',
  async (broker) => {
    const admin = clusterAt(broker, { sasl: { mechanism: 'PLAIN', ...ADMIN } });
    const topic = fresh('facts');
    await createTopic(admin, topic);
    const limited = clusterAt(broker, { sasl: { mechanism: 'PLAIN', ...LIMITED } });
    const refused = await limited.callAny(INIT_PRODUCER_ID, {
      transactionalId: fresh(ID_PREFIX),
      timeoutMs: 60_000,
    });
    assert.equal(refused.errorCode, 53, 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED');
    const grant = (rights: string) => {
      const options = `--bootstrap-server ${broker.address} --add --allow-principal User:`;
      const args = `${options}${LIMITED.username} ${rights}`.split(' ');
      return broker.tool('org.apache.kafka.tools.AclCommand', args);
    };
    const write = '--operation Write --operation Describe';
    await grant(`${write} --topic ${topic}`);
    await grant(`${write} --transactional-id ${ID_PREFIX} --resource-pattern-type prefixed`);
    const ref = await open(limited, topic, 'allowed');
    const { errorCode } = await limited.callCoordinator(
      coordinatorOf(ref.transactionalId),
      ADD_PARTITIONS_V4,
      { ref, topic },
    );
    assert.equal(errorCode, 31, 'v4 and later ask for CLUSTER_ACTION');
    assert.equal(await end(limited, ref, true), 0);
    await limited.close();
    await admin.close();
  },
  'rights',
);
