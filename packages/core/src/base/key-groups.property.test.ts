import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hashKey, keyGroupOf, keyGroupRange, subtaskOf } from './key-groups.ts';
import type { KeyValue } from './key-groups.ts';

const anyKey = fc.letrec<{ key: KeyValue }>((tie) => ({
  key: fc.oneof(
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.bigInt(),
    fc.boolean(),
    fc.array(tie('key'), { maxLength: 3 }),
  ),
})).key;

test('every key has a 32-bit hash and a key group', () => {
  fc.assert(
    fc.property(anyKey, fc.integer({ min: 1, max: 32_768 }), (key, maxParallelism) => {
      const hash = hashKey(key);
      assert.equal(hash, hash | 0);
      const group = keyGroupOf(hash, maxParallelism);
      assert.ok(Number.isInteger(group) && group >= 0 && group < maxParallelism);
    }),
  );
});

test('the ranges of all subtasks hold every key group once, at its owner', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 1, max: 400 }),
      (maxParallelism, parallelism) => {
        const groups: number[] = [];
        for (let subtask = 0; subtask < parallelism; subtask++) {
          const [first, last] = keyGroupRange(maxParallelism, parallelism, subtask);
          for (let group = first; group <= last; group++) {
            groups.push(group);
            assert.equal(subtaskOf(group, maxParallelism, parallelism), subtask);
          }
        }
        assert.deepEqual(
          groups,
          Array.from({ length: maxParallelism }, (_, i) => i),
        );
      },
    ),
  );
});
