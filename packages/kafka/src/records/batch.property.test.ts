import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BatchWalker } from '../source/batch-walker.ts';
import { BatchBuilder, NO_IDENTITY } from './batch-builder.ts';
import type { OutgoingRecord } from './batch-builder.ts';
import { RecordCursor } from './record-cursor.ts';

const PLAIN = { noNullPrototype: true } as const;

const bytes = fc.option(
  fc.uint8Array({ maxLength: 300 }).map((it) => Buffer.from(it)),
  { nil: null },
);
const record: fc.Arbitrary<OutgoingRecord> = fc.record(
  {
    key: bytes,
    value: bytes,
    headers: fc.array(
      fc.record({ key: fc.string({ maxLength: 20, unit: 'grapheme' }), value: bytes }, PLAIN),
      {
        maxLength: 3,
      },
    ),
    timestamp: fc.oneof(
      fc.integer({ min: 0, max: 2_000 }),
      fc.integer({ min: 0, max: 4_000_000_000_000 }),
    ),
  },
  PLAIN,
);
const compression = fc.constantFrom('none', 'gzip', 'snappy', 'lz4', 'zstd');

test('whatever is encoded into a batch is decoded from it', () => {
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 50 }), compression, (records, how) => {
      const builder = new BatchBuilder(64);
      for (const one of records) builder.append(one);
      const batch = builder.finish(NO_IDENTITY, how);
      const cursor = new RecordCursor();
      const walker = new BatchWalker({ place: 't/0', records: batch, aborted: [] }, true);
      assert.equal(walker.next(cursor, 0), true);
      const found: OutgoingRecord[] = [];
      while (cursor.next())
        found.push({
          key: cursor.key(),
          value: cursor.value(),
          headers: cursor.headers(),
          timestamp: cursor.timestamp,
        });
      assert.deepEqual(found, records);
      assert.equal(walker.position, records.length);
      assert.equal(walker.next(cursor, 0), false);
    }),
    { numRuns: 150 },
  );
});
