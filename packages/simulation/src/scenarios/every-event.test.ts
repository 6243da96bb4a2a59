import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault } from '../faults/fault-plan.ts';
import { faultAtEveryEvent } from './every-event.ts';
import { SHORT_SCENARIOS } from './short.ts';

const KILL: Fault = { type: 'kill', at: 0 };
const POWER: Fault = { type: 'powerFailure', at: 0 };
const THREAD: Fault = { type: 'killSlot', at: 0, slot: 0 };

for (const scenario of SHORT_SCENARIOS)
  for (const fault of [KILL, POWER, THREAD])
    test(`${fault.type} at every event of ${scenario.name} loses nothing`, async () => {
      const result = await faultAtEveryEvent({ scenario, seed: 1, faults: [fault] });
      assert.deepEqual(result.failures, []);
      assert.ok(result.schedules > 200, `it has ${result.events} events only`);
    });
