import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { ManualClock } from '@weir/core/internal/base/clock';
import { Database } from './database.ts';
import { PostgresError } from './postgres-errors.ts';
import type { Connect, Session, SessionSettings } from './session.ts';

const SETTINGS: SessionSettings = {
  client: {},
  place: 'db:5432/shop',
  connectTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  lockTimeoutMs: 20_000,
};

interface World {
  readonly database: Database;
  readonly clock: ManualClock;
  readonly ending: AbortController;
  readonly logged: string[];
  isAway: boolean;
}

function world(retryForMs: number): World {
  const logged: string[] = [];
  const logger = { log: (level: string, text: string) => void logged.push(`${level} ${text}`) };
  const clock = new ManualClock();
  const ending = new AbortController();
  const connect: Connect = async () => {
    if (it.isAway)
      throw new PostgresError('PostgreSQL at db:5432/shop does not answer connecting: refused', {
        failure: 'transient',
      });
    return { isBroken: false, close: async () => undefined } as unknown as Session;
  };
  const options = { sink: 'postgresSink orders', name: 'weir a b', retryForMs, connect };
  const environment = { clock, logger, signal: ending.signal };
  const database = new Database(environment, SETTINGS, options);
  const it: World = { database, clock, ending, logged, isAway: true };
  return it;
}

async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    await setImmediate();
    clock.advance(50);
  }
  await setImmediate();
}

test('a server that is away is told of by sink, place, option, and that it is back', async () => {
  const it = world(60_000);
  const done = it.database.withSession(async () => 'done');
  await pass(it.clock, 7000);
  assert.deepEqual(it.logged, [
    'warn postgresSink orders has not got through for 5 s: PostgreSQL at db:5432/shop does not ' +
      'answer connecting: refused; trying again, until retryForMs of 1 min is over',
  ]);
  it.isAway = false;
  await pass(it.clock, 2000);
  assert.equal(await done, 'done');
  assert.match(it.logged[1] ?? '', /^info postgresSink orders gets through again, after \d+ s$/);
  await it.database.close();
});

test('one that stays away is an error of the sink, transient', async () => {
  const it = world(1000);
  const failed = assert.rejects(
    it.database.withSession(async () => 'done'),
    {
      kind: 'transient',
      code: 'SINK_UNAVAILABLE',
      message: /^postgresSink orders has not got through for 750 ms: PostgreSQL at db:5432\/shop/,
    },
  );
  await pass(it.clock, 1000);
  await failed;
});

for (const how of ['closed', 'ended'])
  test(`${how} while the server is away, nothing is waited for`, async () => {
    const it = world(60_000);
    const failed = assert.rejects(
      it.database.withSession(async () => 'done'),
      { kind: 'transient', message: /^PostgreSQL at db:5432\/shop does not answer connecting/ },
    );
    await pass(it.clock, 1000);
    if (how === 'ended') it.ending.abort();
    else await it.database.close();
    await failed;
    await it.database.close();
    assert.equal(it.clock.pendingCount(), 0);
  });
