/** All sinks for Redis stand the cases that every sink must stand, against a real server. */
import type { Sink } from '@weir/core';
import { sinkConformance } from '@weir/testing';
import type { ConformanceSystem, ProcessGate } from '@weir/testing';
import { RedisSession } from '../../packages/redis/src/client/session.ts';
import type {
  Command,
  Connect,
  Reply,
  Session,
  SessionSettings,
} from '../../packages/redis/src/client/session.ts';
import { redisSink, redisUpsertSink } from '../../packages/redis/src/index.ts';
import { realClock } from '../../packages/core/src/cluster/real-clock.ts';
import type { RedisServer } from '../../tools/redis/server.ts';
import { fresh, redisTest } from './support/shared-server.ts';

/** One connection to look through for all worlds, of which there are some hundreds. */
class Reader {
  readonly #server: RedisServer;
  #session: Promise<Session>;

  constructor(server: RedisServer) {
    this.#server = server;
    this.#session = this.#open();
  }

  get canRestart(): boolean {
    return this.#server.isOwn;
  }

  async send(what: string, commands: readonly Command[]): Promise<readonly Reply[]> {
    return (await this.#session).send(what, commands);
  }

  /** Killed; what it acknowledged is in its append-only file. */
  async restart(): Promise<void> {
    await this.close();
    await this.#server.halt();
    await this.#server.start();
    this.#session = this.#open();
  }

  /** Connections of processes that died. */
  async endSinks(): Promise<void> {
    const [list] = await this.send('asking', [['CLIENT', 'LIST']]);
    const ids = [...String(list).matchAll(/^id=(\d+) .* name=weir:/gm)].map(([, id]) => id ?? '');
    await this.send(
      'ending',
      ids.map((id) => ['CLIENT', 'KILL', 'ID', id]),
    );
  }

  async close(): Promise<void> {
    await (await this.#session).close();
  }

  #open(): Promise<Session> {
    return RedisSession.open(settingsOf(this.#server), {
      clock: realClock,
      name: 'test',
      cut: new AbortController().signal,
    });
  }
}

/** Keys of its own. */
class Keys implements ConformanceSystem<number> {
  readonly name: string = fresh('numbers');
  readonly restart?: () => Promise<void>;
  readonly #reader: Reader;
  readonly #isList: boolean;
  #made: Promise<unknown> | null = null;

  constructor(reader: Reader, isList: boolean) {
    this.#reader = reader;
    this.#isList = isList;
    if (reader.canRestart) this.restart = () => reader.restart();
  }

  /** Connections of processes that died in worlds before are ended. */
  made(): Promise<unknown> {
    this.#made ??= this.#reader.endSinks();
    return this.#made;
  }

  async visible(): Promise<readonly number[]> {
    const command = this.#isList ? ['LRANGE', this.name, '0', '-1'] : ['KEYS', `${this.name}:*`];
    const [found] = await this.#reader.send('reading', [command]);
    const texts = Array.isArray(found) ? found.map(String) : [];
    return texts.map((text) => Number(this.#isList ? text : text.slice(this.name.length + 1)));
  }

  unfinished(): readonly string[] {
    return [];
  }
}

/** Every pipeline of a process goes through its gate. */
function connectThrough(keys: Keys, gate: ProcessGate): Connect {
  return async (settings, options) => {
    await keys.made();
    const session = await gate.call('connect', () => RedisSession.open(settings, options));
    return {
      get isBroken() {
        return session.isBroken;
      },
      send: (what, commands) => gate.call(what, () => session.send(what, commands)),
      close: () => session.close(),
      destroy: () => session.destroy(),
    };
  };
}

type Make = (connection: string, name: string, connect: Connect) => Sink<number>;

const log =
  (confirmation: 'atomic' | 'separate'): Make =>
  (connection, name, connect) =>
    redisSink<number>(
      {
        connection,
        confirmation,
        confirmationPrefix: `${name}:done`,
        // Several transactions for the results of a checkpoint.
        batchSize: 1,
        commands: (n) => ['RPUSH', name, n],
      },
      connect,
    );

const SINKS: Readonly<Record<string, Make>> = {
  'redisSink, atomic': log('atomic'),
  'redisSink, separate': log('separate'),
  redisUpsertSink: (connection, name, connect) =>
    redisUpsertSink<number>(
      { connection, key: (n) => `${name}:${n}`, value: (n) => n, batchSize: 2 },
      connect,
    ),
};

for (const [sinkName, make] of Object.entries(SINKS))
  redisTest(`${sinkName} stands the cases of every sink`, async (server, context) => {
    const reader = new Reader(server);
    const isList = sinkName !== 'redisUpsertSink';
    const cases = sinkConformance(
      (keys: Keys, gate) => make(server.url, keys.name, connectThrough(keys, gate)),
      () => new Keys(reader, isList),
      { record: (n) => n },
    );
    for (const { name, run } of cases) await context.test(`${sinkName}: ${name}`, run);
    await reader.endSinks();
    await reader.close();
  });

function settingsOf({ host, port }: { host: string; port: number }): SessionSettings {
  return {
    host,
    port,
    database: 0,
    username: null,
    password: null,
    tls: null,
    place: `${host}:${port}`,
    connectTimeoutMs: 5000,
    requestTimeoutMs: 5000,
  };
}
