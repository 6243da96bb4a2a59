/** What users get wrong, and brokers that go away: each ends clearly, and nothing is lost. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { isWeirError, job } from '@weir/core';
import type { WeirError } from '@weir/core';
import { json, kafkaSink, kafkaSource, MalformedRecord, text } from '@weir/kafka';
import type { KafkaSinkOptions, KafkaSourceOptions } from '@weir/kafka';
import { ADMIN, LIMITED } from '../../tools/kafka/broker-properties.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { fill, numbers, run } from './support/jobs.ts';
import { readCommitted } from './support/read-back.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

const IMPATIENT = { retryForMs: 1500, connectTimeoutMs: 1000 } as const;
const NO_RESTART = { config: { 'restart-strategy.type': 'none' } } as const;

interface Ends {
  readonly source: Partial<KafkaSourceOptions<string>>;
  readonly sink: Partial<KafkaSinkOptions<string>>;
}

function copy(bootstrap: string, { source, sink }: Ends) {
  const base = { bootstrap, value: text(), ...IMPATIENT };
  return job('copy', (env) => {
    env
      .fromSource(
        kafkaSource<string>({ ...base, topics: 'missing', bounded: 'latest', ...source }),
        { uid: 'in' },
      )
      .sinkTo(kafkaSink<string>({ ...base, topic: 'missing', ...sink }))
      .uid('out');
  });
}

async function failureOf(running: Promise<unknown>): Promise<WeirError> {
  try {
    await running;
  } catch (error) {
    assert.ok(isWeirError(error), String(error));
    return error;
  }
  return assert.fail('the job did not fail');
}

/** The message of an error and its causes. */
function told(error: WeirError): string {
  const messages: string[] = [];
  for (let next: unknown = error; next instanceof Error; next = next.cause)
    messages.push(next.message);
  return messages.join(' | ');
}

brokerTest('a broker that is down at the start ends the job after the restarts', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const error = await failureOf(
    run(copy(`127.0.0.1:${port}`, { source: {}, sink: {} }), {
      config: {
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': 1,
        'restart-strategy.fixed-delay.delay': 10,
      },
    }),
  );
  assert.match(told(error), /does not answer: connect ECONNREFUSED/);
});

brokerTest(
  'a topic that does not exist is named, whatever the restart strategy',
  async (broker) => {
    const cluster = clusterAt(broker);
    const topic = fresh('in');
    await createTopic(cluster, topic);
    const noSource = copy(broker.address, { source: { topics: 'nowhere' }, sink: { topic } });
    assert.match(told(await failureOf(run(noSource))), /Kafka has no topic nowhere; create it/);
    const noSink = copy(broker.address, { source: { topics: topic }, sink: { topic: 'nowhere' } });
    assert.match(told(await failureOf(run(noSink))), /Kafka has no topic nowhere; create it/);
    await cluster.close();
  },
);

brokerTest(
  "a transaction time-out above the broker's maximum names both values",
  async (broker) => {
    const cluster = clusterAt(broker);
    const topic = fresh('in');
    await createTopic(cluster, topic);
    const error = await failureOf(
      run(
        copy(broker.address, {
          source: { topics: topic },
          sink: { topic, transactionTimeoutMs: 3_600_000 },
        }),
      ),
    );
    assert.match(told(error), /3600000 is above transaction.max.timeout.ms = 900000 of the broker/);
    await cluster.close();
  },
);

brokerTest('a record above the limit of the topic is an error that says so', async (broker) => {
  const cluster = clusterAt(broker);
  const [from, to] = [fresh('in'), fresh('out')];
  await createTopic(cluster, from);
  await createTopic(cluster, to, 1, { 'max.message.bytes': '10000' });
  await fill(cluster, from, [['x'.repeat(20_000)]]);
  const error = await failureOf(
    run(copy(broker.address, { source: { topics: from }, sink: { topic: to } }), NO_RESTART),
  );
  assert.match(told(error), /to write to .*\/0: a batch of \d+ bytes is above .*max.message.bytes/);
  await cluster.close();
});

brokerTest(
  'wrong credentials and missing rights are named, and no restart is tried',
  async (broker) => {
    const admin = { sasl: { mechanism: 'PLAIN', ...ADMIN } } as const;
    const cluster = clusterAt(broker, admin);
    const topic = fresh('secret');
    await createTopic(cluster, topic);
    const wrong = { sasl: { mechanism: 'PLAIN', username: 'weir', password: 'no' } } as const;
    const refused = copy(broker.address, {
      source: { topics: topic, ...wrong },
      sink: { topic, ...wrong },
    });
    assert.match(told(await failureOf(run(refused))), /refuses the credentials/);
    const limited = { sasl: { mechanism: 'PLAIN', ...LIMITED } } as const;
    const denied = copy(broker.address, {
      source: { topics: topic, ...limited },
      sink: { topic, ...limited },
    });
    assert.match(told(await failureOf(run(denied))), /AUTHORIZATION_FAILED|no topic/);
    await cluster.close();
  },
  'rights',
);

brokerTest(
  'poison records end in the dead-letter topic, once, and the rest is written',
  async (broker) => {
    const cluster = clusterAt(broker);
    const [from, to, dead] = [fresh('in'), fresh('out'), fresh('dead')];
    for (const name of [from, to, dead]) await createTopic(cluster, name);
    await fill(cluster, from, [['{"n":1}', 'x', '{"n":3}', '{', '{"n":5}']]);
    let failures = 2;
    const work = job('poison', (env) => {
      env
        .fromSource(
          kafkaSource<{ n: number }>({
            bootstrap: broker.address,
            topics: from,
            value: json(),
            bounded: 'latest',
            onMalformed: 'emit',
          }),
          { uid: 'in' },
        )
        .map((value) => {
          if (!(value instanceof MalformedRecord) && value.n === 5 && failures-- > 0)
            throw new Error('planted');
          return value;
        })
        .sinkTo(
          kafkaSink({
            bootstrap: broker.address,
            topic: to,
            value: json<{ n: number } | MalformedRecord>(),
            deadLetter: { topic: dead },
          }),
        )
        .uid('out');
    });
    await run(work);
    const values = await readCommitted(broker, cluster, to);
    assert.deepEqual(values, ['null\t{"n":1}', 'null\t{"n":3}', 'null\t{"n":5}']);
    assert.deepEqual(await readCommitted(broker, cluster, dead), ['null\tx', 'null\t{']);
    await cluster.close();
  },
);

brokerTest('two jobs with one transactional prefix do not disturb each other', async (broker) => {
  const cluster = clusterAt(broker);
  const [from, one, two] = [fresh('in'), fresh('one'), fresh('two')];
  for (const name of [from, one, two]) await createTopic(cluster, name);
  await fill(cluster, from, [numbers(0, 3000)]);
  const jobTo = (topic: string) =>
    copy(broker.address, {
      source: { topics: from },
      sink: { topic, transactionalIdPrefix: 'shared' },
    });
  await Promise.all([run(jobTo(one)), run(jobTo(two))]);
  for (const topic of [one, two])
    assert.equal((await readCommitted(broker, cluster, topic)).length, 3000);
  await cluster.close();
});

brokerTest(
  'a broker killed in mid-run costs nothing: what was committed is exact',
  async (broker) => {
    if (!broker.isOwn) return;
    const cluster = clusterAt(broker);
    const [from, to] = [fresh('in'), fresh('out')];
    for (const name of [from, to]) await createTopic(cluster, name, 2);
    await fill(cluster, from, [numbers(0, 4000), numbers(4000, 8000)]);
    const restarting: Promise<void>[] = [];
    const work = job('broker-killed', (env) => {
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
        .sinkTo(kafkaSink({ bootstrap: broker.address, topic: to, value: text() }))
        .uid('out');
    });
    const running = run(work, {
      onEvent: (event) => {
        if (event.type === 'checkpointCompleted' && restarting.length === 0)
          restarting.push(broker.restart('SIGKILL'));
      },
    });
    assert.equal((await running).outcome.status, 'FINISHED');
    await Promise.all(restarting);
    const lines = await readCommitted(broker, cluster, to);
    const values = lines.map((line) => Number(line.split('\t')[1])).toSorted((a, b) => a - b);
    assert.deepEqual(values, numbers(0, 8000).map(Number));
    await cluster.close();
  },
);
