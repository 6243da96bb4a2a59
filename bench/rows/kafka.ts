/**
 * Kafka on loopback: the source beside the consumer of the client library, and a copy that is
 * exactly-once beside a transactional copy loop of the Java client. They need Java and Maven, and
 * run only with `--long`.
 */
import { fileURLToPath } from 'node:url';
import { Consumer } from '@platformatic/kafka';
import { datagen, job, runJob } from '@weir/core';
import { bytes, kafkaSink, kafkaSource, text } from '@weir/kafka';
import type { Broker } from '../../tools/kafka/broker.ts';
import { MARK } from '../jobs/kafka-copy.ts';
import { withFolder } from '../support/compare.ts';
import { discard } from '../support/discard.ts';
import { createTopic, fill, withBroker } from '../support/kafka.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';
import { KAFKA_LATENCY_ROW } from './kafka-latency.ts';

const RECORDS = 1_000_000;
const VALUE_BYTES = 100;
const ROUNDS = 3;
const SECOND = 1000;
const COPY_JOB = new URL('../jobs/kafka-copy.ts', import.meta.url);
const JAVA_LOOP = fileURLToPath(new URL('../peers/CopyLoop.java', import.meta.url));

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
    await fill(cluster, 'in', { count: RECORDS, valueBytes: VALUE_BYTES });
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

/** Kafka → map → Kafka with transactions every second, as `weir run` runs it. */
async function copyByWeir(broker: Broker, from: string, to: string): Promise<number> {
  const { address: bootstrap } = broker;
  return withFolder('weir-bench-', async (dataDirectory) => {
    const args = { bootstrap, from, to, interval: SECOND, linger: 5, bounded: true, mark: true };
    const began = performance.now();
    await runJob(COPY_JOB, { args, dataDirectory });
    return (RECORDS / (performance.now() - began)) * SECOND;
  });
}

async function copyByJava(broker: Broker, from: string, to: string): Promise<number> {
  const args = [broker.address, from, to, String(RECORDS)];
  return Number(await broker.java(JAVA_LOOP, args));
}

function measureCopy(): Promise<Measured> {
  return withBroker(async (broker, cluster) => {
    await createTopic(cluster, 'in');
    await fill(cluster, 'in', { count: RECORDS, valueBytes: VALUE_BYTES });
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
  if (count !== RECORDS || checksum !== RECORDS * (MARK + VALUE_BYTES))
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
  KAFKA_LATENCY_ROW,
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
