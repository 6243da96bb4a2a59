/** The jobs in `examples` survive what `simulate` does to them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '@weir/core';
import { simulate } from './simulate.ts';

async function example(name: string): Promise<Job> {
  const url = new URL(`../../../../examples/${name}.ts`, import.meta.url);
  return ((await import(url.href)) as { readonly default: Job }).default;
}

const SEEDS = 12;
const FILES = { input: 'in', output: 'out' };

test('word-count', async () => {
  const lines = Array.from({ length: 30 }, (_, index) => `to be or not ${index % 4}`);
  const result = await simulate(await example('word-count'), {
    args: FILES,
    input: { lines },
    seeds: SEEDS,
  });
  assert.ok(result.restores > 0);
});

test('sessionize, with clicks in two files that are read side by side', async () => {
  const clicks = (users: string): readonly object[] =>
    Array.from({ length: 40 }, (_, index) => ({
      user: users[index % 2],
      at: index * 10_000 + (index > 20 ? 3_600_000 : 0) - (index % 3) * 1000,
      page: '/',
    }));
  const result = await simulate(await example('sessionize'), {
    args: FILES,
    input: { clicks: { splits: [clicks('ab'), clicks('cd')] } },
    seeds: SEEDS,
  });
  assert.equal(result.outputs['sessions-out']?.length, 8);
});

test('even-odd-sum', async () => {
  const numbers = Array.from({ length: 50 }, (_, index) => String(index));
  const result = await simulate(await example('even-odd-sum'), {
    args: FILES,
    input: { numbers },
    parallelism: [1, 2],
    seeds: SEEDS,
  });
  assert.equal(result.outputs['sums-out']?.length, 50);
});

test('kafka-running-totals, from partitions by account', async () => {
  const orders = (account: string): readonly object[] =>
    Array.from({ length: 20 }, (_, amount) => ({ account, amount }));
  const result = await simulate(await example('kafka-running-totals'), {
    args: { bootstrap: 'broker:9092', orders: 'orders', totals: 'totals' },
    input: { orders: { splits: [orders('a'), orders('b'), orders('c')] } },
    seeds: SEEDS,
  });
  assert.equal(result.outputs['totals-out']?.length, 60);
  assert.deepEqual(result.notes, []);
});
