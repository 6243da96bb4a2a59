/** The systems behind the sinks of the matrix, and what a reader of each of them sees. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startPostgres } from '../../../tools/postgres/server.ts';
import type { PostgresServer } from '../../../tools/postgres/server.ts';
import { proxyBeforeRedis } from '../../../tools/redis/proxy.ts';
import type { RedisProxy } from '../../../tools/redis/proxy.ts';
import { startRedis } from '../../../tools/redis/server.ts';
import type { RedisServer } from '../../../tools/redis/server.ts';
import { isByCheckpoint, nameOf, OPERATORS } from './cells-job.ts';
import type { Operator, Result, SinkName } from './cells-job.ts';

export class Stores {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly proxy: RedisProxy;
  readonly #http: Server;
  readonly #received = new Map<string, string[]>();
  readonly #keys = new Set<string>();

  private constructor(postgres: PostgresServer, redis: RedisServer, proxy: RedisProxy) {
    this.postgres = postgres;
    this.redis = redis;
    this.proxy = proxy;
    this.#http = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const name = request.url?.slice(1) ?? '';
        this.#take(name, String(request.headers['idempotency-key']), body);
        response.end();
      });
    });
  }

  /** The stores, or the reason why there are none. */
  static async start(): Promise<Stores | string> {
    const postgres = await startPostgres({ max_prepared_transactions: '128', fsync: 'off' });
    if (typeof postgres === 'string') return postgres;
    const redis = await startRedis({ databases: '2' });
    if (typeof redis === 'string') {
      await postgres.stop();
      return redis;
    }
    const proxy = await proxyBeforeRedis(() => redis);
    const stores = new Stores(postgres, redis, proxy);
    await new Promise<void>((resolve) => stores.#http.listen(0, '127.0.0.1', resolve));
    return stores;
  }

  /** Arguments of the job. */
  get words(): readonly string[] {
    const http = `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
    const redis = `redis://127.0.0.1:${this.proxy.port}`;
    return ['--database', this.postgres.url, '--redis', redis, '--http', http];
  }

  async makeTables(name: string): Promise<void> {
    const columns = 'id text, grp text, n int, at bigint';
    const statements = OPERATORS.flatMap((operator) => [
      `create table ${nameOf(name, operator, 'postgres')} (${columns})`,
      ...(['postgresUpsert', 'postgresConverging'] as const).map(
        (sink) => `create table ${nameOf(name, operator, sink)} (key text primary key, ${columns})`,
      ),
    ]);
    await this.postgres.psql(statements.join('; '));
  }

  async read(name: string, operator: Operator, sink: SinkName, folder: string): Promise<Result[]> {
    const own = nameOf(name, operator, sink);
    if (sink.startsWith('http')) return parsed(this.#received.get(own) ?? []);
    if (sink.startsWith('postgres'))
      return parsed((await this.postgres.psql(`select to_json(t) from ${own} t`)).split('\n'));
    if (sink.startsWith('redis') && isByCheckpoint(sink))
      return parsed((await this.redis.cli('LRANGE', own, '0', '-1')).split('\n'));
    if (sink.startsWith('redis')) {
      const keys = (await this.redis.cli('KEYS', `${own} *`)).split('\n').filter((it) => it !== '');
      return keys.length === 0 ? [] : parsed((await this.redis.cli('MGET', ...keys)).split('\n'));
    }
    const path = join(folder, own);
    if (sink === 'plain')
      return existsSync(path) ? parsed(readFileSync(path, 'utf8').split('\n')) : [];
    const parts = globSync(`${path}/**/part-*`);
    return parsed(parts.flatMap((part) => readFileSync(part, 'utf8').split('\n')));
  }

  /** How many results a path of the receiver has got. */
  received(name: string, operator: Operator, sink: SinkName): number {
    return this.#received.get(nameOf(name, operator, sink))?.length ?? 0;
  }

  async stop(): Promise<void> {
    this.#http.closeAllConnections();
    this.#http.close();
    await this.proxy.close();
    await this.redis.stop();
    await this.postgres.stop();
  }

  #take(name: string, key: string, body: string): void {
    if (name.endsWith('httpknown')) {
      if (this.#keys.has(`${name} ${key}`)) return;
      this.#keys.add(`${name} ${key}`);
    }
    const lines = body.split('\n').filter((line) => line !== '');
    this.#received.set(name, [...(this.#received.get(name) ?? []), ...lines]);
  }
}

let shared: Promise<Stores | string> | null = null;

after(async () => {
  const stores = await shared;
  if (stores !== null && typeof stores !== 'string') await stores.stop();
});

/** Without the systems a test is skipped loudly; in continuous integration that is a failure. */
export function storesTest(name: string, run: (stores: Stores) => Promise<void>): void {
  void test(name, async (context) => {
    shared ??= Stores.start();
    const stores = await shared;
    if (typeof stores !== 'string') return run(stores);
    if (process.env['CI'] === 'true') throw new Error(stores);
    context.skip(`NOT RUN: ${stores}`);
  });
}

function parsed(lines: readonly string[]): Result[] {
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Result);
}
