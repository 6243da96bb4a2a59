/**
 * `npm run demo:postgres`: starts PostgreSQL, writes a million orders into files, and runs files →
 * keyed running totals → PostgreSQL with two worker threads. The Weir process is killed three
 * times, each time after a checkpoint of that attempt, and once of these exactly between PREPARE
 * and COMMIT PREPARED: a proxy holds the commit back until the process is dead. The database
 * crashes once in between. Then what psql shows is held against a plain recount. Exit code 1 if
 * anything was lost or doubled.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { compareTotals, ordersOf } from '../demo-kafka/orders.ts';
import { KILLS, nextCheckpoint, runWithKills, say } from '../exactly-once/kills.ts';
import type { KilledJob } from '../exactly-once/kills.ts';
import type { WeirProcess } from '../exactly-once/weir-process.ts';
import { proxyBeforePostgres } from '../postgres/proxy.ts';
import type { PostgresProxy } from '../postgres/proxy.ts';
import { startPostgres } from '../postgres/server.ts';
import type { PostgresServer } from '../postgres/server.ts';

const ORDERS = 1_000_000;
const FILES = 4;
const JOB = fileURLToPath(new URL('../../examples/postgres-running-totals.ts', import.meta.url));

interface Demo {
  readonly server: PostgresServer;
  readonly proxy: PostgresProxy;
  readonly folder: string;
  readonly dataDirectory: string;
}

/** All orders of an account are in one file, which is read from front to back. */
function writeOrders(folder: string): void {
  const texts = Array.from({ length: FILES }, (): string[] => []);
  for (const order of ordersOf(ORDERS)) {
    const file = Number(order.account.slice('account-'.length)) % FILES;
    texts[file]?.push(`${JSON.stringify(order)}\n`);
  }
  mkdirSync(join(folder, 'orders'));
  for (const [file, lines] of texts.entries())
    writeFileSync(join(folder, 'orders', `${file}.ndjson.gz`), gzipSync(lines.join('')));
}

function jobWords({ server, proxy }: Demo): string[] {
  const database = ['--database', server.urlAt(proxy.port), '--table', 'totals'];
  return [JOB, '--orders', 'orders/*.ndjson.gz', ...database];
}

function killedJob(demo: Demo): KilledJob<string> {
  const { folder, dataDirectory, proxy } = demo;
  return {
    folder,
    dataDirectory,
    proxy,
    options: ['-p', '2'],
    words: jobWords(demo),
    isCommit: (sql) => sql.startsWith('commit prepared'),
    afterPending: (weir) => crashDatabase(demo, weir),
  };
}

async function crashDatabase(demo: Demo, weir: WeirProcess): Promise<boolean> {
  const checkpoint = await nextCheckpoint(weir, demo.dataDirectory);
  if (checkpoint === null) {
    say('demo: the job ended before the database could crash');
    return false;
  }
  say(`demo: PostgreSQL crashes after checkpoint ${checkpoint} and starts again`);
  await demo.server.restart('immediate');
  return true;
}

async function demo(world: Demo): Promise<boolean> {
  const { server, folder } = world;
  say(`demo: ${ORDERS.toLocaleString('en-US')} orders in ${FILES} files`);
  writeOrders(folder);
  // No key: a row that is written twice would show.
  await server.psql('create table totals (account text, n integer, total bigint)');
  if (!(await runWithKills(killedJob(world)))) return false;
  say('demo: reading the rows with psql');
  const lines = await server.psql(
    "select account || chr(9) || json_build_object('account', account, 'n', n, 'total', total) " +
      'from totals',
  );
  const { results, lost, duplicated, unexpected } = compareTotals(lines.split('\n'), ORDERS);
  const prepared = Number(await server.psql('select count(*) from pg_prepared_xacts'));
  if (unexpected > 0) say(`demo: ${unexpected} rows that should not exist`);
  say(
    `exactly-once: ${ORDERS} in, ${results} out, ${KILLS} kills, 1 database crash, ${lost} lost, ` +
      `${duplicated} duplicated, ${prepared} prepared transactions left`,
  );
  return lost === 0 && duplicated === 0 && unexpected === 0 && prepared === 0;
}

async function main(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-demo-postgres-'));
  const dataDirectory = join(folder, 'weir-data');
  mkdirSync(dataDirectory);
  say('demo: starting PostgreSQL on a cluster of its own');
  const server = await startPostgres();
  if (typeof server === 'string' || !server.isOwn) {
    say(
      `demo: there is no PostgreSQL to crash: ${typeof server === 'string' ? server : server.url}`,
    );
    return false;
  }
  const proxy = await proxyBeforePostgres(() => ({ host: server.host, port: server.port }));
  try {
    return await demo({ server, proxy, folder, dataDirectory });
  } finally {
    await proxy.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = (await main()) ? 0 : 1;
