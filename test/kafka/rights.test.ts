/** Rights on a real broker: those the guide names are enough, and each one missing is named. */
import assert from 'node:assert/strict';
import { job } from '@weir/core';
import { kafkaSink, kafkaSource, text } from '@weir/kafka';
import type { Broker } from '../../tools/kafka/broker.ts';
import { ADMIN, LIMITED } from '../../tools/kafka/broker-properties.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { fill, numbers, run } from './support/jobs.ts';
import { readCommitted } from './support/read-back.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

const ADMIN_LOGIN = { sasl: { mechanism: 'PLAIN', ...ADMIN } } as const;
const LOGIN = { sasl: { mechanism: 'PLAIN', ...LIMITED } } as const;

interface Names {
  readonly from: string;
  readonly to: string;
  readonly group: string;
  readonly prefix: string;
}

function copy(broker: Broker, { from, to, group, prefix }: Names) {
  const base = { bootstrap: broker.address, value: text(), retryForMs: 2000, ...LOGIN } as const;
  return job(`copy ${from}`, (env) => {
    env
      .fromSource(kafkaSource({ ...base, topics: from, bounded: 'latest', groupId: group }), {
        uid: 'in',
      })
      .sinkTo(kafkaSink({ ...base, topic: to, transactionalIdPrefix: prefix }))
      .uid('out');
  });
}

function grant(broker: Broker, rights: string): Promise<string> {
  const options = `--bootstrap-server ${broker.address} --add --allow-principal User:`;
  const args = `${options}${LIMITED.username} ${rights}`.split(' ');
  return broker.tool('org.apache.kafka.tools.AclCommand', args);
}

/** The message of a failed run and its causes. */
async function refusal(running: Promise<unknown>): Promise<string> {
  try {
    await running;
  } catch (error) {
    const messages: string[] = [];
    for (let next = error; next instanceof Error; next = next.cause) messages.push(next.message);
    return messages.join(' | ');
  }
  return assert.fail('the job did not fail');
}

brokerTest(
  'the rights that the guide names are enough, and each one missing is named',
  async (broker) => {
    const cluster = clusterAt(broker, ADMIN_LOGIN);
    const names = { from: fresh('in'), to: fresh('out'), group: fresh('g'), prefix: fresh('tx') };
    for (const topic of [names.from, names.to]) await createTopic(cluster, topic);
    await fill(cluster, names.from, [numbers(0, 100)]);
    const attempt = (): Promise<unknown> =>
      run(copy(broker, names), { config: { 'restart-strategy.type': 'none' } });

    assert.match(await refusal(attempt()), /TOPIC_AUTHORIZATION_FAILED \(29\).*right for it/);
    const read = '--operation Read --operation Describe';
    await grant(broker, `${read} --topic ${names.from} --group ${names.group}`);
    const write = '--operation Write --operation Describe';
    await grant(broker, `${write} --topic ${names.to}`);
    const noId = await refusal(attempt());
    assert.match(noId, /TRANSACTIONAL_ID_AUTHORIZATION_FAILED \(53\).*right for it/);
    assert.match(noId, new RegExp(`coordinator of ${names.prefix}-`));
    const ids = `--transactional-id ${names.prefix} --resource-pattern-type prefixed`;
    await grant(broker, `${write} ${ids}`);
    await attempt();
    assert.equal((await readCommitted(broker, cluster, names.to)).length, 100);
    await cluster.close();
  },
  'rights',
);
