import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ColumnScratch } from './column-plan.ts';

test('memory is used again, and given back after a batch that needed very much', () => {
  const scratch = new ColumnScratch();
  scratch.fit(1000);
  const first = scratch.u8.buffer;
  scratch.fit(999);
  assert.equal(scratch.u8.buffer, first);
  scratch.fit(50_000_001);
  assert.equal(scratch.u8.length % 8, 0);
  assert.ok(scratch.u8.length >= 50_000_001);
  const large = scratch.u8.buffer;
  scratch.fit(49_000_000);
  assert.equal(scratch.u8.buffer, large);
  scratch.fit(100);
  assert.ok(scratch.u8.length <= 4 * 1024 * 1024);
});
