/**
 * Kafka on loopback: the source beside the consumer of the client library, and a copy that is
 * exactly-once beside a transactional copy loop of the Java client. They need Java and Maven, and run
 * only with `--long`.
 */
import { fileURLToPath } from 'node:url';
import { Consumer } from '@platformatic/kafka';
import { job, runJob } from '@weir/core';
import { bytes, kafkaSink, kafkaSource } from '@weir/kafka';
import { realClock } from '../../packages/core/src/cluster/real-clock.ts';
import { tcpConnect } from '../../packages/kafka/src/client/broker-connection.ts';
import { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { ProduceSession } from '../../packages/kafka/src/sink/produce-session.ts';
import { CREATE_TOPICS } from '../../packages/kafka/src/wire/metadata.ts';
import { startBroker } from '../../tools/kafka/broker.ts';
import type { Broker } from '../../tools/kafka/broker.ts';
import { discard } from '../support/discard.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';

const RECORDS = 1_000_000;
const VALUE_BYTES = 100;
const ROUNDS = 3;
const SECOND = 1000;
const JAVA_LOOP = fileURLToPath(new URL('../peers/CopyLoop.java', import.meta.url));

async function withBroker<R>(
  measure: (broker: Broker, cluster: KafkaCluster) => Promise<R>,
): Promise<R> {
  const broker = await startBroker();
  if (typeof broker === 'string') throw new Error(`no Kafka broker: ${broker}`);
  const cluster = new KafkaCluster({
    bootstrap: [{ host: broker.host, port: broker.port }],
    clock: realClock,
    retryForMs: 30_000,
    connect: tcpConnect({ clientId: 'bench', connectTimeoutMs: 5000, requestTimeoutMs: 30_000 }),
  });
  try {
    return await measure(broker, cluster);
  } finally {
    await cluster.close();
    await broker.stop();
  }
}

async function createTopic(cluster: KafkaCluster, name: string): Promise<void> {
  const topic = { name, partitions: 1 };
  await cluster.retry(() => cluster.callAny(CREATE_TOPICS, [topic]));
  await cluster.refreshTopic(name);
}

async function fill(cluster: KafkaCluster, topic: string, count: number): Promise<void> {
  const session = new ProduceSession({
    cluster,
    clock: realClock,
    settings: {
      acks: -1,
      compression: 'none',
      lingerMs: 5,
      batchSizeBytes: 256 * 1024,
      deliveryTimeoutMs: 60_000,
      requestTimeoutMs: 30_000,
    },
    identity: { transactionalId: null, producerId: -1n, epoch: -1 },
  });
  const value = Buffer.alloc(VALUE_BYTES, 'v');
  const record = { key: null, value, headers: [], timestamp: Date.now() };
  for (let index = 0; index < count; index++) {
    session.append(topic, 0, record);
    if (session.bufferedBytes > 16 * 1024 ** 2) await session.acknowledged();
  }
  await session.flush();
}

interface Read {
  readonly count: number;
  readonly checksum: number;
  readonly perSecond: number;
}

/** Reads all of a topic; the checksum is over first bytes and lengths. */
async function readAll(broker: Broker, topic: string): Promise<Read> {
  let count = 0;
  let checksum = 0;
  const work = job('bench-source', (env) => {
    env
      .fromSource(
        kafkaSource({
          bootstrap: broker.address,
          topics: topic,
          value: bytes(),
          bounded: 'latest',
        }),
        { uid: 'in' },
      )
      .sinkTo({
        ...discard<Buffer | null>(),
        createWriter: (context) => ({
          ...discard<Buffer | null>().createWriter(context, []),
          write: (value) => {
            count++;
            checksum += (value?.[0] ?? 0) + (value?.length ?? 0);
          },
        }),
      })
      .uid('out');
  });
  const began = performance.now();
  await runJob(work);
  return { count, checksum, perSecond: (count / (performance.now() - began)) * SECOND };
}

async function readByClient(broker: Broker, topic: string): Promise<number> {
  const consumer = new Consumer({
    clientId: 'bench',
    groupId: `bench-${Date.now()}`,
    bootstrapBrokers: [broker.address],
    maxWaitTime: 100,
  });
  const began = performance.now();
  const stream = await consumer.consume({
    topics: [topic],
    mode: 'earliest',
    autocommit: false,
    isolationLevel: 1,
  });
  let count = 0;
  for await (const _message of stream) if (++count === RECORDS) break;
  const perSecond = (RECORDS / (performance.now() - began)) * SECOND;
  await stream.close();
  await consumer.close(true);
  return perSecond;
}

function measureSource(): Promise<Measured> {
  return withBroker(async (broker, cluster) => {
    await createTopic(cluster, 'in');
    await fill(cluster, 'in', RECORDS);
    const weir: number[] = [];
    const client: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const read = await readAll(broker, 'in');
      if (read.count !== RECORDS) throw new Error(`wrong answer: ${read.count} records`);
      weir.push(read.perSecond);
      client.push(await readByClient(broker, 'in'));
    }
    return {
      value: Math.round(median(weir)),
      baseline: Math.round(median(client)),
      notes: { records: RECORDS, valueBytes: VALUE_BYTES, rounds: ROUNDS },
    };
  });
}

/** Kafka → map → Kafka with transactions every second. */
async function copyByWeir(broker: Broker, from: string, to: string): Promise<number> {
  const { address: bootstrap } = broker;
  const work = job('bench-copy', (env) => {
    env.enableCheckpointing('1s');
    env
      .fromSource(kafkaSource({ bootstrap, topics: from, value: bytes(), bounded: 'latest' }), {
        uid: 'in',
      })
      .map((value) => {
        if (value !== null) value[0] = LETTER_W;
        return value;
      })
      .sinkTo(kafkaSink({ bootstrap, topic: to, value: bytes() }))
      .uid('out');
  });
  const began = performance.now();
  await runJob(work);
  return (RECORDS / (performance.now() - began)) * SECOND;
}

const LETTER_W = 119;

async function copyByJava(broker: Broker, from: string, to: string): Promise<number> {
  const args = [broker.address, from, to, String(RECORDS)];
  return Number(await broker.java(JAVA_LOOP, args));
}

function measureCopy(): Promise<Measured> {
  return withBroker(async (broker, cluster) => {
    await createTopic(cluster, 'in');
    await fill(cluster, 'in', RECORDS);
    const weir: number[] = [];
    const java: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of ['weir', 'java']) await createTopic(cluster, `${name}-${round}`);
      weir.push(await copyByWeir(broker, 'in', `weir-${round}`));
      java.push(await copyByJava(broker, 'in', `java-${round}`));
      await checkCopied(broker, `weir-${round}`);
    }
    return {
      value: Math.round(median(weir)),
      baseline: Math.round(median(java)),
      notes: { records: RECORDS, valueBytes: VALUE_BYTES, rounds: ROUNDS, interval: '1 s' },
    };
  });
}

/** A wrong answer has no number. */
async function checkCopied(broker: Broker, topic: string): Promise<void> {
  const { count, checksum } = await readAll(broker, topic);
  if (count !== RECORDS || checksum !== RECORDS * (LETTER_W + VALUE_BYTES))
    throw new Error(`wrong answer: ${count} records, checksum ${checksum}`);
}

export const KAFKA_ROWS: readonly Row[] = [
  {
    name: 'kafka-source',
    title: "Kafka source, 100-byte values, beside the client library's consumer",
    unit: 'records/s',
    compares: 'ratio',
    direction: 'atLeast',
    mustReach: 5,
    reachFor: 10,
    long: true,
    measure: measureSource,
  },
  {
    name: 'kafka-copy',
    title: 'Kafka → map → Kafka, exactly-once, 1 s, beside a copy loop of the Java client',
    unit: 'records/s',
    compares: 'ratio',
    direction: 'atLeast',
    mustReach: 0.5,
    reachFor: 0.9,
    long: true,
    measure: measureCopy,
  },
];
