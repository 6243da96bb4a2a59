/**
 * The brokers that all tests of this folder share: one open, one with users and rights, started
 * when the first test needs it and stopped at the end. Without Java and Maven the tests are skipped
 * loudly; in continuous integration (`CI=true`) that is a failure.
 */
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';
import { startBroker } from '../../../tools/kafka/broker.ts';
import type { Broker } from '../../../tools/kafka/broker.ts';

export type BrokerKind = 'open' | 'rights';

const started = new Map<BrokerKind, Promise<Broker | string>>();
let names = 0;

after(async () => {
  for (const starting of started.values()) {
    const broker = await starting.catch(() => 'did not start');
    if (typeof broker !== 'string') await broker.stop();
  }
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
      starting = startBroker(kind === 'rights' ? { acl: true } : {});
      started.set(kind, starting);
    }
    const broker = await starting;
    if (typeof broker !== 'string') return run(broker, context);
    const message = `NOT RUN, there is no Kafka broker (${broker}): ${name}`;
    if (process.env['CI'] === 'true') throw new Error(message);
    process.stderr.write(`${message}\n`);
    context.skip(message);
  });
}
