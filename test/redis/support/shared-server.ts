/**
 * The server that all tests of this folder share, started when the first test needs it and stopped
 * at the end; tests that need other settings start one of their own. Without Redis the tests are
 * skipped loudly; in continuous integration (`CI=true`) that is a failure.
 */
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';
import { startRedis } from '../../../tools/redis/server.ts';
import type { RedisServer } from '../../../tools/redis/server.ts';

let shared: Promise<RedisServer | string> | null = null;
let names = 0;

after(async () => {
  const server = await shared?.catch(() => null);
  if (server !== null && server !== undefined && typeof server !== 'string') await server.stop();
});

/** A name that no other test of this run uses, also on a server that runs for long. */
export function fresh(name: string): string {
  return `${name}:${process.pid}:${Date.now().toString(36)}:${names++}`;
}

export function redisTest(
  name: string,
  run: (server: RedisServer, context: TestContext) => Promise<void>,
): void {
  void test(name, async (context) => {
    shared ??= startRedis();
    const server = await shared;
    if (typeof server === 'string') return notRun(context, server);
    await run(server, context);
  });
}

/** On a server of its own, which the test may stop; `settings` as in redis.conf. */
export function ownRedisTest(
  name: string,
  settings: Readonly<Record<string, string>>,
  run: (server: RedisServer) => Promise<void>,
): void {
  void test(name, async (context) => {
    const server = await startRedis({ ...settings, databases: '4' });
    if (typeof server === 'string') return notRun(context, server);
    try {
      await run(server);
    } finally {
      await server.stop();
    }
  });
}

function notRun(context: TestContext, reason: string): void {
  const message = `there is no Redis: ${reason}`;
  if (process.env['CI'] === 'true') throw new Error(message);
  context.skip(`NOT RUN: ${message}`);
}
