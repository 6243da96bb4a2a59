/**
 * `npm run demo:kafka`: starts Kafka, writes a million orders over four partitions, and runs Kafka
 * → keyed running totals → Kafka with two worker threads. The Weir process is killed three times,
 * each time after a checkpoint of that attempt, and once of these exactly between pre-commit and
 * commit: a proxy holds the commit back until the process is dead. Then Kafka's own consumer at
 * read_committed is held against a plain recount. Exit code 1 if anything was lost or doubled.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realClock } from '../../packages/core/src/cluster/real-clock.ts';
import { tcpConnect } from '../../packages/kafka/src/client/broker-connection.ts';
import { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { openTransactions } from '../../packages/kafka/src/sink/recover-transactions.ts';
import { CREATE_TOPICS } from '../../packages/kafka/src/wire/metadata.ts';
import { KILLS, runWithKills, say } from '../exactly-once/kills.ts';
import type { KilledJob } from '../exactly-once/kills.ts';
import { startBroker } from '../kafka/broker.ts';
import type { Broker } from '../kafka/broker.ts';
import { consoleRead } from '../kafka/console-consumer.ts';
import { END_TXN_KEY, proxyBeforeKafka } from '../kafka/proxy.ts';
import type { KafkaProxy } from '../kafka/proxy.ts';
import { compareTotals, writeOrders } from './orders.ts';

const ORDERS = 1_000_000;
const PARTITIONS = 4;
/** Short, so that also on a fast machine there is work left for the last kill. */
const INTERVAL = '200ms';
const JOB = fileURLToPath(new URL('../../examples/kafka-running-totals.ts', import.meta.url));

interface Demo {
  readonly broker: Broker;
  readonly proxy: KafkaProxy;
  readonly cluster: KafkaCluster;
  readonly dataDirectory: string;
  readonly folder: string;
}

function jobWords({ proxy }: Demo): string[] {
  const topics = ['--orders', 'orders', '--totals', 'totals', '--until-end'];
  return [JOB, '--bootstrap', `127.0.0.1:${proxy.port}`, ...topics];
}

function killedJob(demo: Demo): KilledJob<number> {
  const { folder, dataDirectory, proxy } = demo;
  const options = ['-p', '2', '-D', `execution.checkpointing.interval=${INTERVAL}`];
  const isCommit = (apiKey: number): boolean => apiKey === END_TXN_KEY;
  return { folder, dataDirectory, proxy, options, words: jobWords(demo), isCommit };
}

async function demo(world: Demo): Promise<boolean> {
  const { broker, cluster } = world;
  say(`demo: ${ORDERS.toLocaleString('en-US')} orders into ${PARTITIONS} partitions`);
  const topics = ['orders', 'totals'].map((name) => ({ name, partitions: PARTITIONS }));
  await cluster.retry(() => cluster.callAny(CREATE_TOPICS, topics));
  await writeOrders(cluster, 'orders', { count: ORDERS, partitions: PARTITIONS });
  if (!(await runWithKills(killedJob(world)))) return false;
  say("demo: reading the results with Kafka's console consumer, isolation.level=read_committed");
  const lines = await consoleRead(broker, { topic: 'totals', idleMs: 5000 });
  const { results, lost, duplicated, ...others } = compareTotals(lines, ORDERS);
  const open = (await openTransactions(cluster, 'weir')).length;
  const { unexpected, misplaced } = others;
  if (unexpected > 0) say(`demo: ${unexpected} results that should not exist`);
  if (misplaced > 0) say(`demo: ${misplaced} results stand behind a newer one of their account`);
  say(
    `exactly-once: ${ORDERS} in, ${results} out, ${KILLS} kills, ${lost} lost, ` +
      `${duplicated} duplicated, ${open} open transactions`,
  );
  return [lost, duplicated, unexpected, misplaced, open].every((count) => count === 0);
}

async function main(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-demo-kafka-'));
  const dataDirectory = join(folder, 'weir-data');
  mkdirSync(dataDirectory);
  say('demo: starting Apache Kafka (the first time its jars are fetched from Maven Central)');
  let proxied = 0;
  const proxy = await proxyBeforeKafka(() => ({ host: '127.0.0.1', port: proxied }));
  const broker = await startBroker({ proxyPort: proxy.port });
  if (typeof broker === 'string') {
    say(`demo: there is no Kafka broker: ${broker}`);
    await proxy.close();
    return false;
  }
  proxied = broker.proxiedPort;
  const cluster = new KafkaCluster({
    bootstrap: [{ host: broker.host, port: broker.port }],
    environment: { clock: realClock, logger: { log: () => undefined } },
    name: 'demo',
    code: 'SINK_UNAVAILABLE',
    retryForMs: 30_000,
    connect: tcpConnect({ clientId: 'demo', connectTimeoutMs: 5000, requestTimeoutMs: 30_000 }),
  });
  try {
    return await demo({ broker, proxy, cluster, dataDirectory, folder });
  } finally {
    await cluster.close();
    await proxy.close();
    await broker.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = (await main()) ? 0 : 1;
