import { deepStrictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BinaryReader } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { ValueDecoder, ValueEncoder, decodeValue, encodeValue } from './value-codec.ts';

const ordinary = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  key: fc.oneof(
    fc.string(),
    fc.constantFrom('__proto__', '__keys__', 'constructor', 'length', 'toJSON', '0', '-1'),
    fc.string({ unit: 'binary' }),
  ),
});

const odd = fc.oneof(
  fc.constantFrom<unknown>(-0, Number.NaN, Infinity, -Infinity, undefined, null, '', '\u{1F600}'),
  fc.constantFrom<unknown>(
    new Date(Number.NaN),
    new Date(-1),
    new Date(8.64e15),
    /a\/b/giu,
    /(?:)/,
  ),
  fc.array(fc.integer({ min: 0xd700, max: 0xe000 })).map((units) => String.fromCharCode(...units)),
  fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }),
  fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 3000 })).map(([minus, bits]) => {
    const power = 1n << BigInt(bits);
    return minus ? -power : power;
  }),
  fc.date({ noInvalidDate: false }),
  fc.double(),
  fc.uint8Array().map((bytes) => bytes.buffer),
  fc.uint8Array({ minLength: 3 }).map((bytes) => new DataView(bytes.buffer, 1, bytes.length - 2)),
  fc.tuple(fc.constantFrom(Error, TypeError, RangeError), fc.string()).map(([Type, message]) => {
    return new Type(message, { cause: { message } });
  }),
);

/** Values that share objects, and that contain themselves. */
const tangled = fc
  .tuple(fc.array(fc.nat(), { minLength: 1 }), fc.array(fc.tuple(fc.nat(), fc.nat(), odd)))
  .map(([kinds, links]) => {
    const nodes = kinds.map((kind) => [{}, [], new Map(), new Set()][kind % 4]!);
    for (const [from, to, value] of links) {
      const source: unknown = nodes[from % nodes.length];
      const target = nodes[to % nodes.length];
      if (source instanceof Map) source.set(target, value).set(value, target);
      else if (source instanceof Set) source.add(target).add(value);
      else if (Array.isArray(source)) source.push(target, value);
      else Object.assign(source as object, { [`${to}`]: target, value });
    }
    return nodes[0];
  });

const value = fc.oneof(
  ordinary,
  odd,
  tangled,
  fc.array(fc.oneof(odd, ordinary)),
  fc.dictionary(fc.string(), fc.oneof(odd, ordinary)),
  fc
    .tuple(fc.array(odd), fc.dictionary(fc.string(), odd))
    .map(([array, { length: _, ...fields }]) => Object.assign(array, fields)),
);

test('whatever structured clone keeps comes back from its bytes', () => {
  fc.assert(
    fc.property(value, (original) => {
      deepStrictEqual(decodeValue(encodeValue(original)), structuredClone(original));
    }),
    { numRuns: 500 },
  );
});

test('values written into one buffer come back in order, with the shapes alone', () => {
  fc.assert(
    fc.property(fc.array(value), (originals) => {
      const encoder = new ValueEncoder();
      const writer = new BinaryWriter();
      for (const original of originals) encoder.write(original, writer);
      encoder.writeParts(originals, writer);
      const reader = new BinaryReader(writer.copy());
      const decoder = new ValueDecoder(encoder.shapes);
      for (const original of originals)
        deepStrictEqual(decoder.read(reader), structuredClone(original));
      deepStrictEqual(decoder.read(reader), structuredClone(originals));
      deepStrictEqual(reader.remaining, 0);
    }),
    { numRuns: 200 },
  );
});

test('records of one shape come back, however many other shapes there are', () => {
  const shape = fc.uniqueArray(fc.constantFrom(...'abcdefghijkl'.split('')), { minLength: 0 });
  fc.assert(
    fc.property(fc.array(shape, { minLength: 40, maxLength: 150 }), (shapes) => {
      const records = shapes.map((names, i) => Object.fromEntries(names.map((name) => [name, i])));
      deepStrictEqual(decodeValue(encodeValue(records)), records);
      const encoder = new ValueEncoder();
      const writer = new BinaryWriter();
      for (const record of records) encoder.write(record, writer);
      encoder.write(records, writer);
      const reader = new BinaryReader(writer.view());
      const decoder = new ValueDecoder(encoder.shapes);
      for (const record of records) deepStrictEqual(decoder.read(reader), record);
      deepStrictEqual(decoder.read(reader), records);
    }),
    { numRuns: 60 },
  );
});
