/** The write-ahead-log sink at the moments where a crash hurts, on a real server. */
import assert from 'node:assert/strict';
import { noAnswer } from '../../packages/redis/src/client/redis-errors.ts';
import type { RedisCommand } from '../../packages/redis/src/index.ts';
import { freshJobId } from '../../tools/exactly-once/fresh-job-id.ts';
import type { RedisServer } from '../../tools/redis/server.ts';
import { attemptsOn, stepping } from './support/drive.ts';
import type { Driver } from './support/drive.ts';
import { fresh, ownRedisTest, redisTest } from './support/shared-server.ts';

async function listed(server: RedisServer, key: string): Promise<string> {
  return (await server.cli('LRANGE', key, '0', '-1')).replaceAll('\n', ' ');
}

async function prepared(driver: Driver, values: readonly number[], id = 1) {
  for (const value of values) driver.write(value);
  return driver.checkpoint(id);
}

redisTest('results appear with their checkpoint, not before, and once', async (server) => {
  const key = fresh('numbers');
  const driver = attemptsOn(server.url, key)();
  await driver.start(2);
  driver.write(1, 0);
  driver.write(2, 1);
  const checkpoint = await driver.checkpoint(1);
  assert.equal(await listed(server, key), '');
  await driver.complete(checkpoint);
  await driver.committer.commit(checkpoint.committables);
  assert.equal(await listed(server, key), '1 2');
  assert.equal(await driver.committer.probe(checkpoint.committables[0]!), 'committed');
  await driver.close();
});

redisTest('keys of confirmations name job, sink and subtask', async (server) => {
  const key = fresh('numbers');
  const jobId = freshJobId();
  const driver = attemptsOn(server.url, key, {}, jobId)();
  await driver.start(2);
  driver.write(1, 1);
  await driver.complete(await driver.checkpoint(7));
  const [name = '', ...others] = (await server.cli('KEYS', `${key}:done:*`)).split('\n');
  assert.deepEqual(others, []);
  const start = `${key}:done:${jobId.slice(0, 12)}:123456789abc:1-1-1-`;
  assert.equal(name.slice(0, start.length), start);
  assert.match(name.slice(start.length), /^[0-9a-f]{16}$/);
  assert.equal(await server.cli('GET', name), '7');
  await driver.close();
});

for (const [confirmation, expected] of [
  ['atomic', '1 2 3'],
  ['separate', '1 2 3 1 2 3'],
] as const)
  redisTest(
    `the answer to a write is lost, ${confirmation} confirmation: ${expected} [R022]`,
    async (server) => {
      const key = fresh('numbers');
      let losses = 1;
      const losing = stepping(async (what, act) => {
        const replies = await act();
        if (what === 'writing' && losses-- > 0) throw noAnswer(what, 'there', new Error('lost'));
        return replies;
      });
      const driver = attemptsOn(server.url, key, { confirmation })(losing);
      await driver.start();
      await driver.complete(await prepared(driver, [1, 2, 3]));
      assert.equal(await listed(server, key), expected);
      await driver.close();
    },
  );

/** Stands still when it has looked up what is written, in the second transaction; then `goOn`. */
function standingStill(goOn: <R>(act: () => Promise<R>) => Promise<R>): {
  readonly connect: ReturnType<typeof stepping>;
  readonly reached: Promise<void>;
  readonly release: () => void;
} {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let writes = 0;
  const connect = stepping(async (what, act) => {
    if (what !== 'writing' || ++writes !== 2) return act();
    reached.resolve();
    await released.promise;
    return goOn(act);
  });
  return { connect, reached: reached.promise, release: released.resolve };
}

redisTest('two processes that write one checkpoint at once write it once', async (server) => {
  const key = fresh('numbers');
  const next = attemptsOn(server.url, key, { batchSize: 2 });
  const { connect, reached, release } = standingStill((act) => act());
  const outdated = next(connect);
  await outdated.start();
  const checkpoint = await prepared(outdated, [1, 2, 3, 4, 5]);
  const late = outdated.complete(checkpoint);
  await reached;
  assert.equal(await listed(server, key), '1 2');
  const successor = next();
  await successor.start(1, checkpoint);
  assert.equal(await listed(server, key), '1 2 3 4 5', 'goes on where the other stood still');
  release();
  await late;
  assert.equal(await listed(server, key), '1 2 3 4 5');
  await outdated.close();
  await successor.close();
});

redisTest('a sum that is too large on the way only ends the job as well', async (server) => {
  const [key, sum] = [fresh('numbers'), fresh('sum')];
  await server.cli('SET', sum, '5');
  const most = 2n ** 63n - 1n;
  const driver = attemptsOn(server.url, key, {
    commands: (n) => [
      ['RPUSH', key, n],
      ['INCRBY', sum, n === 1 ? most : -most],
    ],
  })();
  await driver.start();
  await assert.rejects(
    driver.complete(await prepared(driver, [1, 2])),
    /no whole number of 64 bits/,
  );
  assert.equal(await listed(server, key), '', 'nothing by halves');
  await driver.close();
});

ownRedisTest('a transaction that is refused looks again at what is written', {}, async (server) => {
  const key = fresh('numbers');
  const next = attemptsOn(server.url, key, { batchSize: 2 });
  const { connect, reached, release } = standingStill(async (act) => {
    await server.cli('CONFIG', 'SET', 'maxmemory', '1');
    try {
      return await act();
    } finally {
      await server.cli('CONFIG', 'SET', 'maxmemory', '0');
    }
  });
  const outdated = next(connect);
  await outdated.start();
  const checkpoint = await prepared(outdated, [1, 2, 3, 4, 5]);
  const late = outdated.complete(checkpoint);
  await reached;
  const successor = next();
  await successor.start(1, checkpoint);
  release();
  await late;
  assert.equal(await listed(server, key), '1 2 3 4 5');
  await outdated.close();
  await successor.close();
});

for (const [what, first, command, message] of [
  ['of another type', ['SET', 'x'], ['RPUSH'], /WRONGTYPE: the key \S+ holds a string, and a list/],
  ['that is no number', ['SET', 'x'], ['INCRBY', 1], /the key \S+ is to grow by 1, and holds "x"/],
  ['at its end', ['SET', '9223372036854775807'], ['INCRBY', 1], /no whole number of 64 bits/],
  ['with a field that is no number', ['HSET', 'f', 'x'], ['HINCRBY', 'f', 2], /\(field f\) is to/],
] as const)
  redisTest(`a key ${what} ends the job by its name, and nothing is written`, async (server) => {
    const [key, wrong] = [fresh('fine'), fresh('wrong')];
    await server.cli(first[0], wrong, ...first.slice(1));
    const [name, ...rest] = command;
    const driver = attemptsOn(server.url, key, {
      commands: (n) =>
        n < 5
          ? ['RPUSH', key, n]
          : ([name, wrong, ...(rest.length === 0 ? ['x'] : rest)] as unknown as RedisCommand),
    })();
    await driver.start();
    const checkpoint = await prepared(driver, [1, 5, 2]);
    await assert.rejects(driver.complete(checkpoint), {
      kind: 'user',
      code: 'SINK_REFUSED',
      message,
    });
    assert.equal(await listed(server, key), '');
    await server.cli('DEL', wrong);
    await driver.committer.commit(checkpoint.committables);
    assert.equal(await listed(server, key), '1 2', 'mended, and started again');
    await driver.close();
  });

redisTest(
  'a type that changes between look and write is told, command by command',
  async (server) => {
    const key = fresh('numbers');
    const meddling = stepping(async (what, act) => {
      if (what === 'writing') await server.cli('SET', key, 'x');
      return act();
    });
    const driver = attemptsOn(server.url, key, {
      commands: (n) => [
        ['RPUSH', n === 2 ? key : `${key}:other`, n],
        ['SADD', `${key}:all`, n],
      ],
    })(meddling);
    await driver.start();
    const checkpoint = await prepared(driver, [1, 2]);
    await assert.rejects(driver.complete(checkpoint), {
      kind: 'user',
      message: /did not carry out 1 command\(s\) of a transaction of 4.*RPUSH \S+: WRONGTYPE/,
    });
    assert.equal(await listed(server, `${key}:other`), '1');
    await driver.close();
  },
);

redisTest('every command is written as redis-cli would write it', async (server) => {
  const key = fresh('all');
  const commands: RedisCommand[] = [
    ['SET', `${key}:text`, 'ä\r\n"'],
    ['SET', `${key}:bytes`, new Uint8Array([0xff, 0x00, 0x0a])],
    ['SET', `${key}:soon`, 1.5, 'EX', 1000],
    ['HSET', `${key}:hash`, 'a', 1, 'b', 2n ** 62n],
    ['HINCRBY', `${key}:hash`, 'a', 41],
    ['HDEL', `${key}:hash`, 'c'],
    ['INCRBY', `${key}:sum`, 40],
    ['INCRBY', `${key}:sum`, 2n],
    ['LPUSH', `${key}:list`, 'b', 'a'],
    ['SADD', `${key}:set`, 'x'],
    ['SREM', `${key}:set`, 'y'],
    ['ZADD', `${key}:sorted`, -Infinity, 'least'],
    ['ZADD', `${key}:sorted`, 0.1, 'most'],
    ['ZREM', `${key}:sorted`, 'none'],
    ['XADD', `${key}:stream`, '*', 'n', 7],
    ['SET', `${key}:gone`, 1],
    ['DEL', `${key}:gone`],
    ['RPUSH', `${key}:gone`, 'another type, after it was removed'],
    ['PEXPIRE', `${key}:list`, 500_000],
  ];
  const driver = attemptsOn(server.url, key, { commands: () => commands })();
  await driver.start();
  await driver.complete(await prepared(driver, [1]));
  const is = async (words: readonly string[], expected: string): Promise<void> =>
    assert.equal((await server.cli(...words)).replaceAll('\n', ' '), expected, words.join(' '));
  await is(['GET', `${key}:text`], 'ä\r "');
  await is(['STRLEN', `${key}:bytes`], '3');
  await is(['GETRANGE', `${key}:bytes`, '2', '2'], '');
  await is(['GET', `${key}:soon`], '1.5');
  await is(['HGETALL', `${key}:hash`], `a 42 b ${2n ** 62n}`);
  await is(['GET', `${key}:sum`], '42');
  await is(['LRANGE', `${key}:list`, '0', '-1'], 'a b');
  await is(['SMEMBERS', `${key}:set`], 'x');
  await is(['ZRANGE', `${key}:sorted`, '0', '-1'], 'least most');
  await is(['XLEN', `${key}:stream`], '1');
  await is(['TYPE', `${key}:gone`], 'list');
  assert.ok(Number(await server.cli('TTL', `${key}:soon`)) > 900);
  assert.ok(Number(await server.cli('TTL', `${key}:list`)) > 400);
  await driver.close();
});

redisTest('a confirmation that nobody wrote is not guessed at', async (server) => {
  const key = fresh('numbers');
  const driver = attemptsOn(server.url, key)();
  await driver.start();
  await driver.complete(await prepared(driver, [1]));
  const name = await server.cli('KEYS', `${key}:done:*`);
  await server.cli('SET', name, 'seven');
  const checkpoint = await prepared(driver, [2], 2);
  await assert.rejects(driver.complete(checkpoint), { kind: 'corrupt', message: /is damaged/ });
  await driver.close();
});
