/** Records of Kafka's own clients, both ways, and topics that change behind a job's back. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isWeirError, job } from '@weir/core';
import type { Job } from '@weir/core';
import { kafkaSink, kafkaSource, text } from '@weir/kafka';
import type { Compression, KafkaSourceOptions } from '@weir/kafka';
import type { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import type { Broker } from '../../tools/kafka/broker.ts';
import { consoleRead } from '../../tools/kafka/console-consumer.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { fill, numbers, run } from './support/jobs.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;

/** Written by Kafka's own producer. */
function perform(broker: Broker, topic: string, compression: Compression): Promise<string> {
  const properties = `bootstrap.servers=${broker.address} compression.type=${compression}`;
  const args =
    `--topic ${topic} --num-records 2000 --record-size 300 --throughput -1 ` +
    `--producer-props ${properties} batch.size=65536 linger.ms=20`;
  return broker.tool('org.apache.kafka.tools.ProducerPerformance', args.split(' '));
}

brokerTest("what Kafka's own producer compressed is read, by each compression", async (broker) => {
  const cluster = clusterAt(broker);
  for (const compression of COMPRESSIONS) {
    const topic = fresh(compression);
    await createTopic(cluster, topic);
    await perform(broker, topic, compression);
    const values: string[] = [];
    await run(
      job(`read ${topic}`, (env) => {
        env
          .fromSource(
            kafkaSource({
              bootstrap: broker.address,
              topics: topic,
              value: text(),
              bounded: 'latest',
            }),
            { uid: 'in' },
          )
          .collect(values);
      }),
    );
    assert.equal(values.length, 2000, compression);
    assert.ok(
      values.every((value) => /^[A-Z]{300}$/.test(value)),
      compression,
    );
  }
  await cluster.close();
});

brokerTest("what the sink compressed is read by Kafka's own consumer", async (broker) => {
  const cluster = clusterAt(broker);
  const from = fresh('in');
  await createTopic(cluster, from);
  await fill(cluster, from, [numbers(0, 1000)]);
  const to = fresh('out');
  await createTopic(cluster, to);
  for (const compression of COMPRESSIONS)
    await run(
      job(`write ${compression} ${to}`, (env) => {
        env
          .fromSource(
            kafkaSource({
              bootstrap: broker.address,
              topics: from,
              value: text(),
              bounded: 'latest',
            }),
            { uid: 'in' },
          )
          .map((value) => `${compression} ${value}`)
          .sinkTo(kafkaSink({ bootstrap: broker.address, topic: to, value: text(), compression }))
          .uid('out');
      }),
    );
  const lines = await consoleRead(broker, { topic: to, count: 5000, idleMs: 60_000 });
  for (const compression of COMPRESSIONS)
    assert.deepEqual(
      lines.map((line) => line.split('\t')[1] ?? '').filter((it) => it.startsWith(compression)),
      numbers(0, 1000).map((value) => `${compression} ${value}`),
    );
  await cluster.close();
});

interface Kept {
  readonly topic: string;
  readonly dataDirectory: string;
  readonly values: string[];
}

/** A job that fails at the value 6, after a checkpoint behind 5. */
function failing(
  broker: Broker,
  { topic, values }: Kept,
  facts: { fails: boolean; options?: Partial<KafkaSourceOptions<string>> },
): Job {
  return job(`kept ${topic}`, (env) => {
    env
      .fromSource(
        kafkaSource<string>({
          bootstrap: broker.address,
          topics: topic,
          value: text(),
          ...facts.options,
        }),
        { uid: 'in' },
      )
      .map((value) => {
        if (facts.fails && value === '6') throw new Error('planted');
        values.push(value);
        return value;
      })
      .forEach(() => undefined);
  });
}

async function withKept(run_: (kept: Kept) => Promise<void>): Promise<void> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'weir-kept-'));
  try {
    await run_({ topic: fresh('kept'), dataDirectory, values: [] });
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true });
  }
}

/** Runs to the planted failure at 6, when a checkpoint behind 5 is complete. */
async function leavesPosition(broker: Broker, cluster: KafkaCluster, kept: Kept): Promise<void> {
  const { topic, dataDirectory, values } = kept;
  await createTopic(cluster, topic);
  await fill(cluster, topic, [numbers(0, 6)]);
  let later = 0;
  const failed = run(failing(broker, kept, { fails: true }), {
    config: { 'restart-strategy.type': 'none' },
    dataDirectory,
    onEvent: ({ type }) => {
      // The first of these may have been triggered before.
      if (type === 'checkpointCompleted' && values.length === 6 && ++later === 2)
        void fill(cluster, topic, [numbers(6, 20)]);
    },
  });
  await assert.rejects(failed, /planted/);
}

/** The message of an error and its causes. */
function told(error: unknown): string {
  const messages: string[] = [];
  for (let next = error; next instanceof Error; next = next.cause) messages.push(next.message);
  return messages.join(' | ');
}

brokerTest(
  'records removed behind a position end the job with their number (failure 22) [R040]',
  async (broker) => {
    const cluster = clusterAt(broker);
    await withKept(async (kept) => {
      const { topic, dataDirectory, values } = kept;
      await leavesPosition(broker, cluster, kept);
      const file = join(dataDirectory, 'offsets.json');
      const partitions = [{ topic, partition: 0, offset: 15 }];
      writeFileSync(file, JSON.stringify({ version: 1, partitions }));
      const args = `--bootstrap-server ${broker.address} --offset-json-file ${file}`.split(' ');
      await broker.tool('org.apache.kafka.tools.DeleteRecordsCommand', args);
      await assert.rejects(
        run(failing(broker, kept, { fails: false }), { dataDirectory }),
        (error: unknown) =>
          isWeirError(error) &&
          /offsets 6\.\.14 of kept-.*\/0 no longer exist; going on would lose 9 rec/.test(
            told(error),
          ),
      );
      values.length = 0;
      const stop = new AbortController();
      const options = { onOutOfRange: 'earliest' } as const;
      await run(failing(broker, kept, { fails: false, options }), {
        dataDirectory,
        signal: stop.signal,
        onEvent: () => {
          if (values.length === 5) stop.abort();
        },
      });
      assert.deepEqual(values, numbers(15, 20));
    });
    await cluster.close();
  },
);

brokerTest('a topic made anew behind a position ends the job', async (broker) => {
  const cluster = clusterAt(broker);
  await withKept(async (kept) => {
    const { topic, dataDirectory } = kept;
    await leavesPosition(broker, cluster, kept);
    const args = `--bootstrap-server ${broker.address} --delete --topic ${topic}`.split(' ');
    await broker.tool('org.apache.kafka.tools.TopicCommand', args);
    cluster.forgetTopic(topic);
    await cluster.retry(() => createTopic(cluster, topic));
    await fill(cluster, topic, [numbers(100, 120)]);
    await assert.rejects(
      run(failing(broker, kept, { fails: false }), { dataDirectory }),
      (error: unknown) => /was deleted and made anew/.test(told(error)),
    );
  });
  await cluster.close();
});
