/**
 * `npm run demo:kafka`: starts Kafka, writes a million orders over four partitions, and runs Kafka
 * → keyed running totals → Kafka with two worker threads. The Weir process is killed three times,
 * each time after a checkpoint of that attempt, and once of these exactly between pre-commit and
 * commit: a proxy holds the commit back until the process is dead. Then Kafka's own consumer at
 * read_committed is held against a plain recount. Exit code 1 if anything was lost or doubled.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { realClock } from '../../packages/core/src/cluster/real-clock.ts';
import { tcpConnect } from '../../packages/kafka/src/client/broker-connection.ts';
import { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { openTransactions } from '../../packages/kafka/src/sink/recover-transactions.ts';
import { CREATE_TOPICS } from '../../packages/kafka/src/wire/metadata.ts';
import {
  completedCheckpoints,
  kill9,
  newCheckpoint,
  startWeir,
} from '../exactly-once/weir-process.ts';
import type { WeirProcess } from '../exactly-once/weir-process.ts';
import { startBroker } from '../kafka/broker.ts';
import type { Broker } from '../kafka/broker.ts';
import { consoleRead } from '../kafka/console-consumer.ts';
import { END_TXN_KEY, KafkaProxy } from '../kafka/proxy.ts';
import { compareTotals, writeOrders } from './orders.ts';

const ORDERS = 1_000_000;
const PARTITIONS = 4;
const KILLS = 3;
/** Short, so that also on a fast machine there is work left for the last kill. */
const INTERVAL = '200ms';
/** The kill that comes between pre-commit and commit. */
const PENDING_KILL = 2;
const WEIR = fileURLToPath(new URL('../../packages/core/bin/weir.js', import.meta.url));
const JOB = fileURLToPath(new URL('../../examples/kafka-running-totals.ts', import.meta.url));

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

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

function startJob(demo: Demo): WeirProcess {
  const { folder, dataDirectory } = demo;
  return startWeir({
    args: ['-p', '2', '-D', `execution.checkpointing.interval=${INTERVAL}`, ...jobWords(demo)],
    cwd: folder,
    dataDirectory,
    show: true,
  });
}

async function weirTx(demo: Demo, action: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [WEIR, 'tx', action, ...jobWords(demo)],
    { cwd: demo.folder, env: { ...process.env, WEIR_DATA_DIR: demo.dataDirectory } },
  );
  return stdout.trimEnd();
}

/** Kills after the next checkpoint; false when the job ended first. */
async function killAfterCheckpoint(demo: Demo, weir: WeirProcess): Promise<boolean> {
  const before = completedCheckpoints(demo.dataDirectory).at(-1) ?? 0;
  const checkpoint = await newCheckpoint(weir, demo.dataDirectory, before);
  if (checkpoint === null) return false;
  const delayMs = Math.round(Math.random() * 300);
  await sleep(delayMs);
  if (!(await kill9(weir))) return false;
  say(`demo: kill -9, ${delayMs} ms after checkpoint ${checkpoint}; starting again`);
  return true;
}

/** Kills when a checkpoint is complete and its commit is on the way and has not arrived. */
async function killBeforeCommit(demo: Demo, weir: WeirProcess): Promise<boolean> {
  const { proxy, dataDirectory } = demo;
  // What was pending before is committed while the job starts, so the first checkpoint must pass.
  const before = completedCheckpoints(dataDirectory).at(-1) ?? 0;
  if ((await newCheckpoint(weir, dataDirectory, before)) === null) return false;
  let isOver = false;
  void weir.ended.then(() => (isOver = true));
  let held = 0;
  proxy.verdict = (apiKey) => {
    if (apiKey !== END_TXN_KEY) return 'forward';
    held++;
    return 'hold';
  };
  while (held === 0 && !isOver) await sleep(1);
  if (!(await kill9(weir))) return false;
  const checkpoint = completedCheckpoints(dataDirectory).at(-1);
  proxy.verdict = () => 'forward';
  say(`demo: kill -9 between pre-commit and commit of checkpoint ${checkpoint}; weir tx explain:`);
  say(await weirTx(demo, 'explain'));
  return true;
}

async function runWithKills(demo: Demo): Promise<boolean> {
  let weir = startJob(demo);
  for (let kill = 1; kill <= KILLS; kill++) {
    const isKilled =
      kill === PENDING_KILL
        ? await killBeforeCommit(demo, weir)
        : await killAfterCheckpoint(demo, weir);
    if (!isKilled) {
      say(`demo: the job ended after ${kill - 1} of ${KILLS} kills`);
      return false;
    }
    weir = startJob(demo);
  }
  const { code } = await weir.ended;
  if (code !== 0) say(`demo: the last run ended with exit code ${code}`);
  return code === 0;
}

async function demo(world: Demo): Promise<boolean> {
  const { broker, cluster } = world;
  say(`demo: ${ORDERS.toLocaleString('en-US')} orders into ${PARTITIONS} partitions`);
  const topics = ['orders', 'totals'].map((name) => ({ name, partitions: PARTITIONS }));
  await cluster.retry(() => cluster.callAny(CREATE_TOPICS, topics));
  await writeOrders(cluster, 'orders', { count: ORDERS, partitions: PARTITIONS });
  if (!(await runWithKills(world))) return false;
  say("demo: reading the results with Kafka's console consumer, isolation.level=read_committed");
  const lines = await consoleRead(broker, { topic: 'totals', idleMs: 5000 });
  const { results, lost, duplicated, unexpected } = compareTotals(lines, ORDERS);
  const open = (await openTransactions(cluster, 'weir')).length;
  if (unexpected > 0) say(`demo: ${unexpected} results that should not exist`);
  say(
    `exactly-once: ${ORDERS} in, ${results} out, ${KILLS} kills, ${lost} lost, ` +
      `${duplicated} duplicated, ${open} open transactions`,
  );
  return lost === 0 && duplicated === 0 && unexpected === 0 && open === 0;
}

async function main(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-demo-kafka-'));
  const dataDirectory = join(folder, 'weir-data');
  mkdirSync(dataDirectory);
  say('demo: starting Apache Kafka (the first time its jars are fetched from Maven Central)');
  let proxied = 0;
  const proxy = await KafkaProxy.listen(() => ({ host: '127.0.0.1', port: proxied }));
  const broker = await startBroker({ proxyPort: proxy.port });
  if (typeof broker === 'string') {
    say(`demo: there is no Kafka broker: ${broker}`);
    await proxy.close();
    return false;
  }
  proxied = broker.proxiedPort;
  const cluster = new KafkaCluster({
    bootstrap: [{ host: broker.host, port: broker.port }],
    clock: realClock,
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
