/** What a real broker says before a run: its maximum, its retention, its refusals. */
import assert from 'node:assert/strict';
import { isWeirError, job } from '@weir/core';
import { kafkaSink, kafkaSource, text } from '@weir/kafka';
import type { KafkaSinkOptions } from '@weir/kafka';
import { clusterAt, createTopic } from './support/clients.ts';
import { fill, run } from './support/jobs.ts';
import type { TestRun } from './support/jobs.ts';
import { openTransactions } from '../../packages/kafka/src/sink/recover-transactions.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

interface Ends {
  readonly bootstrap: string;
  readonly from: string;
  readonly to: string;
}

function copy({ bootstrap, from, to }: Ends, options: Partial<KafkaSinkOptions<string>> = {}) {
  return job(`copy ${from}`, (env) => {
    env
      .fromSource(kafkaSource({ bootstrap, topics: from, value: text(), bounded: 'latest' }), {
        uid: 'in',
      })
      .sinkTo(kafkaSink({ bootstrap, topic: to, value: text(), ...options }))
      .uid('out');
  });
}

function logged({ events }: TestRun, level: 'info' | 'warn'): string {
  return events
    .flatMap((event) => (event.type === 'log' && event.level === level ? [event.message] : []))
    .join('\n');
}

brokerTest(
  "the banner shows the time budget with the broker's maximum, and short retention [R067]",
  async (broker) => {
    const cluster = clusterAt(broker);
    const ends = { bootstrap: broker.address, from: fresh('in'), to: fresh('out') };
    await createTopic(cluster, ends.from, 1, { 'retention.ms': '60000' });
    await createTopic(cluster, ends.to);
    await fill(cluster, ends.from, [['a', 'b']]);
    const long = {
      'execution.checkpointing.interval': 20_000,
      'execution.checkpointing.num-retained': 5,
    };
    const told = await run(copy(ends), { config: long });
    assert.match(
      logged(told, 'info'),
      /^ {13}900 s transaction ≤ 900 s transaction.max.timeout.ms ✓/m,
    );
    assert.match(
      logged(told, 'warn'),
      /kept is ≈ 100 s old, and in can be read again for 1 min \(retention.ms of topic in-/,
    );
    await cluster.close();
  },
);

brokerTest(
  "a time-out above the broker's maximum is refused before anything is begun (failure 9)",
  async (broker) => {
    const cluster = clusterAt(broker);
    const ends = { bootstrap: broker.address, from: fresh('in'), to: fresh('out') };
    for (const topic of [ends.from, ends.to]) await createTopic(cluster, topic);
    const events: string[] = [];
    const running = run(
      copy(ends, { transactionTimeoutMs: 3_600_000, transactionalIdPrefix: ends.to }),
      {
        onEvent: ({ type }) => void events.push(type),
      },
    );
    await assert.rejects(
      running,
      (error: unknown) =>
        isWeirError(error) &&
        /3600000 is above transaction.max.timeout.ms = 900000/.test(error.message) &&
        /checkpoint interval \+ checkpoint time-out \+ longest outage </.test(error.message),
    );
    assert.deepEqual(events, [], 'no run has started');
    assert.deepEqual(await openTransactions(cluster, ends.to), []);
    await cluster.close();
  },
);
