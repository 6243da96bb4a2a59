import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { packed, unpacked } from './logged-commands.ts';

test('commands come out of the log as they went in', () => {
  const argument = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', ',', ';', '|', '3,1|'),
  );
  const bytes = fc.uint8Array().map((it) => Buffer.from(it));
  const commands = (one: fc.Arbitrary<string | Buffer>) =>
    fc.array(fc.array(one, { minLength: 1, maxLength: 5 }), { maxLength: 4 });
  fc.assert(
    fc.property(fc.oneof(commands(argument), commands(fc.oneof(argument, bytes))), (given) => {
      assert.deepEqual(unpacked(packed(given)), given);
    }),
  );
  assert.equal(typeof packed([['SET', 'k', 'v']]), 'string');
});
