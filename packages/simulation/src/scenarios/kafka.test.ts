import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBatch } from './batch.ts';

const SEEDS = 30;

test('the sink for Kafka publishes what a recount does, whatever dies or is lost', async () => {
  const batch = { scenario: 'kafka', first: 1, count: SEEDS, bug: null };
  const { failures, restores } = await runBatch(batch);
  assert.deepEqual(failures, []);
  assert.ok(restores > 0, 'no schedule resumed a job');
});

test('a checkpoint that is acknowledged before Kafka has its records is seen', async () => {
  const bug = 'checkpoint acknowledged before Kafka has the records';
  const { failures } = await runBatch({ scenario: 'kafka', first: 1, count: SEEDS, bug });
  assert.ok(failures.length > 0);
});
