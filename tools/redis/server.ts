/**
 * A real Redis for tests and benchmarks: `startRedis` runs one of its own in a folder of its own,
 * on a free loopback port, as an unprivileged user. `WEIR_TEST_REDIS=host:port` uses one that runs.
 * Whoever starts a server stops it; it also ends when the process that started it does.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort, unprivilegedAccount } from '../exactly-once/own-server.ts';
import type { Account } from '../exactly-once/own-server.ts';

const run = promisify(execFile);

const START_LIMIT_MS = 20_000;
/**
 * What it acknowledged has been handed to the system: a kill of the server loses nothing. With
 * `everysec` it could, since a write is put off for up to two seconds while a sync is under way.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'no',
  save: '',
};

export interface RedisServer {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** Whether this process started it, and so can stop and restart it. */
  readonly isOwn: boolean;
  /** A command by `redis-cli`; its answer without quotes or numbers, a line for each element. */
  cli(...words: readonly string[]): Promise<string>;
  /** A kill, as by the power cut of one process. */
  halt(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The server, or the reason why there is none. `settings` as in redis.conf. */
export async function startRedis(
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisServer | string> {
  const running = process.env['WEIR_TEST_REDIS'];
  const client = program('redis-cli');
  if (client === null) return 'redis-cli was not found; install redis-tools';
  if (running !== undefined && Object.keys(settings).length === 0)
    return new RunningServer(running, client);
  const server = program('redis-server');
  if (server === null)
    return (
      'neither redis-server nor WEIR_TEST_REDIS were found; install Redis ' +
      '(Debian: apt-get install redis-server)'
    );
  const account = unprivilegedAccount('redis');
  if (account === null) return 'there is no user redis or nobody to run a server';
  const own = new OwnServer({ client, server }, account, { ...SETTINGS, ...settings });
  await own.start();
  return own;
}

function program(name: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((it) => it !== '');
  const paths = [...folders, '/usr/bin', '/usr/local/bin'].map((folder) => join(folder, name));
  return paths.find(runs) ?? null;
}

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

class RunningServer implements RedisServer {
  readonly host: string;
  readonly port: number;
  readonly isOwn = false;
  readonly #client: string;

  constructor(place: string, client: string) {
    const { hostname, port } = new URL(`redis://${place}`);
    this.host = hostname;
    this.port = Number(port || 6379);
    this.#client = client;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  cli(...words: readonly string[]): Promise<string> {
    return runClient(this.#client, this, words);
  }

  halt(): Promise<void> {
    return Promise.reject(new Error(`the server at ${this.host}:${this.port} is not ours`));
  }

  start(): Promise<void> {
    return this.halt();
  }

  async stop(): Promise<void> {
    // It goes on running for whoever started it.
  }
}

class OwnServer implements RedisServer {
  readonly host = '127.0.0.1';
  readonly isOwn = true;
  port = 0;
  readonly #programs: { readonly client: string; readonly server: string };
  readonly #account: Account;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'weir-redis-'));
  #child: ChildProcess | null = null;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(
    programs: { readonly client: string; readonly server: string },
    account: Account,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#programs = programs;
    this.#account = account;
    this.#settings = settings;
    chmodSync(this.#folder, 0o700);
    if (account.ids !== null) chownSync(this.#folder, account.ids.uid, account.ids.gid);
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  async start(): Promise<void> {
    if (this.port === 0) this.port = await freePort();
    const given = {
      ...this.#settings,
      port: String(this.port),
      bind: this.host,
      dir: this.#folder,
    };
    const options = Object.entries(given).flatMap(([key, value]) => [`--${key}`, value]);
    const log = openSync(this.#log, 'a');
    const child = spawn(this.#programs.server, options, {
      ...this.#account.ids,
      cwd: this.#folder,
      stdio: ['ignore', log, log],
    });
    this.#child = child;
    const atExit = (): boolean => child.kill('SIGKILL');
    process.once('exit', atExit);
    this.#ended = new Promise((resolve) => child.on('close', resolve)).then(() =>
      process.removeListener('exit', atExit),
    );
    const limit = Date.now() + START_LIMIT_MS;
    for (;;) {
      const answer = await this.cli('ping').catch(() => '');
      if (/PONG|NOAUTH/.test(answer)) return;
      if (child.exitCode !== null || Date.now() > limit) {
        child.kill('SIGKILL');
        const tail = readFileSync(this.#log, 'utf8').slice(-2000);
        throw new Error(`Redis did not start on port ${this.port}:\n${tail}`);
      }
      await sleep(20);
    }
  }

  cli(...words: readonly string[]): Promise<string> {
    return runClient(this.#programs.client, this, words);
  }

  async halt(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#ended;
  }

  async stop(): Promise<void> {
    await this.halt();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #log(): string {
    return join(this.#folder, 'server.log');
  }
}

async function runClient(
  client: string,
  { host, port }: Pick<RedisServer, 'host' | 'port'>,
  words: readonly string[],
): Promise<string> {
  const args = ['-h', host, '-p', String(port), '--raw', ...words];
  const { stdout } = await run(client, args, { maxBuffer: 1 << 30 });
  return stdout.trimEnd();
}
