import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PartitionerSpec } from '../api/stream-graph.ts';
import { hashKey, keyGroupOf, keyGroupRange } from '../base/key-groups.ts';
import { seededRandom } from '../base/random.ts';
import { ALL_CHANNELS, createPartitioner } from './partitioner.ts';
import type { ChannelSelector } from './partitioner.ts';

function selectorOf(spec: PartitionerSpec, channelCount: number, seed = 1): ChannelSelector {
  return createPartitioner({
    spec,
    channelCount,
    maxParallelism: 128,
    random: seededRandom(seed),
    operatorName: 'parse',
  });
}

function draws(selector: ChannelSelector, count: number): number[] {
  return Array.from({ length: count }, (_, i) => selector(i));
}

test('rebalance and rescale go round, from a start that differs between producers', () => {
  for (const type of ['rebalance', 'rescale'] as const) {
    const starts = new Set<number>();
    for (let seed = 0; seed < 40; seed++) {
      const [first, ...rest] = draws(selectorOf({ type }, 4, seed), 8);
      starts.add(first!);
      assert.deepEqual(
        rest,
        [1, 2, 3, 4, 5, 6, 7].map((step) => (first! + step) % 4),
      );
    }
    assert.equal(starts.size, 4);
  }
});

test('shuffle draws every channel', () => {
  assert.equal(new Set(draws(selectorOf({ type: 'shuffle' }, 3), 100)).size, 3);
});

test('forward and global use the first channel, broadcast all', () => {
  assert.deepEqual(draws(selectorOf({ type: 'forward' }, 1), 2), [0, 0]);
  assert.deepEqual(draws(selectorOf({ type: 'global' }, 3), 2), [0, 0]);
  assert.deepEqual(draws(selectorOf({ type: 'broadcast' }, 3), 2), [ALL_CHANNELS, ALL_CHANNELS]);
});

test('hash sends a record to the subtask that owns the key group of its key', () => {
  const keySelector = (value: unknown): string => `key${String(value)}`;
  const selector = selectorOf({ type: 'hash', keySelector }, 3);
  for (let i = 0; i < 100; i++) {
    const group = keyGroupOf(hashKey(keySelector(i)), 128);
    const [first, last] = keyGroupRange(128, 3, selector(i));
    assert.ok(group >= first && group <= last);
  }
});

test('a key that cannot be one is an error that names the operator', () => {
  const selector = selectorOf({ type: 'hash', keySelector: () => ({}) as string }, 3);
  assert.throws(() => selector('x'), { code: 'KEY_INVALID', message: /parse/ });
});

test('a custom partitioner must return a channel; what it returned is named', () => {
  const custom = (result: unknown): ChannelSelector =>
    selectorOf(
      { type: 'custom', partitioner: () => result as number, keySelector: (value) => value },
      3,
    );
  assert.equal(custom(2)('x'), 2);
  for (const result of [3, -1, 0.5, Number.NaN, '1', undefined])
    assert.throws(() => custom(result)('x'), {
      code: 'USER_FUNCTION_FAILED',
      message: new RegExp(`"parse" returned ${String(result)}; .* 0 to 2`),
    });
});

test('a custom partitioner sees the key and the number of channels', () => {
  const seen: unknown[] = [];
  const partitioner = (key: unknown, parallelism: number): number => {
    seen.push(key, parallelism);
    return 0;
  };
  const keySelector = (value: unknown): unknown => (value as { id: number }).id;
  selectorOf({ type: 'custom', partitioner, keySelector }, 3)({ id: 8 });
  assert.deepEqual(seen, [8, 3]);
});
