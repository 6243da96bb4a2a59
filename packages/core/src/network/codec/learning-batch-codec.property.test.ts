import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BinaryReader } from '../../base/codec/binary-reader.ts';
import { BinaryWriter } from '../../base/codec/binary-writer.ts';
import { LearningBatchCodec } from './learning-batch-codec.ts';

/** What structured clone keeps, to a small depth. */
const leaf: fc.Arbitrary<unknown> = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constant(-0),
  fc.boolean(),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constant('\udc00 alone'),
  fc.constant(null),
  fc.constant(undefined),
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array({ maxLength: 4 }),
);
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.string({ maxLength: 3 }), tie('value'), { maxKeys: 4 }),
    fc.array(fc.tuple(leaf, tie('value')), { maxLength: 2 }).map((entries) => new Map(entries)),
    fc.array(leaf, { maxLength: 3 }).map((values) => new Set(values)),
    fc.sparseArray(leaf, { maxLength: 4 }),
  ),
}));

/** Names that mean something to JavaScript, to msgpackr or to whoever builds code from them. */
const fieldName: fc.Arbitrary<string> = fc.oneof(
  fc.string({ minLength: 1, maxLength: 4 }),
  fc.constantFrom('__proto__', '__keys__', 'constructor', 'toString', 'hasOwnProperty', 'length'),
  fc.constantFrom('', '0', '-1', '1e3', 'class', "a'b", 'a"b', 'a\\b', 'a\nb', 'a\u2028b', '${v}'),
  fc.constantFrom('*/', '\u{1f600}', '\ud800', '?a', '.a', 'V', 'r', 'X'),
);

/** An arbitrary of values of one shape, as far as there is one. */
const arbitraryOfShape: fc.Arbitrary<fc.Arbitrary<unknown>> = fc.letrec<{
  shape: fc.Arbitrary<unknown>;
}>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<fc.Arbitrary<unknown>>(
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('red', 'green', 'blue'),
      fc.date({ noInvalidDate: false }),
      anyValue,
    ),
    tie('shape').map((inner) => fc.option(inner, { freq: 4 })),
    tie('shape').map((inner) => fc.array(inner, { maxLength: 3 })),
    fc
      .dictionary(fieldName, tie('shape'), { maxKeys: 6 })
      .map((fields) => fc.record(fields, { requiredKeys: Object.keys(fields).slice(1) })),
  ),
})).shape;

test('whatever structured clone keeps comes back, batch after batch, from a fresh reader', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc
          .oneof(arbitraryOfShape, fc.constant(anyValue))
          .chain((shape) =>
            fc.array(fc.array(shape, { minLength: 4, maxLength: 20 }), { maxLength: 3 }),
          ),
        { minLength: 1, maxLength: 3 },
      ),
      (phases) => {
        const sender = new LearningBatchCodec();
        for (const values of phases.flat()) {
          const output = new BinaryWriter();
          sender.encode({ values, timestamps: null }, output, 1);
          const input = new BinaryReader(output.copy());
          const back = new LearningBatchCodec().decode(input).values;
          assert.equal(input.remaining, 0);
          assert.deepEqual(back, structuredClone(values));
          assert.deepEqual(back.map(fieldOrder), values.map(fieldOrder));
        }
      },
    ),
    { numRuns: 300 },
  );
});

function fieldOrder(value: unknown): string {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? Object.keys(value).join('|') : '';
}
