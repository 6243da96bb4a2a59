import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GeneralBatchCodec } from './batch-codec.ts';
import { channel, connection, marker, subscribe, trigger } from './fixtures.ts';
import { FrameCodec, HEADER_BYTES } from './frame-codec.ts';
import type { Frame, WireMessage } from './frame.ts';

const codec = new FrameCodec(new GeneralBatchCodec());

function bytesOf(message: WireMessage): Uint8Array {
  const { header, payload } = codec.encode(message);
  return Uint8Array.of(...header, ...payload);
}

const FRAMES: readonly Frame[] = [
  { kind: 'records', batch: { values: [{ id: 1 }, 'x'], timestamps: null } },
  { kind: 'records', batch: { values: [1, 2], timestamps: Float64Array.of(5, Number.NaN) } },
  { kind: 'watermark', timestamp: 1_700_000_000_000 },
  { kind: 'watermark', timestamp: -Infinity },
  { kind: 'watermark', timestamp: Infinity },
  { kind: 'idle', idle: true },
  { kind: 'idle', idle: false },
  { kind: 'endOfData', savepointId: 0 },
  { kind: 'endOfData', savepointId: 7 },
  { kind: 'barrier', trigger: trigger(2 ** 53 - 1), unaligned: false },
  { kind: 'barrier', trigger: trigger(1), unaligned: true },
  { kind: 'latency', marker: marker(1_700_000_000_000.25) },
  { kind: 'cancel', checkpointId: 3 },
  { kind: 'endOfPartition' },
];

test('every kind of message comes back as it was', () => {
  const head = {
    channelId: 2 ** 32 - 1,
    connection: { consumerAttempt: { epoch: 2 ** 33 + 1, counter: 7 }, subscribe: 2 ** 40 },
  };
  const messages: WireMessage[] = [
    ...FRAMES.map((frame): WireMessage => ({ type: 'frame', ...head, position: 2 ** 52, frame })),
    { ...subscribe({ from: 2 ** 35, ignoreUpTo: 2 ** 36, credit: 9 }), ...head },
    { type: 'credit', ...head, credit: 3 },
  ];
  for (const message of messages) assert.deepEqual(codec.decode(bytesOf(message)), message);
});

test('the header is as long as documented and ends with the length of the payload', () => {
  const { header, payload } = codec.encode({
    type: 'frame',
    channelId: channel(5).channelId,
    connection: connection(),
    position: 9,
    frame: { kind: 'watermark', timestamp: 1 },
  });
  assert.equal(header.length, HEADER_BYTES);
  const view = new DataView(header.buffer, header.byteOffset);
  assert.deepEqual(
    [view.getUint8(0), view.getUint32(2, true), view.getUint32(30, true)],
    [2, 5, 9],
  );
  assert.equal(view.getUint32(46, true), payload.length);
});

test('a frame of another length or of an unknown kind is refused', () => {
  const bytes = bytesOf({
    type: 'frame',
    channelId: 0,
    connection: connection(),
    position: 0,
    frame: { kind: 'endOfPartition' },
  });
  assert.throws(() => codec.decode(Uint8Array.of(...bytes, 0)), /as long as its header says/);
  assert.throws(() => codec.decode(bytes.subarray(0, 20)), { code: 'SERIALIZATION_FAILED' });
  assert.throws(() => codec.decode(bytes.with(0, 99)), /no kind 99/);
});
