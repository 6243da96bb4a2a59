import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatBytes,
  formatCount,
  formatElapsed,
  formatNumberOf,
  formatRate,
  formatShare,
} from './format.ts';

test('counts have thousands separators', () => {
  assert.deepEqual([0, 999, 1000, 1_022_857].map(formatCount), ['0', '999', '1,000', '1,022,857']);
});

test('rates have three digits and a unit', () => {
  const rates = [0, 0.4, 999, 999.6, 12_345, 999_949, 999_950, 123_456_789];
  const expected = ['0/s', '0/s', '999/s', '1.00k/s', '12.3k/s', '1000k/s', '1.00M/s', '123M/s'];
  assert.deepEqual(rates.map(formatRate), expected);
});

test('sizes are in powers of 1024', () => {
  const sizes = [0, 1023, 1024, 1_258_291, 1024 ** 3 * 20];
  assert.deepEqual(sizes.map(formatBytes), ['0 B', '1023 B', '1.00 KB', '1.20 MB', '20.0 GB']);
});

test('elapsed time is in the two units that matter', () => {
  const minute = 60_000;
  const times = [0, 999.4, 999.6, 59_940, 59_960, 65_000, 90 * minute, 1440 * minute * 3];
  const expected = ['0 ms', '999 ms', '1.0 s', '59.9 s'];
  const longer = ['1 min 0 s', '1 min 5 s', '1 h 30 min', '3 d 0 h'];
  assert.deepEqual(times.map(formatElapsed), [...expected, ...longer]);
});

test('shares are whole percents, numbers have singular and plural', () => {
  assert.deepEqual([0, 0.005, 1].map(formatShare), ['0 %', '1 %', '100 %']);
  assert.equal(formatNumberOf(1, 'restart'), '1 restart');
  assert.equal(formatNumberOf(0, 'restart'), '0 restarts');
});
