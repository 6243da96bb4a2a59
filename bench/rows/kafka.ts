/**
 * Kafka on loopback: the source beside the consumer of the client library, and a copy that is
 * exactly-once beside a transactional copy loop of the Java client. They need Java and Maven, and
 * run only with `--long`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Consumer } from '@platformatic/kafka';
import { datagen, job, runJob } from '@weir/core';
import { bytes, kafkaSink, kafkaSource, text } from '@weir/kafka';
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

const PRODUCE_SETTINGS = {
  acks: -1,
  compression: 'none',
  lingerMs: 5,
  batchSizeBytes: 256 * 1024,
  deliveryTimeoutMs: 60_000,
  requestTimeoutMs: 30_000,
} as const;

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
    settings: PRODUCE_SETTINGS,
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

const CHECKPOINTS = 500;
const SETTLED_AT = 100;

/** Heap and sockets after many checkpoints, less what they were after some. */
function measureFlatness(): Promise<Measured> {
  return withBroker(async (broker, cluster) => {
    await createTopic(cluster, 'flat');
    const stop = new AbortController();
    const seen: { heapMiB: number; sockets: number }[] = [];
    let count = 0;
    const work = job('bench-flat', (env) => {
      env.enableCheckpointing('20ms');
      env
        .fromSource(datagen({ generator: (index) => `record ${index}`, rate: 2000 }), { uid: 'in' })
        .sinkTo(kafkaSink({ bootstrap: broker.address, topic: 'flat', value: text(), lingerMs: 1 }))
        .uid('out');
    });
    await runJob(work, {
      signal: stop.signal,
      onEvent: (event) => {
        if (event.type !== 'checkpointCompleted') return;
        count++;
        if (count !== SETTLED_AT && count !== CHECKPOINTS) return;
        globalThis.gc?.();
        const resources = process.getActiveResourcesInfo();
        seen.push({
          heapMiB: process.memoryUsage().heapUsed / 1024 ** 2,
          sockets: resources.filter((name) => name === 'TCPSocketWrap').length,
        });
        if (count === CHECKPOINTS) stop.abort();
      },
    });
    const [settled, last] = seen;
    if (settled === undefined || last === undefined) throw new Error(`${count} checkpoints`);
    if (last.sockets > settled.sockets)
      throw new Error(`${settled.sockets} connections became ${last.sockets}`);
    const growth = last.heapMiB - settled.heapMiB;
    return {
      value: Number(growth.toFixed(2)),
      baseline: null,
      notes: { checkpoints: count, connections: last.sockets, heapMiB: Math.round(last.heapMiB) },
    };
  });
}

const INTERVAL_MS = 200;
const LATENCY_RECORDS = 4000;
const LATENCY_WARM_UP = 1000;

/** From a record's writing to its committed result in a reader's hands, less the interval. */
function measureLatency(): Promise<Measured> {
  return withBroker(async (broker, cluster) => {
    for (const topic of ['asked', 'answered']) await createTopic(cluster, topic);
    const { address: bootstrap } = broker;
    const stop = new AbortController();
    const copy = job('bench-latency', (env) => {
      env.enableCheckpointing(INTERVAL_MS);
      env
        .fromSource(kafkaSource({ bootstrap, topics: 'asked', value: text() }), { uid: 'in' })
        .sinkTo(kafkaSink({ bootstrap, topic: 'answered', value: text(), lingerMs: 1 }))
        .uid('out');
    });
    const latencies: number[] = [];
    const reader = job('bench-latency-reader', (env) => {
      env
        .fromSource(kafkaSource({ bootstrap, topics: 'answered', value: text() }), { uid: 'in' })
        .forEach((sentAt) => {
          latencies.push(performance.now() - Number(sentAt) - INTERVAL_MS);
          if (latencies.length === LATENCY_RECORDS) stop.abort();
        });
    });
    const running = [copy, reader].map((work) => runJob(work, { signal: stop.signal }));
    await writePaced(cluster, 'asked');
    await Promise.all(running);
    const sorted = latencies.slice(LATENCY_WARM_UP).toSorted((a, b) => a - b);
    const at = (share: number): number =>
      Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
    return {
      value: at(0.99),
      baseline: null,
      notes: { p50: at(0.5), p90: at(0.9), records: sorted.length, interval: `${INTERVAL_MS} ms` },
    };
  });
}

/** One record each 5 ms with the time at which it is written. */
async function writePaced(cluster: KafkaCluster, topic: string): Promise<void> {
  const session = new ProduceSession({
    cluster,
    clock: realClock,
    settings: { ...PRODUCE_SETTINGS, lingerMs: 0 },
    identity: { transactionalId: null, producerId: -1n, epoch: -1 },
  });
  for (let index = 0; index < LATENCY_RECORDS; index++) {
    const value = Buffer.from(String(performance.now()));
    session.append(topic, 0, { key: null, value, headers: [], timestamp: Date.now() });
    await sleep(5);
  }
  await session.flush();
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
  {
    name: 'kafka-latency',
    title: 'committed result after its record, beyond the checkpoint interval, p99',
    unit: 'ms',
    compares: 'value',
    direction: 'atMost',
    mustReach: 100,
    reachFor: 30,
    long: true,
    measure: measureLatency,
  },
  {
    name: 'kafka-flat',
    title: 'heap growth of an exactly-once Kafka sink from checkpoint 100 to 500',
    unit: 'MiB',
    compares: 'value',
    direction: 'atMost',
    mustReach: 2,
    reachFor: null,
    long: true,
    measure: measureFlatness,
  },
];
