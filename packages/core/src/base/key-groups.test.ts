import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWeirError } from './errors.ts';
import {
  checkKey,
  defaultMaxParallelism,
  hashKey,
  keyGroupOf,
  keyGroupRange,
  subtaskOf,
} from './key-groups.ts';
import type { KeyValue } from './key-groups.ts';

test('hashes of strings are those of Java', () => {
  assert.equal(hashKey(''), 0);
  assert.equal(hashKey('key1'), 3288498);
  assert.equal(hashKey('hello world'), 1794106052);
  assert.equal(hashKey('polygenelubricants'), -2147483648);
});

test('hashes of numbers are those of Integer and Double in Java', () => {
  assert.equal(hashKey(42), 42);
  assert.equal(hashKey(-7), -7);
  assert.equal(hashKey(2147483647), 2147483647);
  assert.equal(hashKey(1.5), 1073217536);
  assert.equal(hashKey(2147483648), 1105199104);
});

test('the two zeros are one key', () => {
  assert.equal(hashKey(-0), hashKey(0));
});

test('hashes of booleans, bigints and tuples are frozen', () => {
  assert.equal(hashKey(true), 1231);
  assert.equal(hashKey(false), 1237);
  assert.equal(hashKey(0n), 0);
  assert.equal(hashKey(5n), 5);
  assert.equal(hashKey(-5n), -5);
  // new BigInteger("12345678901234567890").hashCode() = 31 * 0xab54a98c + 0xeb1f0ad2
  assert.equal(hashKey(12345678901234567890n), (Math.imul(31, 0xab54a98c) + 0xeb1f0ad2) | 0);
  assert.equal(hashKey(['a', 1]), 31 * 97 + 1);
  assert.equal(hashKey(['a', ['b', true]]), 31 * 97 + (31 * 98 + 1231));
});

test('key groups are those of Flink [I-63]', () => {
  const groups = [0, 1, 2, 42].map((hash) => keyGroupOf(hash, 128));
  assert.deepEqual(groups, [94, 86, 127, 29]);
  const group = keyGroupOf(hashKey('key1'), 128);
  assert.equal(group, 41);
  assert.equal(subtaskOf(group, 128, 4), 1);
});

test('key group ranges are those of Flink', () => {
  const ranges = (maxParallelism: number, parallelism: number): unknown =>
    Array.from({ length: parallelism }, (_, i) => keyGroupRange(maxParallelism, parallelism, i));
  assert.deepEqual(ranges(128, 3), [
    [0, 42],
    [43, 85],
    [86, 127],
  ]);
  assert.deepEqual(ranges(13, 4), [
    [0, 3],
    [4, 6],
    [7, 9],
    [10, 12],
  ]);
});

test('the maximum parallelism follows from the parallelism as in Flink', () => {
  const pairs = [1, 85, 86, 171, 256, 1000, 30_000].map((p) => [p, defaultMaxParallelism(p)]);
  assert.deepEqual(pairs, [
    [1, 128],
    [85, 128],
    [86, 256],
    [171, 256],
    [256, 512],
    [1000, 2048],
    [30_000, 32_768],
  ]);
});

test('what cannot be a key is refused, naming the operator', () => {
  const wrong: unknown[] = [undefined, null, NaN, Infinity, {}, ['a', null], () => 1, Symbol('s')];
  for (const key of wrong)
    assert.throws(
      () => checkKey(key, '"totals" (orders.ts:14)'),
      (error) =>
        isWeirError(error) &&
        error.code === 'KEY_INVALID' &&
        error.message.includes('orders.ts:14'),
    );
});

test('the message on a wrong key shows what came instead', () => {
  const messageFor = (key: unknown): string => {
    try {
      checkKey(key, '"totals"');
    } catch (error) {
      return error instanceof Error ? error.message : '';
    }
    return '';
  };
  assert.match(messageFor(undefined), /returned undefined;/);
  assert.match(messageFor({ id: 1, name: 'a' }), /an object with the fields \{id, name\}/);
  assert.match(messageFor(['a', NaN]), /an array with NaN at index 1/);
  // oxlint-disable-next-line no-sparse-arrays -- what it is about
  assert.match(messageFor(['a', , 'b']), /an array with undefined at index 1/);
});

test('what may be a key passes', () => {
  const keys: KeyValue[] = ['', 0, -1.5, 10n, true, ['a', 1, [false]], []];
  for (const key of keys) assert.doesNotThrow(() => checkKey(key, '"totals"'));
});
