/**
 * The server that all tests of this folder share, started when the first test needs it and stopped
 * at the end, with a proxy in front of it; tests that need other settings start one of their own.
 * Without PostgreSQL the tests are skipped loudly; in continuous integration (`CI=true`) that is a
 * failure.
 */
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';
import { proxyBeforePostgres } from '../../../tools/postgres/proxy.ts';
import type { PostgresProxy } from '../../../tools/postgres/proxy.ts';
import { startPostgres } from '../../../tools/postgres/server.ts';
import type { PostgresServer } from '../../../tools/postgres/server.ts';

let shared: Promise<PostgresServer | string> | null = null;
let proxy: PostgresProxy | null = null;
let names = 0;

after(async () => {
  const server = await shared?.catch(() => null);
  if (server !== null && server !== undefined && typeof server !== 'string') await server.stop();
  await proxy?.close();
});

/** A name that no other test of this run uses, also on a server that runs for long. */
export function fresh(name: string): string {
  return `${name}_${process.pid}_${Date.now().toString(36)}_${names++}`;
}

/** In front of the shared server; forwards until a test says otherwise. */
export function sharedProxy(): PostgresProxy {
  if (proxy === null) throw new Error('the server was not started yet');
  return proxy;
}

export function postgresTest(
  name: string,
  run: (server: PostgresServer, context: TestContext) => Promise<void>,
): void {
  void test(name, async (context) => {
    shared ??= startShared();
    const server = await shared;
    if (typeof server === 'string') return notRun(context, server);
    const { verdict } = sharedProxy();
    try {
      await run(server, context);
    } finally {
      sharedProxy().verdict = verdict;
    }
  });
}

/** On a server of its own, which the test may stop; `settings` as in postgresql.conf. */
export function ownServerTest(
  name: string,
  settings: Readonly<Record<string, string>>,
  run: (server: PostgresServer) => Promise<void>,
): void {
  void test(name, async (context) => {
    const server = await startPostgres({ ...settings, 'weir.own': 'yes' });
    if (typeof server === 'string') return notRun(context, server);
    try {
      await run(server);
    } finally {
      await server.stop();
    }
  });
}

async function startShared(): Promise<PostgresServer | string> {
  const server = await startPostgres();
  if (typeof server === 'string') return server;
  proxy = await proxyBeforePostgres(() => ({ host: server.host, port: server.port }));
  return server;
}

function notRun(context: TestContext, reason: string): void {
  const message = `there is no PostgreSQL: ${reason}`;
  if (process.env['CI'] === 'true') throw new Error(message);
  context.skip(`NOT RUN: ${message}`);
}
