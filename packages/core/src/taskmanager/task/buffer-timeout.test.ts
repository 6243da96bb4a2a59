import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResultPartition } from '../../network/result-partition.ts';
import { BufferTimeout } from './buffer-timeout.ts';

function partition(isOpen: boolean): ResultPartition {
  const known: Pick<ResultPartition, 'isOpen' | 'flush'> = { isOpen, flush: () => undefined };
  return known as ResultPartition;
}

test('a step is due when the time-out of the oldest possible record ends', () => {
  const timeout = new BufferTimeout(10);
  timeout.flushIfDue([partition(true)], 100);
  assert.equal(timeout.dueIn([partition(false), partition(true)], 104), 6);
});

test('no step is due for what only waits for its consumer: the thread may sleep', () => {
  const timeout = new BufferTimeout(10);
  assert.equal(timeout.dueIn([partition(false)], 5), null);
});

test('without a time-out everything leaves at once, and nothing is ever due', () => {
  assert.equal(new BufferTimeout(0).dueIn([partition(true)], 5), null);
});
