import { deepStrictEqual, notStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import { SerializationError } from '../errors.ts';
import { BinaryReader } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { ValueDecoder, ValueEncoder, decodeValue, encodeValue } from './value-codec.ts';

function copyOf<T>(value: T): T {
  return decodeValue(encodeValue(value)) as T;
}

function transferred(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

function throwing(): object {
  return {
    get price(): number {
      throw new Error('no rate');
    },
  };
}

test('what cannot be stored is refused, naming its place and what to do', () => {
  const cases: [unknown, RegExp][] = [
    [
      { a: { b: [1, 2, 3, () => 1] } },
      /cannot store a function \(at a\.b\[3\]\): only data .*leave/,
    ],
    [{ 'not a name': Symbol('s') }, /cannot store a symbol \(at \["not a name"\]\)/],
    [new Map([['k', { f: test }]]), /a function \(at get\(k\)\.f\)/],
    [() => 1, /cannot store a function: only data/],
    [{ p: Promise.resolve(1) }, /cannot store a Promise \(at p\)/],
    [[new WeakMap()], /cannot store a WeakMap \(at \[0\]\)/],
    [{ p: Object.assign(Promise.resolve(1), { url: '/' }) }, /cannot store a Promise \(at p\)/],
    [{ bytes: transferred() }, /cannot store a view of an ArrayBuffer that was tr.* \(at bytes\)/],
    [{ a: throwing() }, /cannot store a field that throws \("no rate"\) \(at a\.price\)/],
    [[Object.create(Date.prototype)], /cannot store an object that cannot be read .* \(at \[0\]\)/],
    [{ buffer: new SharedArrayBuffer(8) }, /cannot store a SharedArrayBuffer \(at buffer\)/],
  ];
  for (const [value, message] of cases)
    throws(
      () => encodeValue(value),
      (error: unknown) => error instanceof SerializationError && message.test(error.message),
      String(message),
    );
});

test('instances of classes come back as plain objects with their fields', () => {
  class Money {
    readonly amount = 3;
    readonly #currency = 'EUR';
    get text(): string {
      return `${this.amount} ${this.#currency}`;
    }
    toJSON(): string {
      return this.text;
    }
  }
  deepStrictEqual(copyOf({ price: new Money() }), { price: { amount: 3 } });
});

test('one object met twice stays one, also when it holds itself', () => {
  const shared = { n: 1 };
  const value: { a: unknown; b: unknown; self?: unknown } = { a: shared, b: [shared] };
  value.self = value;
  const copy = copyOf(value) as { a: unknown; b: [unknown]; self: unknown };
  strictEqual(copy.a, copy.b[0]);
  strictEqual(copy.self, copy);
});

test('depth costs no stack', () => {
  let list: { next: unknown } = { next: null };
  for (let i = 0; i < 100_000; i++) list = { next: list };
  let depth = 0;
  for (let at: unknown = copyOf(list); at !== null; at = (at as { next: unknown }).next) depth++;
  strictEqual(depth, 100_001);
});

test('a decoded array of bytes is no view of the bytes it came from', () => {
  const bytes = encodeValue({ raw: Buffer.from('abc'), typed: Uint16Array.of(1, 2) });
  const copy = decodeValue(bytes) as { raw: Uint8Array; typed: Uint16Array };
  bytes.fill(0);
  strictEqual(Buffer.from(copy.raw).toString(), 'abc');
  deepStrictEqual(copy.typed, Uint16Array.of(1, 2));
  notStrictEqual(copy.raw.buffer, bytes.buffer);
  strictEqual(copy.raw.constructor, Uint8Array);
});

test('an error keeps its class, message, stack and cause', () => {
  const error = new RangeError('too far', { cause: new Error('inner') });
  const copy = copyOf(error);
  ok(copy instanceof RangeError);
  strictEqual(copy.stack, error.stack);
  strictEqual((copy.cause as Error).message, 'inner');
});

test('an error comes back whatever name it was given', () => {
  for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty', '', 'OddError']) {
    const error = Object.assign(new TypeError('broken'), { name });
    deepStrictEqual(copyOf({ error }), structuredClone({ error }), name);
  }
});

test('half floats and resizable buffers survive where the platform has them', () => {
  const { Float16Array: found } = globalThis as { Float16Array?: unknown };
  const Float16 = found as typeof Float32Array | undefined;
  if (Float16 !== undefined) deepStrictEqual(copyOf(Float16.of(1.5)), Float16.of(1.5));
  const buffer = new ArrayBuffer(2, { maxByteLength: 8 });
  strictEqual(copyOf(buffer).maxByteLength, 8);
});

test('bytes that were cut off or written by something else are refused', () => {
  const bytes = encodeValue({ name: 'a text that is long enough', list: [1, 2, 3] });
  for (let end = 0; end < bytes.length; end++)
    throws(() => decodeValue(bytes.subarray(0, end)), SerializationError);
  throws(() => decodeValue(Uint8Array.of(9, 1)), /its first byte is 9/);
  throws(() => decodeValue(encodeValue([-0]).fill(0xc1, 3, 4)), SerializationError);
});

test('bytes of the first version can be read for ever', () => {
  const simple = '01d4724092a16ea46c697374cd012c93c0c3cb3ff8000000000000';
  deepStrictEqual(decodeValue(Buffer.from(simple, 'hex')), { n: 300, list: [null, true, 1.5] });
  const graph = '029392019491ff91fea1619101920392a16b9102920505';
  // eslint-disable-next-line no-sparse-arrays -- a hole is what is tested
  const expected = [-0, , 'a', new Map([['k', new Date(5)]])];
  deepStrictEqual(decodeValue(Buffer.from(graph, 'hex')), expected);
});

test('field names are written once per buffer, and dictionaries do not count as shapes', () => {
  const encoder = new ValueEncoder();
  const writer = new BinaryWriter();
  const sizes = [1, 2, 3].map((n) => {
    const before = writer.length;
    encoder.write({ customer: n, amount: n }, writer);
    return writer.length - before;
  });
  deepStrictEqual(sizes, [5, 5, 5]);
  const wide = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`key${i}`, i]));
  encoder.write(wide, writer);
  deepStrictEqual(encoder.shapes, [['customer', 'amount']]);
  const reader = new BinaryReader(writer.copy());
  const decoder = new ValueDecoder(encoder.shapes);
  for (const n of [1, 2, 3]) deepStrictEqual(decoder.read(reader), { customer: n, amount: n });
  deepStrictEqual(decoder.read(reader), wide);
});

test('a value of many megabytes comes back, and so does what follows it', () => {
  const large = 'x'.repeat(6 * 1024 * 1024);
  strictEqual(copyOf({ large }).large.length, large.length);
  strictEqual(copyOf({ small: 1 }).small, 1);
});
