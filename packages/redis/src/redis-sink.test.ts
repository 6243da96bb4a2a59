import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redisSink } from './redis-sink.ts';
import type { RedisSinkOptions } from './redis-sink.ts';
import { redisUpsertSink } from './redis-upsert-sink.ts';
import type { RedisUpsertSinkOptions } from './redis-upsert-sink.ts';

const LOG: RedisSinkOptions<number> = {
  connection: 'redis://me:s3cret@cache/1',
  commands: (n) => ['RPUSH', 'numbers', n],
};
const BY_KEY: RedisUpsertSinkOptions<number> = {
  connection: { host: 'cache' },
  key: (n) => `n:${n}`,
  value: (n) => n,
};

test('options that are not allowed are refused while the graph is built', () => {
  const refuse = (options: object, message: RegExp): void => {
    assert.throws(() => redisSink({ ...LOG, ...options }), { message, kind: 'user' });
  };
  refuse(
    { confirmation: 'maybe' },
    /confirmation: "maybe" is not allowed, give atomic or separate/,
  );
  refuse({ confirmationPrefix: '' }, /confirmationPrefix: give at least one character/);
  refuse({ batchSize: 0 }, /batchSize: 0 is not allowed, give a whole number of at least 1/);
  refuse({ retryForMs: -1 }, /retryForMs: -1 is not allowed/);
  refuse({ connection: 'cache:6379' }, /give redis:\/\/user@host:port\/database/);
  refuse({ connection: { port: 0 } }, /connection\.port: 0 is not allowed/);
  const refuseKey = (options: object, message: RegExp): void => {
    assert.throws(() => redisUpsertSink({ ...BY_KEY, ...options }), { message, kind: 'user' });
  };
  refuseKey({ fields: { n: (n: number) => n } }, /give either value or at least one of fields/);
  refuseKey({ value: undefined, fields: {} }, /give either value or at least one of fields/);
  refuseKey({ expireAfterMs: 0.5 }, /expireAfterMs: 0\.5 is not allowed/);
});

test('a password is never part of a message', () => {
  for (const connection of ['redis://me:s3/cret@cache:port/0', 'redis://me:s3cret@cache/first'])
    assert.throws(
      () => redisSink({ ...LOG, connection }),
      (error: Error) => /must be written as %40/.test(error.message) && !/cret/.test(error.message),
    );
});

test('the sinks tell the planner how they write', () => {
  assert.deepEqual(
    (['atomic', 'separate'] as const).map((confirmation) => {
      const sink = redisSink({ ...LOG, confirmation });
      return [sink.write, sink.confirmation];
    }),
    [
      ['write-ahead-log', 'atomic'],
      ['write-ahead-log', 'separate'],
    ],
  );
  assert.equal(redisSink(LOG).confirmation, 'atomic');
  const upsert = redisUpsertSink({ ...BY_KEY, converges: true });
  assert.deepEqual([upsert.write, Reflect.get(upsert, 'converges')], ['idempotent', true]);
});
