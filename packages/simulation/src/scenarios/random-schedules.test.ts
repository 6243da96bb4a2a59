import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBatch } from './batch.ts';
import { REGRESSIONS } from './regressions.ts';
import { runSchedule } from './simulate.ts';

/** Fresh ones are run by `npm run sim`; these are for every change. */
const SEEDS = 100;

test('random jobs under random faults publish what a recount does, and replay alike', async () => {
  const { failures, replayed, restores } = await runBatch({
    scenario: 'random',
    first: 1,
    count: SEEDS,
    bug: null,
  });
  assert.deepEqual(failures, []);
  assert.ok(replayed > 0);
  assert.ok(restores > 0, 'no schedule resumed a job');
});

for (const { seed, found } of REGRESSIONS)
  test(`seed ${seed}: ${found}`, async () => {
    const { failure } = await runSchedule({ seed });
    assert.equal(failure, null);
  });
