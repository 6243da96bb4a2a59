/**
 * `npm run demo:postgres`: starts PostgreSQL, writes a million orders into files, and runs files →
 * keyed running totals → PostgreSQL with two worker threads. The Weir process is killed three
 * times, each time after a checkpoint of that attempt, and once of these exactly between PREPARE
 * and COMMIT PREPARED: a proxy holds the commit back until the process is dead. The database
 * crashes once in between. Then what psql shows is held against a plain recount. Exit code 1 if
 * anything was lost or doubled.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { compareTotals, ordersOf } from '../demo-kafka/orders.ts';
import {
  completedCheckpoints,
  kill9,
  newCheckpoint,
  startWeir,
} from '../exactly-once/weir-process.ts';
import type { WeirProcess } from '../exactly-once/weir-process.ts';
import { PostgresProxy } from '../postgres/proxy.ts';
import { startPostgres } from '../postgres/server.ts';
import type { PostgresServer } from '../postgres/server.ts';

const ORDERS = 1_000_000;
const FILES = 4;
const KILLS = 3;
/** The kill that comes between PREPARE and COMMIT PREPARED. */
const PENDING_KILL = 2;
const WEIR = fileURLToPath(new URL('../../packages/core/bin/weir.js', import.meta.url));
const JOB = fileURLToPath(new URL('../../examples/postgres-running-totals.ts', import.meta.url));

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

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

function startJob(demo: Demo): WeirProcess {
  const { folder, dataDirectory } = demo;
  const args = ['-p', '2', ...jobWords(demo)];
  return startWeir({ args, cwd: folder, dataDirectory, show: true });
}

async function weirTx(demo: Demo, action: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [WEIR, 'tx', action, ...jobWords(demo)],
    { cwd: demo.folder, env: { ...process.env, WEIR_DATA_DIR: demo.dataDirectory } },
  );
  return stdout.trimEnd();
}

function newestCheckpoint({ dataDirectory }: Demo): number {
  return completedCheckpoints(dataDirectory).at(-1) ?? 0;
}

/** Kills after the next checkpoint; false when the job ended first. */
async function killAfterCheckpoint(demo: Demo, weir: WeirProcess): Promise<boolean> {
  const checkpoint = await newCheckpoint(weir, demo.dataDirectory, newestCheckpoint(demo));
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
  if ((await newCheckpoint(weir, dataDirectory, newestCheckpoint(demo))) === null) return false;
  let isOver = false;
  void weir.ended.then(() => (isOver = true));
  let held = 0;
  proxy.verdict = (sql) => {
    if (!sql.startsWith('commit prepared')) return 'forward';
    held++;
    return 'hold';
  };
  while (held === 0 && !isOver) await sleep(1);
  if (!(await kill9(weir))) return false;
  proxy.verdict = () => 'forward';
  const checkpoint = newestCheckpoint(demo);
  say(`demo: kill -9 between PREPARE and COMMIT of checkpoint ${checkpoint}; weir tx explain:`);
  say(await weirTx(demo, 'explain'));
  return true;
}

async function crashDatabase(demo: Demo, weir: WeirProcess): Promise<boolean> {
  const checkpoint = await newCheckpoint(weir, demo.dataDirectory, newestCheckpoint(demo));
  if (checkpoint === null) return false;
  say(`demo: PostgreSQL crashes after checkpoint ${checkpoint} and starts again`);
  await demo.server.restart('immediate');
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
    if (kill === PENDING_KILL && !(await crashDatabase(demo, weir))) {
      say('demo: the job ended before the database could crash');
      return false;
    }
  }
  const { code } = await weir.ended;
  if (code !== 0) say(`demo: the last run ended with exit code ${code}`);
  return code === 0;
}

async function demo(world: Demo): Promise<boolean> {
  const { server, folder } = world;
  say(`demo: ${ORDERS.toLocaleString('en-US')} orders in ${FILES} files`);
  writeOrders(folder);
  // No key: a row that is written twice would show.
  await server.psql('create table totals (account text, n integer, total bigint)');
  if (!(await runWithKills(world))) return false;
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
  const proxy = await PostgresProxy.listen(() => ({ host: server.host, port: server.port }));
  try {
    return await demo({ server, proxy, folder, dataDirectory });
  } finally {
    await proxy.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = (await main()) ? 0 : 1;
