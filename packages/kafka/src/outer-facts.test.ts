/** What a cluster says of itself before a run, asked of the model of a broker. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommitterContext } from '@weir/core';
import { isWeirError } from '@weir/core';
import { text } from './formats/serde.ts';
import { kafkaSource } from './kafka-source.ts';
import { environmentOf, newWorld, sinkOf } from './model/sink-fixture.ts';
import type { World } from './model/sink-fixture.ts';

interface Asked {
  askOuterSystem(environment: CommitterContext): Promise<unknown>;
}

function askSink(world: World, transactionTimeoutMs: number): Promise<unknown> {
  const sink = sinkOf(world, { transactionTimeoutMs }) as unknown as Asked;
  return sink.askOuterSystem(environmentOf(world));
}

function askSource({ broker, ...world }: World): Promise<unknown> {
  const options = { bootstrap: 'model:9092', topics: 'out', value: text() };
  const source = kafkaSource<string>(options, broker.connect) as unknown as Asked;
  return source.askOuterSystem(environmentOf({ broker, ...world }));
}

test("the sink tells the broker's maximum, and refuses what is above it [R067]", async () => {
  const world = newWorld(1, 900_000);
  assert.deepEqual(await askSink(world, 900_000), {
    transactionTimeoutMaxMs: 900_000,
    transactionTimeoutMaxName: 'transaction.max.timeout.ms',
  });
  await assert.rejects(
    askSink(world, 3_600_000),
    (error: unknown) =>
      isWeirError(error) &&
      error.kind === 'user' &&
      /3600000 is above transaction.max.timeout.ms = 900000/.test(error.message),
  );
});

test('the source tells how long its topics keep records', async () => {
  const world = newWorld();
  const retentionName = 'retention.ms of topic out';
  assert.deepEqual(await askSource(world), { retentionMs: null, retentionName });
  world.broker.retentionMs = 60_000;
  assert.deepEqual(await askSource(world), { retentionMs: 60_000, retentionName });
});

test('a broker that is away is not known, and nothing is refused', async () => {
  const world = newWorld();
  world.broker.isDown = true;
  assert.match(JSON.stringify(await askSink(world, 3_600_000)), /"transactionTimeoutMaxMs":null/);
  assert.match(JSON.stringify(await askSource(world)), /"retentionMs":null/);
});
