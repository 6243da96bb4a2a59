import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CheckpointFailureCounter } from './failure-counter.ts';
import { CHECKPOINT_FAILURE_REASONS } from './failure-reasons.ts';

test('exactly five reasons count when none is tolerated [I-25]', () => {
  const counter = new CheckpointFailureCounter(0);
  const counted = CHECKPOINT_FAILURE_REASONS.filter((reason, index) =>
    counter.failed(reason, index + 1),
  );
  assert.deepEqual(counted.toSorted(), [
    'CHECKPOINT_ASYNC_EXCEPTION',
    'CHECKPOINT_DECLINED',
    'CHECKPOINT_EXPIRED',
    'FINALIZE_CHECKPOINT_FAILURE',
    'IO_EXCEPTION',
  ]);
});

test('failures at 1, 2 and 4 with 3 ignored are one too many when two are tolerated [I-26]', () => {
  const counter = new CheckpointFailureCounter(2);
  assert.equal(counter.failed('CHECKPOINT_DECLINED', 1), false);
  assert.equal(counter.failed('CHECKPOINT_DECLINED', 2), false);
  assert.equal(counter.failed('CHECKPOINT_SUBSUMED', 3), false);
  assert.equal(counter.failed('CHECKPOINT_DECLINED', 4), true);
});

test('a success in between sets the count back [I-27]', () => {
  const counter = new CheckpointFailureCounter(2);
  counter.failed('CHECKPOINT_DECLINED', 1);
  counter.failed('CHECKPOINT_DECLINED', 2);
  counter.succeeded(4);
  assert.equal(counter.failed('CHECKPOINT_DECLINED', 5), false);
  assert.equal(counter.count, 1);
});

test('a failure of an id up to the last success is ignored [I-29]', () => {
  const counter = new CheckpointFailureCounter(0);
  counter.succeeded(5);
  assert.equal(counter.failed('CHECKPOINT_DECLINED', 5), false);
  assert.equal(counter.failed('CHECKPOINT_DECLINED', 4), false);
  assert.equal(counter.failed('CHECKPOINT_DECLINED', 6), true);
});

test('one checkpoint counts once, however many tasks report it', () => {
  const counter = new CheckpointFailureCounter(1);
  assert.equal(counter.failed('CHECKPOINT_DECLINED', 1), false);
  assert.equal(counter.failed('CHECKPOINT_ASYNC_EXCEPTION', 1), false);
  assert.equal(counter.failed('CHECKPOINT_DECLINED', 2), true);
});

test('triggers that failed without an id count each', () => {
  const counter = new CheckpointFailureCounter(1);
  assert.equal(counter.failed('IO_EXCEPTION', null), false);
  assert.equal(counter.failed('IO_EXCEPTION', null), true);
});

test('the count begins anew once the job was failed', () => {
  const counter = new CheckpointFailureCounter(1);
  counter.failed('CHECKPOINT_EXPIRED', 1);
  assert.equal(counter.failed('CHECKPOINT_EXPIRED', 2), true);
  assert.equal(counter.failed('CHECKPOINT_EXPIRED', 3), false);
});
