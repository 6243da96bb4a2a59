import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLANTED_BUGS } from '../bugs/planted-bugs.ts';
import { runBatch } from './batch.ts';

/** The quick ones; `npm run sim -- --bugs` tries all. */
const QUICK = [
  'commit at the barrier',
  'offset one too high in the snapshot',
  'timers not restored',
];
const SEEDS = 40;

for (const { name } of PLANTED_BUGS.filter((bug) => QUICK.includes(bug.name)))
  test(`the planted bug "${name}" is found`, async () => {
    const { failures } = await runBatch({ scenario: 'random', first: 1, count: SEEDS, bug: name });
    assert.ok(failures.length > 0);
  });
