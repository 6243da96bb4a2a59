import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLANTED_BUGS } from '../bugs/planted-bugs.ts';
import type { Fault } from '../faults/fault-plan.ts';
import type { Bounds } from './exhaustive/choices.ts';
import { explore } from './exhaustive/explore.ts';
import { stoppedWorld } from './exhaustive/small-world.ts';

const DEATHS: readonly Fault[] = [
  { type: 'kill', at: 0 },
  { type: 'powerFailure', at: 0 },
  { type: 'killSlot', at: 0, slot: 0 },
];

const ONE_DEATH: Bounds = { crashes: 1, deviations: 0, faults: DEATHS };
const ONE_DEVIATION: Bounds = { crashes: 0, deviations: 1, faults: [] };

test('the small world is right with any one death anywhere', async () => {
  const { failures, isComplete, worlds } = await explore({ bounds: ONE_DEATH });
  assert.deepEqual(failures, []);
  assert.ok(isComplete && worlds > 500, `${worlds} worlds`);
});

test('the small world is right with any one message late, early, or its answer lost', async () => {
  const { failures, isComplete, worlds } = await explore({ bounds: ONE_DEVIATION });
  assert.deepEqual(failures, []);
  assert.ok(isComplete && worlds > 500, `${worlds} worlds`);
});

for (const [stop, claimMode] of [
  ['suspend', 'CLAIM'],
  ['drain', 'NO_CLAIM'],
] as const)
  test(`${stop} and going on with ${claimMode} are right with any one death anywhere`, async () => {
    const plan = stoppedWorld(stop, claimMode);
    const { failures, isComplete, worlds } = await explore({ plan, bounds: ONE_DEATH });
    assert.deepEqual(failures, []);
    assert.ok(isComplete && worlds > 800, `${worlds} worlds`);
  });

test('the search sees what a death at the wrong moment does to a planted bug', async () => {
  const bug = PLANTED_BUGS.find(({ name }) => name === 'pending transactions forgotten at restore');
  const remove = bug?.plant();
  try {
    const { failures } = await explore({ bounds: ONE_DEATH, failuresMax: 1 });
    assert.equal(failures.length, 1);
  } finally {
    remove?.();
  }
});
