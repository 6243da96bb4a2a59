import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BATCH_SIZE } from '../base/records.ts';
import { BatchLimit, estimateBytes } from './batch-limit.ts';

const MEGABYTE = 1 << 20;

function limitAfter(values: Iterable<unknown>): number {
  const limit = new BatchLimit();
  for (const value of values) limit.observe(value);
  return limit.records;
}

test('small records make full batches', () => {
  assert.equal(limitAfter(Array.from({ length: 500 }, (_, id) => ({ id, name: 'x' }))), BATCH_SIZE);
});

test('the first record of a megabyte makes a batch', () => {
  assert.equal(limitAfter(['x'.repeat(MEGABYTE)]), 1);
  assert.equal(limitAfter([{ list: [new Uint8Array(MEGABYTE)] }]), 1);
});

test('a batch holds about as many bytes, whatever the size of records', () => {
  for (const size of [1000, 10_000, 100_000]) {
    const bytes =
      size * limitAfter(Array.from({ length: 300 }, () => ({ text: 'y'.repeat(size) })));
    assert.ok(bytes > 100_000 && bytes < 300_000, `${bytes} bytes a batch`);
  }
});

test('a change of size is noticed in both directions', () => {
  const limit = new BatchLimit();
  const observe = (count: number, value: unknown): void => {
    for (let i = 0; i < count; i++) limit.observe(value);
  };
  observe(1000, 'small');
  observe(64, 'z'.repeat(MEGABYTE));
  assert.ok(limit.records <= 2);
  observe(5000, 'small');
  assert.equal(limit.records, BATCH_SIZE);
});

test('the estimate counts what is inside, and ends for cycles', () => {
  const cycle: { self?: unknown; text: string } = { text: 'a'.repeat(1000) };
  cycle.self = cycle;
  assert.ok(estimateBytes(cycle) >= 1000 && estimateBytes(cycle) < 10_000);
  assert.ok(estimateBytes(new Map([['k', new Set(['b'.repeat(500)])]])) > 500);
  const wide = Array.from({ length: 10_000 }, () => 1.5);
  assert.ok(estimateBytes(wide) >= 80_000);
});

test('a getter that throws is passed over: within a thread nobody need read it', () => {
  const limit = new BatchLimit();
  limit.observe({
    get price(): number {
      throw new Error('no rate');
    },
  });
  assert.ok(limit.records > 1);
});
