/** What the sinks of PostgreSQL and Redis say and do while their server is away. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { ManualClock } from '@weir/core/internal/base/clock';
import { Database } from '../../packages/postgres/src/client/database.ts';
import type { DatabaseOptions } from '../../packages/postgres/src/client/database.ts';
import { PostgresError } from '../../packages/postgres/src/client/postgres-errors.ts';
import { RedisError } from '../../packages/redis/src/client/redis-errors.ts';
import { Server } from '../../packages/redis/src/client/server.ts';
import type { ServerOptions } from '../../packages/redis/src/client/server.ts';

interface Client {
  withSession(step: () => Promise<string>): Promise<string>;
  close(): Promise<void>;
}

interface Subject {
  readonly sink: string;
  readonly problem: string;
  /** A client whose connections `connect` makes. */
  readonly create: (
    environment: ConstructorParameters<typeof Database>[0],
    options: Pick<DatabaseOptions, 'sink' | 'name' | 'retryForMs'> & {
      readonly connect: () => Promise<never>;
    },
  ) => Client;
  readonly away: (problem: string) => Error;
}

const SUBJECTS: readonly Subject[] = [
  {
    sink: 'postgresSink orders',
    problem: 'PostgreSQL at db:5432/shop does not answer connecting: refused',
    create: (environment, options: DatabaseOptions) =>
      new Database(
        environment,
        { place: 'db:5432/shop' } as ConstructorParameters<typeof Database>[1],
        options,
      ),
    away: (problem) => new PostgresError(problem, { failure: 'transient' }),
  },
  {
    sink: 'redisSink',
    problem: 'Redis at cache:6379/0 does not answer connecting: refused',
    create: (environment, options: ServerOptions) =>
      new Server(
        environment,
        { place: 'cache:6379/0' } as ConstructorParameters<typeof Server>[1],
        options,
      ),
    away: (problem) => new RedisError(problem, { isTransient: true, reply: null }),
  },
];

class World {
  readonly logged: string[] = [];
  readonly clock = new ManualClock();
  readonly ending = new AbortController();
  readonly client: Client;
  isAway = true;

  constructor({ sink, problem, create, away }: Subject, retryForMs: number) {
    const logger = {
      log: (level: string, text: string) => void this.logged.push(`${level} ${text}`),
    };
    const connect = async (): Promise<never> => {
      if (this.isAway) throw away(problem);
      return { isBroken: false, close: async () => undefined } as never;
    };
    const environment = { clock: this.clock, logger, signal: this.ending.signal };
    this.client = create(environment, { sink, name: 'weir', retryForMs, connect });
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await setImmediate();
      this.clock.advance(50);
    }
    await setImmediate();
  }
}

for (const subject of SUBJECTS) {
  const { sink, problem } = subject;

  test(`${sink}: that its server is away, and back, is told with place and option`, async () => {
    const world = new World(subject, 60_000);
    const done = world.client.withSession(async () => 'done');
    await world.pass(7000);
    assert.deepEqual(world.logged, [
      `warn ${sink} has not got through for 5 s: ${problem}; trying again, until retryForMs of ` +
        '1 min is over',
    ]);
    world.isAway = false;
    await world.pass(2000);
    assert.equal(await done, 'done');
    assert.match(world.logged[1] ?? '', /^info \S.* gets through again, after \d+ s$/);
    await world.client.close();
  });

  test(`${sink}: a server that stays away is an error of the sink, transient`, async () => {
    const world = new World(subject, 1000);
    const failed = assert.rejects(
      world.client.withSession(async () => 'done'),
      ({ kind, code, message }: Error & { kind?: unknown; code?: unknown }) =>
        kind === 'transient' &&
        code === 'SINK_UNAVAILABLE' &&
        message.startsWith(`${sink} has not got through for 750 ms: ${problem}`),
    );
    await world.pass(1000);
    await failed;
  });

  for (const how of ['closed', 'ended'])
    test(`${sink}: ${how} while the server is away, nothing is waited for`, async () => {
      const world = new World(subject, 60_000);
      const failed = assert.rejects(
        world.client.withSession(async () => 'done'),
        { kind: 'transient', message: problem },
      );
      await world.pass(1000);
      if (how === 'ended') world.ending.abort();
      else await world.client.close();
      await failed;
      await world.client.close();
      assert.equal(world.clock.pendingCount(), 0);
    });
}
