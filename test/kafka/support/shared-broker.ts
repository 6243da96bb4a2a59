/**
 * The brokers that all tests of this folder share: one open, one with users and rights, one with
 * TLS and logins, started when the first test needs it and stopped at the end. Without Java and
 * Maven the tests are skipped loudly; in continuous integration (`CI=true`) that is a failure.
 */
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';
import { startBroker } from '../../../tools/kafka/broker.ts';
import type { Broker } from '../../../tools/kafka/broker.ts';
import { proxyBeforeKafka } from '../../../tools/kafka/proxy.ts';
import type { KafkaProxy } from '../../../tools/kafka/proxy.ts';

export type BrokerKind = 'open' | 'rights' | 'secure';

/** In front of the second listener of the open broker; forwards until a test says otherwise. */
let proxy: KafkaProxy | null = null;

export function sharedProxy(): KafkaProxy {
  if (proxy === null) throw new Error('only a broker that these tests start has a proxy');
  return proxy;
}

async function startKind(kind: BrokerKind): Promise<Broker | string> {
  if (kind === 'rights') return startBroker({ acl: true });
  if (kind === 'secure') return startBroker({ secure: true });
  if (process.env['WEIR_TEST_KAFKA'] !== undefined) return startBroker();
  let port = 0;
  proxy = await proxyBeforeKafka(() => ({ host: '127.0.0.1', port }));
  const broker = await startBroker({ proxyPort: proxy.port });
  if (typeof broker !== 'string') port = broker.proxiedPort;
  return broker;
}

const started = new Map<BrokerKind, Promise<Broker | string>>();
let names = 0;

after(async () => {
  for (const starting of started.values()) {
    const broker = await starting.catch(() => 'did not start');
    if (typeof broker !== 'string') await broker.stop();
  }
  await proxy?.close();
});

/** A name that no other test of this run uses, also on a broker that runs for long. */
export function fresh(name: string): string {
  return `${name}-${process.pid}-${Date.now().toString(36)}-${names++}`;
}

export function brokerTest(
  name: string,
  run: (broker: Broker, context: TestContext) => Promise<void>,
  kind: BrokerKind = 'open',
): void {
  void test(name, async (context) => {
    let starting = started.get(kind);
    if (starting === undefined) {
      starting = startKind(kind);
      started.set(kind, starting);
    }
    const broker = await starting;
    if (typeof broker !== 'string') return run(broker, context);
    const message = `there is no Kafka broker: ${broker}`;
    if (process.env['CI'] === 'true') throw new Error(message);
    context.skip(`NOT RUN: ${message}`);
  });
}
