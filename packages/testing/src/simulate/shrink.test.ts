import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault } from '@weir/simulation/faults/fault-plan';
import { calmPlan } from './run-plan.ts';
import type { RunPlan } from './run-plan.ts';
import { shrink } from './shrink.ts';
import type { RunOutcome } from './simulated-run.ts';

const kill = (at: number): Fault => ({ type: 'kill', at });
const outcomeOf = (plan: RunPlan): RunOutcome => ({
  plan,
  problem: null,
  outputs: new Map(),
  uses: [],
  timers: [],
  kills: 0,
  completedCheckpoints: 0,
  restores: 0,
  virtualMs: 0,
  story: [],
});

/** Shrinks a plan with a stand-in for the runs: what fails is decided by the plan alone. */
async function shrunk(plan: Partial<RunPlan>, fails: (plan: RunPlan) => boolean): Promise<RunPlan> {
  const whole = { ...calmPlan(10, 1), ...plan };
  const { outcome } = await shrink(
    { outcome: outcomeOf(whole), failure: true },
    (one) => Promise.resolve(outcomeOf(one)),
    (one) => (fails(one.plan) ? true : null),
  );
  return outcome.plan;
}

const FAULTS: readonly Fault[] = [
  kill(10),
  { type: 'slowDisk', at: 20, forMs: 50, factor: 10 },
  { type: 'suspend', at: 30 },
  kill(40),
];

test('faults that a failure does not need are left out', async () => {
  const { faults } = await shrunk({ faults: FAULTS }, (plan) => plan.faults.length > 0);
  assert.equal(faults.length, 1);
});

test('what goes only after something else went is left out as well', async () => {
  // While the disk is slow both kills are needed, as it may happen.
  const { faults } = await shrunk({ faults: FAULTS }, (plan) => {
    const kills = plan.faults.filter(({ type }) => type === 'kill').length;
    return plan.faults.some(({ type }) => type === 'slowDisk') ? kills === 2 : kills >= 1;
  });
  assert.equal(faults.length, 1);
});

test('a kill takes the place of what restarts the job less plainly', async () => {
  const { faults } = await shrunk({ faults: FAULTS }, (plan) =>
    plan.faults.some(({ at }) => at === 30),
  );
  assert.deepEqual(faults, [kill(30)]);
});

test('a failure that needs no fault keeps none, and as few subtasks as it needs', async () => {
  const { faults, parallelisms } = await shrunk(
    { faults: FAULTS, parallelisms: [3, 4, 1, 2] },
    (plan) => plan.parallelisms[0] !== 1,
  );
  assert.deepEqual(faults, []);
  assert.deepEqual(parallelisms, [3]);
});
