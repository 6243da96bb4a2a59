import { deepStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SerializationError } from '../errors.ts';
import { BinaryReader } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { checksumText, crc32 } from './crc32.ts';

test('what was written is read back in order', () => {
  const item = fc.oneof(
    fc.tuple(fc.constant('varint' as const), fc.maxSafeNat()),
    fc.tuple(fc.constant('u8' as const), fc.nat(255)),
    fc.tuple(fc.constant('u32' as const), fc.nat(2 ** 32 - 1)),
    fc.tuple(fc.constant('f64' as const), fc.double()),
    fc.tuple(fc.constant('string' as const), fc.string({ unit: 'grapheme' })),
  );
  fc.assert(
    fc.property(fc.array(item), fc.uint8Array({ maxLength: 100 }), (items, bytes) => {
      const writer = new BinaryWriter(1);
      for (const [kind, value] of items) writer[kind](value as never);
      writer.bytes(bytes);
      const reader = new BinaryReader(writer.copy());
      for (const [kind, value] of items) deepStrictEqual(reader[kind](), value);
      deepStrictEqual(reader.bytes(bytes.length), bytes);
      strictEqual(reader.remaining, 0);
    }),
  );
});

test('a reader never reads past the end', () => {
  const writer = new BinaryWriter();
  writer.string('a text of some length');
  const whole = writer.copy();
  for (let end = 0; end < whole.length; end++)
    throws(() => new BinaryReader(whole.subarray(0, end)).string(), SerializationError);
  throws(() => new BinaryReader(new Uint8Array(20).fill(0xff)).varint(), SerializationError);
});

test('a reset writer overwrites what it had, and a copy is not touched by that', () => {
  const writer = new BinaryWriter();
  writer.u32(1);
  const copy = writer.copy();
  writer.reset();
  writer.u8(7);
  deepStrictEqual(writer.copy(), Uint8Array.of(7));
  deepStrictEqual(copy, Uint8Array.of(1, 0, 0, 0));
});

test('the checksum is the CRC-32 of zip, and may be taken piece by piece', () => {
  const bytes = Buffer.from('123456789');
  strictEqual(checksumText(crc32(bytes)), 'cbf43926');
  strictEqual(crc32(bytes.subarray(4), crc32(bytes.subarray(0, 4))), crc32(bytes));
  strictEqual(checksumText(1), '00000001');
});
