import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AutoClock } from '../model/auto-clock.ts';
import { METADATA } from '../wire/metadata.ts';
import type { BrokerConnection, Connect } from './broker-connection.ts';
import { KafkaCluster } from './cluster.ts';
import { KafkaError } from './kafka-errors.ts';

interface World {
  readonly cluster: KafkaCluster;
  /** Hosts in the order in which they were tried. */
  readonly tried: string[];
  readonly away: Set<string>;
  readonly closed: string[];
  /** Ends the task. */
  readonly ending: AbortController;
  readonly logged: string[];
  readonly connections: { isOpen: boolean }[];
}

function worldOf(hosts: readonly string[], retryForMs = 1000): World {
  const ending = new AbortController();
  const logged: string[] = [];
  const logger = { log: (level: string, text: string) => void logged.push(`${level} ${text}`) };
  const connect: Connect = async (host) => {
    world.tried.push(host);
    if (world.away.has(host)) throw new KafkaError(`${host} is away`, { isTransient: true });
    const connection: BrokerConnection & { isOpen: boolean } = {
      isOpen: true,
      call: async () => ({ brokers: [], topics: [] }) as never,
      close: async () => void world.closed.push(host),
    };
    world.connections.push(connection);
    return connection;
  };
  const bootstrap = hosts.map((host) => ({ host, port: 1 }));
  const world: World = {
    cluster: new KafkaCluster({
      bootstrap,
      environment: { clock: new AutoClock(), logger, signal: ending.signal },
      name: 'kafkaSource',
      code: 'SOURCE_UNAVAILABLE',
      retryForMs,
      connect,
    }),
    ending,
    logged,
    tried: [],
    away: new Set(),
    closed: [],
    connections: [],
  };
  return world;
}

test('a broker that is away is tried once, and then the one that answered', async () => {
  const world = worldOf(['a', 'b']);
  world.away.add('a');
  for (let round = 0; round < 3; round++) await world.cluster.callAny(METADATA, { topics: [] });
  assert.deepEqual(world.tried, ['a', 'b']);
  world.away.add('b');
  for (const connection of world.connections) connection.isOpen = false;
  world.away.delete('a');
  await world.cluster.callAny(METADATA, { topics: [] });
  assert.deepEqual(world.tried, ['a', 'b', 'b', 'a']);
});

test('a connection that is not open any more is closed when another takes its place', async () => {
  const world = worldOf(['a']);
  await world.cluster.callAny(METADATA, { topics: [] });
  for (const connection of world.connections) connection.isOpen = false;
  await world.cluster.callAny(METADATA, { topics: [] });
  await world.cluster.callAny(METADATA, { topics: [] });
  assert.deepEqual(world.closed, ['a']);
  assert.equal(world.connections.length, 2);
});

test('brokers that are away are told of, and stay away as an error of the source', async () => {
  const world = worldOf(['a'], 10_000);
  world.away.add('a');
  await assert.rejects(
    world.cluster.retry(() => world.cluster.metadata([])),
    {
      kind: 'transient',
      code: 'SOURCE_UNAVAILABLE',
      message:
        'kafkaSource has not got through for 10 s: a is away; a larger retryForMs waits longer',
    },
  );
  assert.deepEqual(world.logged, [
    'warn kafkaSource has not got through for 6 s: a is away; trying again, until retryForMs of ' +
      '10 s is over',
  ]);
});

test('when the task ends, brokers that are away are not waited for', async () => {
  const world = worldOf(['a'], 3_600_000);
  world.away.add('a');
  const failed = assert.rejects(
    world.cluster.retry(() => world.cluster.metadata([])),
    { message: 'a is away' },
  );
  world.ending.abort();
  await failed;
  await world.cluster.close();
});
