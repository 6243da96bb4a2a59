import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Life } from './life.ts';
import { Partitions } from './partitions.ts';
import { SimulatedLink } from './simulated-link.ts';
import { World } from './world.ts';

function newWorld(seed = 1): World {
  return new World({ seed, keepsTrace: true });
}

test('events run in the order of time, and what they let go on runs before the next', async () => {
  const world = newWorld();
  const seen: string[] = [];
  world.schedule(null, 2, 'b', () => seen.push('b'));
  world.schedule(null, 1, 'a', () => {
    void (async () => {
      for (let i = 0; i < 100; i++) await Promise.resolve();
      seen.push('after a');
    })();
  });
  assert.equal(await world.run(() => false, 10), 'stuck');
  assert.deepEqual(seen, ['after a', 'b']);
  assert.equal(world.now, 2);
});

test('every order of simultaneous events is reached by some seed', async () => {
  const orders = new Set<string>();
  for (let seed = 0; seed < 60; seed++) {
    const world = newWorld(seed);
    let order = '';
    for (const name of ['a', 'b', 'c'])
      world.schedule(null, 1, name, () => {
        order += name;
      });
    await world.run(() => false, 10);
    orders.add(order);
  }
  assert.equal(orders.size, 6);
});

test('a life that has ended runs nothing more, a paused one later and in order', async () => {
  const world = newWorld();
  const [dead, paused] = [new Life('dead', 0), new Life('paused', 0)];
  const seen: string[] = [];
  world.schedule(dead, 1, 'x', () => seen.push('x'));
  for (const at of [1, 2, 3]) world.schedule(paused, at, `${at}`, () => seen.push(`${at}`));
  dead.end();
  paused.pause(5);
  await world.run(() => false, 10);
  assert.deepEqual(seen, ['1', '2', '3']);
  assert.equal(world.now, 5);
});

test('what nobody catches is a violation, and ends the run', async () => {
  const world = newWorld();
  world.schedule(null, 1, 'a', () => {
    throw new Error('broken');
  });
  assert.equal(await world.run(() => false, 10), 'over');
  assert.match(world.violation?.message ?? '', /broken/);
});

test('what takes no room in a link takes none from numbered frames', async () => {
  const world = newWorld();
  const owner = { life: new Life('a', 0), slot: 0, wakeUp: (): void => undefined };
  const [link, peer] = SimulatedLink.pair(world, [owner, owner], {
    mood: { latencyMs: 1, cloggedUntil: 0 },
    random: world.random('link'),
    slowness: 1,
    capacity: 1,
    copy: { copy: (message) => message },
    partitions: new Partitions(),
  });
  const connection = { consumerAttempt: { epoch: 1, counter: 1 }, subscribe: 0 };
  const credit = { type: 'credit', channelId: 0, connection, credit: 1 } as const;
  const frame = { kind: 'watermark', timestamp: 1 } as const;
  const numbered = { type: 'frame', channelId: 0, connection, position: 0, frame } as const;
  assert.equal(link.send(credit), true);
  assert.equal(link.send(numbered), true);
  assert.equal(link.send(numbered), false);
  await world.run(() => false, 100);
  assert.equal(
    peer.poll(() => undefined),
    true,
  );
  assert.equal(link.send(numbered), true);
});
