import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  formatDuration,
  formatMemorySize,
  tryParseDuration,
  tryParseMemorySize,
} from './duration.ts';

test('what is shown of a duration or size can be read back', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 10_000 }),
      fc.constantFrom(1, 1000, 1024, 60_000, 1024 ** 2),
      (n, unit) => {
        assert.equal(tryParseDuration(formatDuration(n * unit)), n * unit);
        assert.equal(tryParseMemorySize(formatMemorySize(n * unit)), n * unit);
      },
    ),
  );
});
