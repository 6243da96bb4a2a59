import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BinaryReader } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { flatSizeOf } from './flat-parts.ts';
import { ValueDecoder, ValueEncoder } from './value-codec.ts';

const part = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, 31, 32, 63, 64, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32),
  fc.constantFrom(-1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31), -(2 ** 31) - 1),
  fc.string(),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom(...[15, 16, 31, 32, 255, 256, 65_535, 65_536].map((n) => 'a'.repeat(n))),
  fc.constantFrom('é'.repeat(16), '\ud800', 'ü'.repeat(200)),
  fc.boolean(),
  fc.constantFrom(null, undefined, 12n),
);

test('parts of primitives have the bytes that msgpackr would give them', () => {
  let flat = 0;
  fc.assert(
    fc.property(fc.array(part, { maxLength: 17 }), (parts) => {
      if (flatSizeOf(parts) > 0) flat++;
      const [quick, plain] = [new BinaryWriter(), new BinaryWriter()];
      new ValueEncoder().writeParts(parts, quick);
      new ValueEncoder().write(parts, plain);
      assert.deepEqual(Buffer.from(quick.view()), Buffer.from(plain.view()));
      const decoded = new ValueDecoder([]).read(new BinaryReader(quick.view()));
      assert.deepEqual(decoded, parts);
    }),
    { numRuns: 500 },
  );
  assert.ok(flat > 100, `only ${flat} took the quick way`);
});
