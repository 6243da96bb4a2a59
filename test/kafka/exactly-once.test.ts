/** Source and sink together on a real broker, read back by Kafka's own consumer. */
import assert from 'node:assert/strict';
import { job } from '@weir/core';
import { kafkaSink, kafkaSource, text } from '@weir/kafka';
import type { Broker } from '../../tools/kafka/broker.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { fill, numbers, run } from './support/jobs.ts';
import { readCommitted } from './support/read-back.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

function copyJob(
  broker: Broker,
  { from, to, fail }: { from: string; to: string; fail?: (value: string) => void },
) {
  return job(`copy ${from}`, (env) => {
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
      .map((value) => {
        fail?.(value);
        return value;
      })
      .sinkTo(
        kafkaSink({
          bootstrap: broker.address,
          topic: to,
          value: text(),
          key: (value) => value,
        }),
      )
      .uid('out');
  });
}

function duplicatesOf(sorted: readonly number[]): number[] {
  return sorted.filter((value, index) => Number.isNaN(value) || value === sorted[index - 1]);
}

brokerTest('a bounded copy job writes every record once and ends', async (broker) => {
  const cluster = clusterAt(broker);
  const [from, to] = [fresh('in'), fresh('out')];
  await createTopic(cluster, from, 3);
  await createTopic(cluster, to, 2);
  await fill(cluster, from, [numbers(0, 1000), numbers(1000, 2000), []]);
  const { outcome } = await run(copyJob(broker, { from, to }));
  assert.equal(outcome.status, 'FINISHED');
  const lines = await readCommitted(broker, cluster, to);
  const values = lines.map((line) => Number(line.split('\t')[1])).toSorted((a, b) => a - b);
  assert.deepEqual(values, numbers(0, 2000).map(Number));
  await cluster.close();
});

brokerTest('a job that fails again and again still writes every record once', async (broker) => {
  const cluster = clusterAt(broker);
  const [from, to] = [fresh('in'), fresh('out')];
  await createTopic(cluster, from, 2);
  await createTopic(cluster, to, 2);
  await fill(cluster, from, [numbers(0, 20_000), numbers(20_000, 40_000)]);
  const failAt = new Set(['5000', '19999', '25000', '31000']);
  const fail = (value: string): void => {
    if (failAt.delete(value)) throw new Error(`planted at ${value}`);
  };
  const { outcome } = await run(copyJob(broker, { from, to, fail }));
  assert.equal(outcome.status, 'FINISHED');
  assert.equal(failAt.size, 0);
  const lines = await readCommitted(broker, cluster, to);
  const values = lines.map((line) => Number(line.split('\t')[1])).toSorted((a, b) => a - b);
  assert.deepEqual(duplicatesOf(values), []);
  assert.deepEqual(values, numbers(0, 40_000).map(Number));
  await cluster.close();
});
