import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBatch } from './batch.ts';
import { PATTERNS } from './patterns.ts';
import { SAVEPOINT_SCENARIOS } from './savepoint-scenarios.ts';

/** `npm run sim -- --scenario NAME --seeds N` runs more. */
const SEEDS = 12;

for (const { name: scenario, about } of PATTERNS)
  test(`${scenario}: ${about}`, async () => {
    const { failures, hits } = await runBatch({ scenario, first: 1, count: SEEDS, bug: null });
    assert.deepEqual(failures, []);
    assert.ok(hits >= SEEDS / 2, `its moment came in ${hits} of ${SEEDS} schedules only`);
  });

for (const { name: scenario, about } of SAVEPOINT_SCENARIOS)
  test(`${scenario}: ${about}`, async () => {
    const result = await runBatch({ scenario, first: 1, count: SEEDS, bug: null });
    assert.deepEqual(result.failures, []);
    const { savepoints, startsFromSavepoint } = result;
    assert.ok(savepoints >= SEEDS / 2, `only ${savepoints} savepoints in ${SEEDS} schedules`);
    if (scenario.includes('stop') || scenario.includes('start'))
      assert.ok(startsFromSavepoint >= SEEDS / 2, `only ${startsFromSavepoint} starts from one`);
  });
