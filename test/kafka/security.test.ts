/** TLS and SASL on a real broker: what is right works end to end, what is wrong is named. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isWeirError, job } from '@weir/core';
import { kafkaSink, kafkaSource, text } from '@weir/kafka';
import type { KafkaConnectionOptions, Security } from '@weir/kafka';
import type { Broker } from '../../tools/kafka/broker.ts';
import { LIMITED, LOGIN_HOLDS_MS } from '../../tools/kafka/broker-properties.ts';
import { STORE_PASSWORD } from '../../tools/kafka/certificates.ts';
import { KafkaError } from '../../packages/kafka/src/client/kafka-errors.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { fill, numbers, run } from './support/jobs.ts';
import { readCommitted } from './support/read-back.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'] as const;
type Mechanism = (typeof MECHANISMS)[number];
type Listener = 'tls' | 'tlsLogin' | 'login';

function placeOf(broker: Broker, listener: Listener): { host: string; port: number } {
  if (broker.secure === null) throw new Error('the broker has no such listener');
  return { host: 'localhost', port: broker.secure.ports[listener] };
}

function tlsOf(broker: Broker): NonNullable<Security['tls']> {
  return { ca: readFileSync(broker.secure?.certificates.brokerPem ?? '') };
}

/** With the certificate of the client. */
function mutualTlsOf(broker: Broker): NonNullable<Security['tls']> {
  const pfx = readFileSync(broker.secure?.certificates.clientStore ?? '');
  return { ...tlsOf(broker), pfx, passphrase: STORE_PASSWORD };
}

/** A token that nobody signed: what a broker without a provider of identities accepts. */
function unsignedToken(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  return `${part({ alg: 'none' })}.${part({ sub: 'weir', iat: now, exp: now + 600 })}.`;
}

function loginOf(mechanism: Mechanism, password: string = LIMITED.password): Security {
  if (mechanism === 'OAUTHBEARER') return { sasl: { mechanism, token: unsignedToken } };
  return { sasl: { mechanism, username: LIMITED.username, password } };
}

/** Copies a topic within the cluster, exactly-once, over the given listener. */
async function copies(broker: Broker, listener: Listener, security: Security): Promise<void> {
  const cluster = clusterAt(broker);
  const [from, to] = [fresh('in'), fresh('out')];
  for (const topic of [from, to]) await createTopic(cluster, topic);
  await fill(cluster, from, [numbers(0, 500)]);
  const { host, port } = placeOf(broker, listener);
  const base = { bootstrap: `${host}:${port}`, value: text(), ...security };
  const { outcome } = await run(
    job(`copy ${from}`, (env) => {
      env
        .fromSource(kafkaSource({ ...base, topics: from, bounded: 'latest' }), { uid: 'in' })
        .sinkTo(kafkaSink({ ...base, topic: to }))
        .uid('out');
    }),
  );
  assert.equal(outcome.status, 'FINISHED');
  assert.equal((await readCommitted(broker, cluster, to)).length, 500);
  await cluster.close();
}

/** What a job is told that cannot reach the broker: the kind and message of its failure. */
async function refusal(
  broker: Broker,
  listener: Listener,
  security: Security,
): Promise<{ readonly kind: string; readonly text: string }> {
  const { host, port } = placeOf(broker, listener);
  const options: Omit<KafkaConnectionOptions, 'bootstrap'> = { retryForMs: 500, ...security };
  const work = job('refused', (env) => {
    env
      .fromSource(
        kafkaSource({ bootstrap: `${host}:${port}`, topics: 'any', value: text(), ...options }),
        { uid: 'in' },
      )
      .forEach(() => undefined);
  });
  try {
    await run(work, { config: { 'restart-strategy.type': 'none' } });
  } catch (error) {
    assert.ok(isWeirError(error), String(error));
    const messages: string[] = [];
    let innermost = error;
    for (let next: unknown = error; isWeirError(next); next = next.cause) {
      messages.push(next.message);
      innermost = next;
    }
    return { kind: innermost.kind, text: messages.join(' | ') };
  }
  return assert.fail('the job did not fail');
}

brokerTest(
  'a job works over TLS with certificates on both sides',
  (broker) => copies(broker, 'tls', { tls: mutualTlsOf(broker) }),
  'secure',
);

for (const mechanism of MECHANISMS) {
  brokerTest(
    `a job works with ${mechanism} over TLS`,
    (broker) => copies(broker, 'tlsLogin', { tls: tlsOf(broker), ...loginOf(mechanism) }),
    'secure',
  );
  brokerTest(
    `a job works with ${mechanism} without TLS`,
    (broker) => copies(broker, 'login', loginOf(mechanism)),
    'secure',
  );
}

for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const)
  brokerTest(
    `a wrong password with ${mechanism} ends the job at once and names sasl`,
    async (broker) => {
      const wrong = { tls: tlsOf(broker), ...loginOf(mechanism, 'no') };
      const { kind, text: message } = await refusal(broker, 'tlsLogin', wrong);
      assert.match(message, /refuses the credentials: .*check `sasl`/);
      assert.equal(kind, 'user');
    },
    'secure',
  );

brokerTest(
  'a login that the listener does not offer ends the job and names sasl',
  async (broker) => {
    const { kind, text: message } = await refusal(broker, 'tls', {
      tls: mutualTlsOf(broker),
      ...loginOf('PLAIN'),
    });
    assert.match(message, /refuses the credentials: .*check `sasl`/);
    assert.equal(kind, 'user');
  },
  'secure',
);

brokerTest(
  'a certificate that nobody vouches for ends the job and names tls',
  async (broker) => {
    const security = { tls: {}, ...loginOf('PLAIN') };
    const { kind, text: message } = await refusal(broker, 'tlsLogin', security);
    assert.match(message, /self-signed certificate.*check `tls`/);
    assert.equal(kind, 'user');
  },
  'secure',
);

brokerTest(
  'TLS left out, a login left out, a certificate left out: the message leads there',
  async (broker) => {
    const noTls = await refusal(broker, 'tlsLogin', loginOf('PLAIN'));
    assert.match(noTls.text, /ended the connection before its first answer: .* TLS \(`tls`\)/);
    const noLogin = await refusal(broker, 'tlsLogin', { tls: tlsOf(broker) });
    assert.match(noLogin.text, /before its first answer: it may ask for a login \(`sasl`\)/);
    const noCertificate = await refusal(broker, 'tls', { tls: tlsOf(broker) });
    assert.match(noCertificate.text, /certificate.*check `tls`/);
    assert.equal(noCertificate.kind, 'user');
    const needlessTls = await refusal(broker, 'login', { tls: {}, ...loginOf('PLAIN') });
    assert.match(needlessTls.text, /TLS|SSL/);
  },
  'secure',
);

brokerTest(
  'a broker that goes away while a client logs in is away, and refused nobody',
  async (broker) => {
    const { port } = placeOf(broker, 'login');
    // Cuts the connection after the broker's first answer, in the middle of the login.
    const server = createServer((client) => {
      const upstream = connect(port, '127.0.0.1');
      client.pipe(upstream);
      upstream.on('error', () => client.destroy());
      client.on('error', () => upstream.destroy());
      upstream.once('data', (bytes: Buffer) => {
        client.end(bytes, () => client.destroy());
        upstream.destroy();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') return assert.fail('no port');
    const cluster = clusterAt(
      { ...broker, host: '127.0.0.1', port: address.port },
      loginOf('PLAIN'),
    );
    await assert.rejects(
      cluster.metadata([]),
      (error: unknown) => error instanceof KafkaError && error.isTransient,
    );
    await cluster.close();
    await new Promise((resolve) => server.close(resolve));
  },
  'secure',
);

brokerTest(
  'a login that must be renewed again and again disturbs nothing and leaks no connection',
  async (broker) => {
    const cluster = clusterAt({ ...broker, ...placeOf(broker, 'login') }, loginOf('SCRAM-SHA-256'));
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    await cluster.metadata([]);
    const before = sockets();
    const until = Date.now() + 4 * LOGIN_HOLDS_MS;
    let answers = 0;
    for (; Date.now() < until; answers++) {
      await cluster.retry(() => cluster.metadata([]));
      await sleep(20);
    }
    await sleep(100);
    assert.ok(sockets() <= before, `${before} connections became ${sockets()}`);
    assert.ok(answers > 50);
    await cluster.close();
  },
  'secure',
);
