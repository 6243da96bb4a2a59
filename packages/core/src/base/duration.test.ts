import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatDuration,
  formatMemorySize,
  parseDuration,
  tryParseDuration,
  tryParseMemorySize,
} from './duration.ts';
import { ConfigurationError } from './errors.ts';

test('durations are read in every unit that Flink has down to the millisecond', () => {
  const cases: readonly (readonly [string | number, number])[] = [
    [250, 250],
    ['250', 250],
    ['500ms', 500],
    ['500 ms', 500],
    ['10s', 10_000],
    ['1 min', 60_000],
    ['2m', 120_000],
    ['3 hours', 10_800_000],
    ['1d', 86_400_000],
    ['0.5s', 500],
    [' 5 SEC ', 5000],
    [0, 0],
  ];
  for (const [text, ms] of cases) assert.equal(tryParseDuration(text), ms, String(text));
});

test('what is no duration, or finer than a millisecond, is refused and not rounded', () => {
  for (const text of ['', '5 apples', '-1s', -1, '1.5ms', '10us', '1s 5ms', 'constructor', NaN])
    assert.equal(tryParseDuration(text), null, String(text));
});

test('a wrong duration names its value and the forms that are allowed', () => {
  assert.throws(
    () => parseDuration('-5s'),
    (error) =>
      error instanceof ConfigurationError &&
      error.code === 'CONFIG_INVALID' &&
      error.message.includes('"-5s"') &&
      error.message.includes('10s'),
  );
});

test('memory sizes are powers of 1024', () => {
  const cases: readonly (readonly [string | number, number | null])[] = [
    ['4096', 4096],
    [4096, 4096],
    ['64kb', 65_536],
    ['64 k', 65_536],
    ['32mb', 33_554_432],
    ['1 GB', 1_073_741_824],
    ['1 mile', null],
    ['-1kb', null],
    ['0.3kb', null],
  ];
  for (const [text, bytes] of cases) assert.equal(tryParseMemorySize(text), bytes, String(text));
});

test('durations and sizes are shown in the largest unit that keeps them whole', () => {
  assert.equal(formatDuration(600_000), '10 min');
  assert.equal(formatDuration(1500), '1500 ms');
  assert.equal(formatDuration(0), '0 ms');
  assert.equal(formatMemorySize(20_480), '20 kb');
  assert.equal(formatMemorySize(5000), '5000 b');
});
