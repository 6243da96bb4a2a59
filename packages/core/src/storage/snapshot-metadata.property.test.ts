import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { SnapshotMetadata } from '../protocol/snapshot.ts';
import { decodeSnapshotMetadata, encodeSnapshotMetadata } from './snapshot-metadata.ts';
import { metadataOf } from './test-support.ts';

/** Anything that metadata may come to hold: the codec knows no types. */
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.double(),
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.bigInt(),
    fc.uint8Array(),
    fc.array(tie('value')),
    fc.dictionary(
      fc.string().filter((key) => !key.startsWith('$') && key !== '__proto__'),
      tie('value'),
      { noNullPrototype: true },
    ),
  ),
})).value;

test('metadata survives encoding, odd numbers and bytes included', () => {
  fc.assert(
    fc.property(anything, (extra) => {
      const metadata = { ...metadataOf(1, []), extra } as SnapshotMetadata;
      const bytes = encodeSnapshotMetadata(metadata);
      assert.deepStrictEqual(decodeSnapshotMetadata(bytes, '/m'), metadata);
    }),
  );
});

test('no single damaged byte goes unseen [R011]', () => {
  const data = [{ kind: 'inline', bytes: new Uint8Array([1, 2, 3]), checksum: 7 }] as const;
  const intact = encodeSnapshotMetadata(metadataOf(1, data));
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: intact.byteLength - 1 }),
      fc.integer({ min: 1, max: 255 }),
      (position, mask) => {
        const bytes = intact.slice();
        bytes[position]! ^= mask;
        assert.throws(() => decodeSnapshotMetadata(bytes, '/m'), { code: 'STATE_CORRUPT' });
      },
    ),
  );
});

test('no metadata cut short goes unseen', () => {
  const intact = encodeSnapshotMetadata(metadataOf(1, []));
  for (let length = 0; length < intact.byteLength; length++) {
    const bytes = intact.subarray(0, length);
    assert.throws(() => decodeSnapshotMetadata(bytes, '/m'), { code: 'STATE_CORRUPT' });
  }
});
