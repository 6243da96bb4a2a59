/** What users get wrong, and what goes wrong around them: each has one clear end. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { datagen, job, sequence } from '@weir/core';
import type { Job } from '@weir/core';
import { redisSink, redisUpsertSink } from '../../packages/redis/src/index.ts';
import type { RedisCommand, RedisConnectionOptions } from '../../packages/redis/src/index.ts';
import { run } from '../postgres/support/jobs.ts';
import { fresh, ownRedisTest, redisTest } from './support/shared-server.ts';

interface Settings extends Partial<RedisConnectionOptions> {
  readonly connection: RedisConnectionOptions['connection'];
  readonly last?: number;
  readonly rate?: number;
}

/** Numbers into the list `numbers`, by the write-ahead log. */
function pushJob({ last = 100, rate, ...options }: Settings, value = (n: number) => `${n}`): Job {
  return job('push', (env) => {
    const generated = datagen({
      generator: (index) => index + 1,
      count: last,
      ...(rate === undefined ? {} : { rate }),
    });
    env
      .fromSource(rate === undefined ? sequence(1, last) : generated, { uid: 'numbers' })
      .sinkTo(
        redisSink<number>({
          retryForMs: 200,
          ...options,
          commands: (n): RedisCommand => ['RPUSH', 'numbers', value(n)],
        }),
      )
      .uid('out');
  });
}

/** Keys of the hash `total:<n>`, at once. */
function upsertJob(options: Settings): Job {
  return job('upsert', (env) => {
    env
      .fromSource(sequence(1, options.last ?? 10), { uid: 'numbers' })
      .sinkTo(
        redisUpsertSink<number>({
          retryForMs: 200,
          ...options,
          key: (n) => `total:${n}`,
          fields: { n: (n) => n },
        }),
      )
      .uid('out');
  });
}

/** Runs once, without restarts, and gives the text of the error and its causes. */
async function failureOf(failing: Job): Promise<string> {
  const config = { 'restart-strategy.type': 'none' } as const;
  const error: unknown = await run(failing, { config }).then(
    () => null,
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof Error, 'the job should have failed');
  const texts: string[] = [];
  for (let it: unknown = error; it instanceof Error; it = it.cause) texts.push(it.message);
  return texts.join('\n');
}

const NOWHERE = 'redis://127.0.0.1:1';

for (const [name, make] of [
  ['redisSink', pushJob],
  ['redisUpsertSink', upsertJob],
] as const) {
  ownRedisTest(`${name}: a server that is down at the start is waited for`, {}, async (server) => {
    await server.halt();
    const running = run(make({ connection: server.url, retryForMs: 50 }));
    await sleep(300);
    await server.start();
    assert.equal((await running).outcome.status, 'FINISHED');
  });

  redisTest(`${name}: a server that stays away ends the job by its place`, async () => {
    const text = await failureOf(make({ connection: NOWHERE }));
    assert.match(
      text,
      /Redis at 127\.0\.0\.1:1\/0 does not answer connecting: nothing listens there.*ECONNREFUSED/,
    );
  });

  ownRedisTest(
    `${name}: a wrong password, and none, end the job at once`,
    { requirepass: 's3cret' },
    async (server) => {
      const { host, port } = server;
      const without = await failureOf(make({ connection: { host, port } }));
      assert.match(
        without,
        /it asks for a password; give user and password in connection \(it says: NOAUTH /,
      );
      const wrong = await failureOf(make({ connection: { host, port, password: 'wr0ng' } }));
      assert.match(
        wrong,
        /refuses connecting: user or password is wrong; give the right user and .*WRONGPASS/,
      );
      assert.doesNotMatch(wrong, /wr0ng|s3cret/);
      const right = make({ connection: { host, port, password: async () => 's3cret' } });
      assert.equal((await run(right)).outcome.status, 'FINISHED');
    },
  );

  ownRedisTest(
    `${name}: a server that removes keys is refused, unless it is allowed`,
    { maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' },
    async (server) => {
      const refused = await failureOf(make({ connection: server.url }));
      assert.match(refused, /has maxmemory-policy allkeys-lru: it may remove keys.*allowEviction/s);
      assert.equal(await server.cli('DBSIZE'), '0');
      const allowed = make({ connection: server.url, allowEviction: true });
      const { outcome, events } = await run(allowed);
      assert.equal(outcome.status, 'FINISHED');
      const warned = events.some(
        (event) => event.type === 'log' && /out: .*may remove keys/.test(event.message),
      );
      assert.ok(warned, 'it is said all the same');
    },
  );

  ownRedisTest(`${name}: a node of a cluster is refused`, CLUSTER(), async (server) => {
    assert.match(await failureOf(make({ connection: server.url })), /is a node of a cluster/);
  });

  redisTest(`${name}: a right that is missing is named`, async (server) => {
    const user = fresh('user').replaceAll(':', '-');
    await server.cli('ACL', 'SETUSER', user, 'on', '>p', 'allkeys', '+@all', '-rpush', '-hset');
    const { host, port } = server;
    const text = await failureOf(
      make({ connection: { host, port, username: user, password: 'p' } }),
    );
    assert.match(
      text,
      /a right is missing; grant the user this right \(it says: NOPERM .*(rpush|hset)/,
    );
  });
}

/** A function: the loop above runs before constants below it are made. */
function CLUSTER(): Readonly<Record<string, string>> {
  return { 'cluster-enabled': 'yes' };
}

ownRedisTest(
  'a server that is killed in mid-run costs no result, and none is written twice',
  {},
  async (server) => {
    const running = run(
      pushJob({ connection: server.url, last: 3000, rate: 1500, retryForMs: 50 }),
    );
    for (let kill = 0; kill < 2; kill++) {
      const before = Number(await server.cli('LLEN', 'numbers'));
      while (Number(await server.cli('LLEN', 'numbers')) <= before) await sleep(10);
      await server.halt();
      await sleep(200);
      await server.start();
    }
    const { outcome } = await running;
    assert.equal(outcome.status, 'FINISHED');
    const found = (await server.cli('LRANGE', 'numbers', '0', '-1')).split('\n').map(Number);
    assert.deepEqual(
      found.toSorted((a, b) => a - b),
      Array.from({ length: 3000 }, (_, n) => n + 1),
    );
  },
);

ownRedisTest(
  'a server that is full is tried again until there is room',
  { maxmemory: '3mb' },
  async (server) => {
    const filling = pushJob({ connection: server.url, last: 400, retryForMs: 100 }, () =>
      'x'.repeat(10_000),
    );
    const text = await failureOf(filling);
    assert.match(
      text,
      /its memory is full; raise maxmemory, or remove keys \(it says: OOM command not allowed/,
    );
    await server.cli('FLUSHALL');
    const running = run(filling);
    await sleep(500);
    await server.cli('CONFIG', 'SET', 'maxmemory', '100mb');
    assert.equal((await running).outcome.status, 'FINISHED');
    assert.equal(await server.cli('LLEN', 'numbers'), '400');
  },
);

ownRedisTest('a replica is not written to, and is tried again', {}, async (server) => {
  await server.cli('REPLICAOF', '127.0.0.1', '1');
  await server.cli('CONFIG', 'SET', 'replica-serve-stale-data', 'yes');
  const running = run(pushJob({ connection: server.url, retryForMs: 50 }));
  await sleep(300);
  assert.equal(await server.cli('LLEN', 'numbers'), '0');
  await server.cli('REPLICAOF', 'NO', 'ONE');
  assert.equal((await running).outcome.status, 'FINISHED');
  assert.equal(await server.cli('LLEN', 'numbers'), '100');
});

for (const [settings, warning] of [
  [{ appendonly: 'no' }, /keeps no append-only file: what it took since its last dump is lost/],
  [{ appendonly: 'yes', appendfsync: 'everysec' }, /a power cut loses about the last second/],
  [{ appendonly: 'yes', appendfsync: 'always' }, null],
] as const)
  ownRedisTest(
    `persistence ${Object.values(settings).join(', ')}: ${warning === null ? 'no' : 'a'} warning`,
    settings,
    async (server) => {
      const { events } = await run(pushJob({ connection: server.url, last: 1 }));
      const warnings = events.flatMap((event) =>
        event.type === 'log' && event.level === 'warn' ? [event.message] : [],
      );
      if (warning === null) assert.deepEqual(warnings, []);
      else assert.match(warnings.join('\n'), warning);
    },
  );

redisTest('a command that is wrong in itself is told with its record', async (server) => {
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [['FLUSHALL'], /it must be one of SET, DEL/],
    [['SET', 7, 'x'], /its key must be a string/],
    [['SET', 'k'], /the number of its arguments/],
    [['SET', 'k', { a: 1 }], /\[object Object\] is no string, number, bigint or Uint8Array/],
    [['SET', 'k', undefined], /undefined is no string/],
    [['SET', 'k', 'v', 'EX', 0], /0 is less than 1/],
    [['SET', 'k', 'v', 'EX', 2n ** 62n], /4611686018427387904 is no whole number/],
    [['SET', 'k\ud800', 'v'], /its key has half a character/],
    [['RPUSH', 'k', 'a', 'b\udc00'], /"b\\udc00" has half a character, .* give a Uint8Array/],
    [['SET', 'k', new Date(0)], /1970.* is no string, number, bigint or Uint8Array/],
    [['SET', 'k', true], /true is no string/],
    [Promise.resolve(['SET', 'k', 'v']), /returned \[object Promise\]; it must return a command/],
    [undefined, /returned undefined; it must return a command/],
    ['SET k v', /returned SET k v; it must return a command/],
    [['SET', 'k', 'v', 'AT', 1], /SET takes EX or PX/],
    [['HSET', 'k', 'f'], /the number of its arguments/],
    [['INCRBY', 'k', 0.5], /0\.5 is no whole number/],
    [['ZADD', 'k', Number.NaN, 'm'], /NaN is no string/],
    [['ZADD', 'k', '1', 'm'], /the score must be a number/],
    [['XADD', 'k', '1-1', 'f', 'v'], /the id of an entry must be \*/],
  ];
  for (const [command, reason] of wrong) {
    const writing = job('wrong', (env) => {
      env
        .fromSource(sequence(1, 1), { uid: 'numbers' })
        .sinkTo(
          redisSink<number>({ connection: server.url, commands: () => command as RedisCommand }),
        )
        .uid('out');
    });
    assert.match(await failureOf(writing), reason, inspect(command));
  }
});
