import assert from 'node:assert/strict';
import { test } from 'node:test';
import { difference } from './difference.ts';

test('what is missing is named first, whatever else is wrong', () => {
  assert.equal(difference(['a', 'b', 'c'], ['b', 'b', 'x'], true), 'lacks 2 of 3: a, c');
});

test('what nobody expects and what comes twice are wrong only where it must be exact', () => {
  assert.equal(difference(['a'], ['a', 'x'], true), 'has 1 from behind the barrier: x');
  assert.equal(difference(['a'], ['a', 'a'], true), 'has 1 more than once: a');
  assert.equal(difference(['a'], ['a', 'a', 'x'], false), null);
});
