import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boundedOutOfOrderness,
  monotonousTimestamps,
  noWatermarks,
  withIdleness,
} from './watermarks.ts';

test('strategies carry milliseconds and the function that reads event time', () => {
  const timestampOf = (order: { readonly at: number }): number => order.at;
  assert.deepEqual(boundedOutOfOrderness('5s', timestampOf), {
    kind: 'boundedOutOfOrderness',
    outOfOrdernessMs: 5000,
    idlenessMs: null,
    timestampOf,
  });
  assert.deepEqual(monotonousTimestamps(timestampOf, { idleness: '1 min' }), {
    kind: 'monotonous',
    outOfOrdernessMs: 0,
    idlenessMs: 60_000,
    timestampOf,
  });
  assert.equal('timestampOf' in monotonousTimestamps(), false);
  assert.deepEqual(noWatermarks(), { kind: 'none', outOfOrdernessMs: 0, idlenessMs: null });
});

test('idleness can be added to any strategy', () => {
  const strategy = boundedOutOfOrderness('5s');
  assert.deepEqual(withIdleness(strategy, '2s'), { ...strategy, idlenessMs: 2000 });
});
