import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean, nearestName } from './nearest.ts';

const NAMES = ['parallelism.default', 'execution.checkpointing.interval', 'heartbeat.interval'];

test('the name with the fewest edits is suggested', () => {
  assert.equal(nearestName('paralelism.default', NAMES), 'parallelism.default');
  assert.equal(nearestName('execution.checkpoint.interval', NAMES), NAMES[1]);
});

test('the end of a name is enough', () => {
  assert.equal(nearestName('checkpointing.interval', NAMES), NAMES[1]);
});

test('nothing is suggested for a name that is like none', () => {
  assert.equal(nearestName('foo', NAMES), null);
  assert.equal(didYouMean('foo', NAMES), '');
});
