import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checksumText, crc32 } from '../base/codec/crc32.ts';
import { decodeSnapshotMetadata, encodeSnapshotMetadata } from './snapshot-metadata.ts';
import { metadataOf, VERTEX_ID } from './test-support.ts';

test('watermarks that JSON has no number for survive', () => {
  const base = metadataOf(7, [null]);
  const vertex = base.vertices[0]!;
  const inputs = [-Infinity, Infinity, 5].map((watermark, channelId) => ({
    channelId,
    k: 1,
    mark: 2,
    watermark,
    idle: false,
    endOfData: false,
    frames: [],
  }));
  const subtasks = [{ ...vertex.subtasks[0]!, inputs }];
  const metadata = { ...base, vertices: [{ ...vertex, subtasks }] };
  const decoded = decodeSnapshotMetadata(encodeSnapshotMetadata(metadata), '/m');
  assert.deepStrictEqual(decoded, metadata);
});

test('the JSON part can be read with any tool', () => {
  const bytes = Buffer.from(encodeSnapshotMetadata(metadataOf(7, [null])));
  const length = bytes.readUInt32BE(9);
  const json = JSON.parse(bytes.toString('utf8', 17, 17 + length)) as Record<string, unknown>;
  assert.equal(json['checkpointId'], 7);
  assert.match(JSON.stringify(json), new RegExp(VERTEX_ID));
});

test('damage names the file, the expected and the found checksum [R011]', () => {
  const bytes = encodeSnapshotMetadata(metadataOf(1, []));
  const expected = checksumText(crc32(bytes.subarray(0, -4)));
  bytes[30]! ^= 1;
  const found = checksumText(crc32(bytes.subarray(0, -4)));
  assert.throws(() => decodeSnapshotMetadata(bytes, '/chk-5/_metadata'), {
    code: 'STATE_CORRUPT',
    kind: 'corrupt',
    message:
      `the snapshot file /chk-5/_metadata is damaged: expected checksum ${expected}, found ` +
      `${found}; restore the file from a copy, or start from another snapshot`,
    details: { path: '/chk-5/_metadata', expectedChecksum: expected, foundChecksum: found },
  });
});

test('a format from the future is incompatible, not damaged', () => {
  const bytes = Buffer.from(encodeSnapshotMetadata(metadataOf(1, [])));
  bytes[8] = 2;
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
  assert.throws(() => decodeSnapshotMetadata(bytes, '/m'), {
    code: 'STATE_INCOMPATIBLE',
    message: /format version 2, but this version of Weir reads 1/,
  });
});
