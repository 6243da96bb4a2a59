import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryReader } from '../base/codec/binary-reader.ts';
import { BinaryWriter } from '../base/codec/binary-writer.ts';
import type { RecordBatch } from '../base/records.ts';
import { GeneralBatchCodec } from './batch-codec.ts';

function encode(batch: RecordBatch): Uint8Array {
  const output = new BinaryWriter();
  new GeneralBatchCodec().encode(batch, output);
  return output.copy();
}

/** Encoded by one codec and decoded by another, as between threads. */
function roundTrip(values: readonly unknown[]): readonly unknown[] {
  const input = new BinaryReader(encode({ values, timestamps: null }));
  const batch = new GeneralBatchCodec().decode(input);
  assert.equal(input.remaining, 0);
  return batch.values;
}

test('values that only structured clone keeps survive among simple ones', () => {
  const cyclic: { name: string; self?: unknown } = { name: 'loop' };
  cyclic.self = cyclic;
  const values = [
    { id: 1, name: 'plain' },
    -0,
    { id: 2, amount: -0 },
    Number.NaN,
    undefined,
    null,
    { missing: undefined },
    new Date(1_700_000_000_123),
    new Map<unknown, unknown>([['a', new Set([1n, 2n ** 70n])]]),
    Uint16Array.of(1, 65535),
    'lone \ud800 surrogate',
    { id: 3, name: 'plain' },
  ];
  assert.deepEqual(roundTrip(values), values);
  const [loop] = roundTrip([cyclic]) as (typeof cyclic)[];
  assert.equal(loop?.self, loop);
});

test('a batch of many shapes keeps them apart', () => {
  const values = Array.from({ length: 500 }, (_, i) => ({ [`field${i % 150}`]: i, other: 'x' }));
  assert.deepEqual(roundTrip(values), values);
});

test('a batch is read without what was read before', () => {
  const codec = new GeneralBatchCodec();
  const output = new BinaryWriter();
  for (let i = 0; i < 3; i++) {
    output.reset();
    codec.encode({ values: [{ id: i, name: 'x' }], timestamps: null }, output);
  }
  const batch = new GeneralBatchCodec().decode(new BinaryReader(output.view()));
  assert.deepEqual(batch.values, [{ id: 2, name: 'x' }]);
});

test('what was decoded does not change when the buffer is used again', () => {
  const bytes = encode({ values: [Uint8Array.of(1, 2, 3)], timestamps: Float64Array.of(5) });
  const batch = new GeneralBatchCodec().decode(new BinaryReader(bytes));
  bytes.fill(0xff);
  assert.deepEqual(batch, { values: [Uint8Array.of(1, 2, 3)], timestamps: Float64Array.of(5) });
});

test('a value that cannot be encoded is an error that names its place', () => {
  const record = { id: 1, handlers: [{ call: (): void => undefined }] };
  assert.throws(() => encode({ values: [{ id: 0 }, record], timestamps: null }), {
    code: 'SERIALIZATION_FAILED',
    message: /a function .*handlers\[0\]\.call/,
  });
});

test('damaged bytes are an error of their own', () => {
  const bytes = encode({ values: [{ id: 1 }, { id: 2 }], timestamps: null });
  for (let length = 0; length < bytes.length; length++)
    assert.throws(
      () => new GeneralBatchCodec().decode(new BinaryReader(bytes.subarray(0, length))),
      {
        code: 'SERIALIZATION_FAILED',
      },
    );
});
