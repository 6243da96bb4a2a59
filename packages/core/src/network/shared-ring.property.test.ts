import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RingReader, RingWriter, createRingBuffer } from './shared-ring.ts';

const CAPACITY = 64;

/** A step: write a message in two parts, move what waits, or read what is there. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('write' as const),
    // Sizes around the capacity are where parts begin.
    sizes: fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 3 * CAPACITY })),
  }),
  fc.record({ kind: fc.constant('flush' as const) }),
  fc.record({ kind: fc.constant('read' as const), times: fc.integer({ min: 1, max: 4 }) }),
);

/** Where both counters start: in the middle, and where they wrap. */
const start = fc.oneof(
  fc.integer({ min: 0, max: 200 }),
  fc.integer({ min: 2 ** 31 - 100, max: 2 ** 31 - 1 }),
  fc.integer({ min: -100, max: -1 }),
);

test('messages of any size come out whole and in order, wherever the counters stand', () => {
  const property = fc.property(start, fc.array(step, { maxLength: 60 }), (origin, steps) => {
    const buffer = createRingBuffer(CAPACITY);
    const words = new Int32Array(buffer);
    words[0] = origin;
    words[16] = origin;
    const writer = new RingWriter(buffer);
    const reader = new RingReader(buffer);
    let seed = 0;
    const sent: Uint8Array[] = [];
    const received: Uint8Array[] = [];
    const readOnce = (): boolean => {
      const bytes = reader.read();
      if (bytes !== null) received.push(bytes.slice());
      return bytes !== null;
    };
    for (const action of steps) {
      if (action.kind === 'flush') writer.flush();
      else if (action.kind === 'read') for (let i = 0; i < action.times; i++) readOnce();
      else {
        const bytes = Uint8Array.from({ length: action.sizes[0] + action.sizes[1] }, () => seed++);
        sent.push(bytes);
        writer.write(bytes.subarray(0, action.sizes[0]), bytes.subarray(action.sizes[0]));
      }
    }
    while (readOnce() || writer.flush());
    assert.deepEqual(received, sent);
    assert.equal(writer.isCongested, false);
  });
  fc.assert(property, { numRuns: 300 });
});
