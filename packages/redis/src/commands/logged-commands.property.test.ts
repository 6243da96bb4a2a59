import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bytesOf } from '../client/encode-command.ts';
import { asksKeys, commandCount, encoded, packed, unpacked } from './logged-commands.ts';

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '\r\n', '$3\r\nabc', 'x'.repeat(3000)),
);
const bytes = fc.uint8Array().map((it) => Buffer.from(it));
const commands = fc.array(fc.array(fc.oneof(text, bytes), { minLength: 1, maxLength: 5 }), {
  maxLength: 4,
});

test('what is logged is what is sent', () => {
  fc.assert(
    fc.property(commands, fc.boolean(), (given, asks) => {
      const logged = packed(given, asks).slice();
      assert.deepEqual(Buffer.from(encoded(logged)), bytesOf(given));
      assert.equal(commandCount(logged), given.length);
      assert.equal(asksKeys(logged), asks);
    }),
  );
});

test('commands can be looked at in the log', () => {
  fc.assert(
    fc.property(commands, (given) => {
      const texts = given.map((command) => command.map((it) => it.toString()));
      assert.deepEqual(unpacked(packed(given, true)), texts);
    }),
  );
});
