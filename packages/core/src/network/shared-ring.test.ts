import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RingReader, RingWriter, createRingBuffer } from './shared-ring.ts';

const NOTHING = new Uint8Array(0);

test('a writer without room asks for it, and the reader hears of it once', () => {
  const buffer = createRingBuffer(16);
  const writer = new RingWriter(buffer);
  const reader = new RingReader(buffer);
  writer.write(Uint8Array.of(1), Uint8Array.of(2, 3));
  assert.equal(reader.takeSpaceWanted(), false);
  writer.write(new Uint8Array(10), NOTHING);
  assert.ok(writer.isCongested);
  assert.deepEqual(reader.read(), Uint8Array.of(1, 2, 3));
  assert.equal(reader.takeSpaceWanted(), true);
  assert.equal(reader.takeSpaceWanted(), false);
  assert.ok(writer.flush());
  assert.equal(writer.isCongested, false);
  assert.deepEqual(reader.read(), new Uint8Array(10));
});

test('a message larger than the ring asks for room until its last part is in', () => {
  const buffer = createRingBuffer(16);
  const writer = new RingWriter(buffer);
  const reader = new RingReader(buffer);
  writer.write(NOTHING, new Uint8Array(40).fill(7));
  let rounds = 0;
  let message = reader.read();
  while (message === null) {
    assert.ok(reader.takeSpaceWanted());
    assert.ok(writer.flush());
    message = reader.read();
    rounds++;
  }
  assert.deepEqual(message, new Uint8Array(40).fill(7));
  assert.equal(rounds, 2);
});

test('what waits is a copy: the caller may use its buffer again', () => {
  const buffer = createRingBuffer(16);
  const writer = new RingWriter(buffer);
  const reader = new RingReader(buffer);
  const bytes = new Uint8Array(30).fill(1);
  writer.write(NOTHING, bytes);
  bytes.fill(9);
  let message = reader.read();
  while (message === null) {
    writer.flush();
    message = reader.read();
  }
  assert.deepEqual(message, new Uint8Array(30).fill(1));
});

test('an impossible state of the counters is a fault, not data', () => {
  const buffer = createRingBuffer(16);
  const reader = new RingReader(buffer);
  new Int32Array(buffer)[16] = 17;
  assert.throws(() => reader.read(), /beyond its end/);
});

test('the size of a ring must be a power of two', () => {
  assert.throws(() => createRingBuffer(100), /power of two/);
});
