/**
 * A real PostgreSQL for tests, benchmarks and the demo: `startPostgres` makes a cluster of its own
 * in a folder of its own and runs it on a free loopback port, as an unprivileged user, since
 * PostgreSQL refuses to run as root. `WEIR_TEST_POSTGRES=postgres://user@host:port/database` uses
 * one that runs. Whoever starts a server stops it; it also ends when the process that started it
 * does.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort, unprivilegedAccount } from '../exactly-once/own-server.ts';
import type { Account } from '../exactly-once/own-server.ts';
import { postgresPrograms, psqlProgram } from './binaries.ts';
import type { PostgresPrograms } from './binaries.ts';

const run = promisify(execFile);

const START_LIMIT_MS = 60_000;
/** What lets a small machine run several clusters; everything a client may notice is a default. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  max_prepared_transactions: '64',
  shared_buffers: '64MB',
  max_wal_size: '1GB',
};

/** `immediate` is a crash: the server recovers when it starts again. */
export type StopMode = 'fast' | 'immediate';

export interface PostgresServer {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly url: string;
  /** Whether this process started it, and so can stop and restart it. */
  readonly isOwn: boolean;
  /** The same database through another port: a proxy. */
  urlAt(port: number): string;
  /** Runs statements with psql and answers what it prints: unaligned, without headings. */
  psql(sql: string): Promise<string>;
  halt(mode?: StopMode): Promise<void>;
  start(): Promise<void>;
  restart(mode?: StopMode): Promise<void>;
  stop(): Promise<void>;
}

/** The server, or the reason why there is none. `settings` as in postgresql.conf. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer | string> {
  const running = process.env['WEIR_TEST_POSTGRES'];
  if (running !== undefined && Object.keys(settings).length === 0) {
    const psql = psqlProgram();
    return psql === null ? 'psql was not found' : new RunningServer(running, psql);
  }
  const programs = postgresPrograms();
  if (typeof programs === 'string') return programs;
  const account = unprivilegedAccount('postgres');
  if (account === null)
    return 'PostgreSQL refuses to run as root, and there is no user postgres or nobody';
  const server = new OwnServer(programs, account, { ...SETTINGS, ...settings });
  await server.create();
  await server.start();
  return server;
}

class RunningServer implements PostgresServer {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly url: string;
  readonly isOwn = false;
  readonly #psql: string;

  constructor(url: string, psql: string) {
    const parsed = new URL(url);
    this.url = url;
    this.host = parsed.hostname;
    this.port = Number(parsed.port || 5432);
    this.user = parsed.username;
    this.database = parsed.pathname.slice(1);
    this.#psql = psql;
  }

  urlAt(port: number): string {
    const url = new URL(this.url);
    url.hostname = '127.0.0.1';
    url.port = String(port);
    return url.href;
  }

  psql(sql: string): Promise<string> {
    return runPsql(this.#psql, this.url, sql);
  }

  halt(): Promise<void> {
    return Promise.reject(new Error(`the server at ${this.host}:${this.port} is not ours`));
  }

  start(): Promise<void> {
    return this.halt();
  }

  restart(): Promise<void> {
    return this.halt();
  }

  async stop(): Promise<void> {
    // It goes on running for whoever started it.
  }
}

class OwnServer implements PostgresServer {
  readonly host = '127.0.0.1';
  readonly user = 'weir';
  readonly database = 'postgres';
  readonly isOwn = true;
  port = 0;
  readonly #programs: PostgresPrograms;
  readonly #account: Account;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'weir-postgres-'));
  #child: ChildProcess | null = null;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(
    programs: PostgresPrograms,
    account: Account,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#programs = programs;
    this.#account = account;
    this.#settings = settings;
  }

  get url(): string {
    return this.urlAt(this.port);
  }

  urlAt(port: number): string {
    return `postgres://${this.user}@${this.host}:${port}/${this.database}`;
  }

  async create(): Promise<void> {
    this.port = await freePort();
    const { ids } = this.#account;
    chmodSync(this.#folder, 0o700);
    if (ids !== null) chownSync(this.#folder, ids.uid, ids.gid);
    const args = ['-D', this.#data, '-U', this.user, '--auth=trust', '--encoding=UTF8'];
    await run(this.#programs.initdb, [...args, '--locale=C', '--no-sync'], this.#as());
  }

  async start(): Promise<void> {
    const settings = { ...this.#settings, unix_socket_directories: this.#folder };
    const options = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    const log = openSync(this.#log, 'a');
    const child = spawn(
      this.#programs.postgres,
      ['-D', this.#data, '-p', String(this.port), ...options],
      { ...this.#as(), stdio: ['ignore', log, log] },
    );
    this.#child = child;
    const atExit = (): boolean => child.kill('SIGQUIT');
    process.once('exit', atExit);
    this.#ended = new Promise((resolve) => child.on('close', resolve)).then(() =>
      process.removeListener('exit', atExit),
    );
    const limit = Date.now() + START_LIMIT_MS;
    for (;;) {
      const isUp = await this.psql('select 1').then(
        () => true,
        () => false,
      );
      if (isUp) return;
      if (child.exitCode !== null || Date.now() > limit) {
        child.kill('SIGQUIT');
        const tail = readFileSync(this.#log, 'utf8').slice(-2000);
        throw new Error(`PostgreSQL did not start on port ${this.port}:\n${tail}`);
      }
      await sleep(50);
    }
  }

  psql(sql: string): Promise<string> {
    return runPsql(this.#programs.psql, this.url, sql);
  }

  async halt(mode: StopMode = 'immediate'): Promise<void> {
    this.#child?.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await this.#ended;
  }

  async restart(mode: StopMode = 'immediate'): Promise<void> {
    await this.halt(mode);
    await this.start();
  }

  async stop(): Promise<void> {
    await this.halt('immediate');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  get #log(): string {
    return join(this.#folder, 'server.log');
  }

  #as(): { readonly uid?: number; readonly gid?: number; readonly cwd: string } {
    return { ...this.#account.ids, cwd: this.#folder };
  }
}

async function runPsql(psql: string, url: string, sql: string): Promise<string> {
  const args = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', sql];
  const { stdout } = await run(psql, args, { maxBuffer: 1 << 30 });
  return stdout.trimEnd();
}
