import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BinaryReader } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { writeFlat } from './flat-parts.ts';
import { ValueDecoder, ValueEncoder } from './value-codec.ts';

const part = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, 31, 32, 63, 64, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32),
  fc.constantFrom(-1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31), -(2 ** 31) - 1),
  fc.string(),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom(...[11, 12, 31, 32, 127, 255, 256, 65_535, 65_536].map((n) => 'a'.repeat(n))),
  fc.constantFrom(
    'é'.repeat(16),
    'aé',
    'é'.repeat(600),
    'a'.repeat(17_000),
    'x'.repeat(3_000_000),
    '\ud800',
    'ü'.repeat(200),
  ),
  fc.boolean(),
  fc.constantFrom(null, undefined, 12n),
);

test('parts of primitives have the bytes that msgpackr would give them', () => {
  let flat = 0;
  fc.assert(
    fc.property(fc.array(part, { maxLength: 17 }), (parts) => {
      if (writeFlat(1, parts, new BinaryWriter(1))) flat++;
      const [quick, plain] = [new BinaryWriter(1), new BinaryWriter()];
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

test('values of every kind in turn are read one after another', () => {
  const value = fc.oneof(fc.array(part, { maxLength: 5 }), fc.constant([1, { a: [1] }]));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 60 }), (values) => {
      const [output, encoder] = [new BinaryWriter(), new ValueEncoder()];
      for (const parts of values) encoder.writeParts(parts, output);
      const input = new BinaryReader(output.view());
      const decoder = new ValueDecoder(encoder.shapes);
      for (const parts of values) assert.deepEqual(decoder.read(input), parts);
      assert.equal(input.remaining, 0);
    }),
  );
});

test('parts that are cut off or of another length are not taken for others', () => {
  const encoder = new ValueEncoder();
  const parts = [1, 300, -70_000, 2 ** 31, 0.5, 'text', 'x'.repeat(300), true, null];
  const output = new BinaryWriter();
  encoder.writeParts(parts, output);
  const bytes = output.copy();
  for (let length = 0; length < bytes.length; length++)
    assert.throws(() => new ValueDecoder([]).read(new BinaryReader(bytes.subarray(0, length))), {
      code: 'SERIALIZATION_FAILED',
    });
  // Says that it is shorter than it is.
  const [low = 0] = bytes;
  const shorter = bytes.with(0, low - 3);
  assert.throws(() => new ValueDecoder([]).read(new BinaryReader(shorter)), {
    code: 'SERIALIZATION_FAILED',
  });
});
