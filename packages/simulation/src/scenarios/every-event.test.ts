import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault } from '../faults/fault-plan.ts';
import { faultAtEveryEvent } from './every-event.ts';
import { SHORT } from './short.ts';

const KILL: Fault = { type: 'kill', at: 0 };
const POWER: Fault = { type: 'powerFailure', at: 0 };
/** Short, of different kinds: files and transactions, counts and windows, one thread and two. */
const TRIED: readonly (readonly [seed: number, fault: Fault])[] = [
  [4, KILL],
  [4, POWER],
  [19, KILL],
  [40, KILL],
  [40, POWER],
];

for (const [seed, fault] of TRIED)
  test(`${fault.type} at every event of the short schedule ${seed} loses nothing`, async () => {
    const result = await faultAtEveryEvent({ scenario: SHORT, seed, faults: [fault] });
    assert.deepEqual(result.failures, []);
    assert.ok(result.schedules > 200, `it has ${result.events} events only`);
  });
