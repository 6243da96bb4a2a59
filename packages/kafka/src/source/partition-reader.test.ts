import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWeirError } from '@weir/core';
import { ModelLog } from '../model/model-log.ts';
import { BatchBuilder, NO_IDENTITY } from '../records/batch-builder.ts';
import type { Compression } from '../records/compression.ts';
import { unpackAhead } from '../records/unpack-ahead.ts';
import type { AbortedTransaction, FetchedPartition } from '../wire/fetch.ts';
import { PartitionReader } from './partition-reader.ts';

interface Write {
  readonly producer: bigint;
  readonly sequence: number;
  readonly values: readonly string[];
}

function batch(
  values: readonly string[],
  producer: Write | null,
  compression: Compression = 'none',
) {
  const builder = new BatchBuilder();
  for (const value of values)
    builder.append({ key: null, value: Buffer.from(value), headers: [], timestamp: 1000 });
  return builder.finish(
    producer === null
      ? NO_IDENTITY
      : {
          producerId: producer.producer,
          epoch: 0,
          baseSequence: producer.sequence,
          isTransactional: true,
        },
    compression,
  );
}

function readerAt(next: number, stop: number | null = null): PartitionReader {
  const split = { topic: 't', topicId: '1'.repeat(32), partition: 0, next, stop };
  return new PartitionReader(split, true);
}

/** Fetches once, at the reader's offset, and reads all of it. */
function fetchAll(reader: PartitionReader, log: ModelLog, maxBytes = Infinity): string[] {
  const piece = log.read(reader.fetchOffset, { readCommitted: true, maxBytes });
  return readPiece(reader, piece.records, piece.aborted);
}

function readPiece(
  reader: PartitionReader,
  records: Buffer,
  aborted: readonly AbortedTransaction[] = [],
): string[] {
  reader.offer(pieceOf(records, aborted));
  const values: string[] = [];
  while (reader.advance()) {
    values.push(reader.record.valueText() ?? '');
    reader.pass();
  }
  return values;
}

function pieceOf(records: Buffer, aborted: readonly AbortedTransaction[] = []): FetchedPartition {
  return {
    topicId: '1'.repeat(32),
    partition: 0,
    errorCode: 0,
    highWatermark: 0,
    lastStableOffset: 0,
    logStartOffset: 0,
    aborted,
    records,
  };
}

function transaction(log: ModelLog, producer: bigint, values: readonly string[]): void {
  for (const [sequence, value] of values.entries())
    log.append(batch([value], { producer, sequence, values }));
}

test('two aborted transactions of one producer are both left out (failure 17)', () => {
  const log = new ModelLog();
  log.append(batch(['a'], { producer: 1n, sequence: 0, values: [] }));
  log.end(1n, 0, false);
  log.append(batch(['b'], { producer: 1n, sequence: 1, values: [] }));
  log.end(1n, 0, false);
  log.append(batch(['c'], { producer: 1n, sequence: 2, values: [] }));
  log.end(1n, 0, true);
  assert.deepEqual(fetchAll(readerAt(0), log), ['c']);
});

test('an aborted transaction whose marker comes in a later fetch is left out (failure 17)', () => {
  const log = new ModelLog();
  transaction(log, 1n, ['a1', 'a2', 'a3']);
  transaction(log, 2n, ['b1']);
  log.end(1n, 0, false);
  log.end(2n, 0, true);
  const reader = readerAt(0);
  const values: string[] = [];
  // One batch at a time.
  for (let fetches = 0; reader.fetchOffset < log.highWatermark; fetches++) {
    assert.ok(fetches < 20);
    values.push(...fetchAll(reader, log, 1));
  }
  assert.deepEqual(values, ['b1']);
});

test('a marker without an open transaction is ignored (failure 17)', () => {
  const log = new ModelLog();
  log.end(7n, 0, false);
  log.append(batch(['x'], null));
  assert.deepEqual(fetchAll(readerAt(0), log), ['x']);
});

test('interleaved commits and aborts deliver exactly what was committed (failure 17)', () => {
  const log = new ModelLog();
  log.append(batch(['c1'], { producer: 1n, sequence: 0, values: [] }));
  log.append(batch(['a1'], { producer: 2n, sequence: 0, values: [] }));
  log.append(batch(['plain'], null));
  log.append(batch(['c2'], { producer: 1n, sequence: 1, values: [] }));
  log.end(2n, 0, false);
  log.end(1n, 0, true);
  log.append(batch(['c3'], { producer: 2n, sequence: 1, values: [] }));
  log.end(2n, 0, true);
  assert.deepEqual(fetchAll(readerAt(0), log), ['c1', 'plain', 'c2', 'c3']);
});

test('a bounded read ends at a trailing marker (failure 18)', () => {
  const log = new ModelLog();
  transaction(log, 1n, ['a', 'b']);
  log.end(1n, 0, true);
  const reader = readerAt(0, log.lastStableOffset);
  assert.deepEqual(fetchAll(reader, log), ['a', 'b']);
  assert.equal(reader.next, 3);
  assert.equal(reader.isFinished, true);
});

test('a bounded read ends behind a gap that compaction made (failure 18)', () => {
  const log = new ModelLog();
  for (const value of ['a', 'b', 'c', 'd']) log.append(batch([value], null));
  log.compact([1, 2]);
  const reader = readerAt(0, 3);
  assert.deepEqual(fetchAll(reader, log), ['a']);
  assert.equal(reader.isFinished, true);
});

test('the position passes control and aborted batches (failure 19)', () => {
  const log = new ModelLog();
  transaction(log, 1n, ['a', 'b']);
  log.end(1n, 0, false);
  const reader = readerAt(0);
  assert.deepEqual(fetchAll(reader, log), []);
  assert.equal(reader.next, 3);
  assert.equal(reader.snapshot().next, 3);
});

test('the position is the next offset to read, also in the middle of a batch [R004]', () => {
  const log = new ModelLog();
  log.append(batch(['1', '2', '3', '4'], null));
  const reader = readerAt(0);
  const piece = log.read(0, { readCommitted: true, maxBytes: Infinity });
  readPiece(reader, Buffer.alloc(0));
  reader.offer({
    topicId: reader.topicId,
    partition: 0,
    errorCode: 0,
    highWatermark: 4,
    lastStableOffset: 4,
    logStartOffset: 0,
    ...piece,
  });
  for (const expected of ['1', '2', '3']) {
    assert.equal(reader.advance(), true);
    assert.equal(reader.record.valueText(), expected);
    reader.pass();
  }
  const { next } = reader.snapshot();
  assert.equal(next, 3);
  assert.deepEqual(fetchAll(readerAt(next), log), ['4']);
});

for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)
  test(`batches compressed with ${compression} are read back`, () => {
    const log = new ModelLog();
    const values = Array.from({ length: 500 }, (_, index) => `value ${index} of many`);
    log.append(batch(values, null, compression));
    assert.deepEqual(fetchAll(readerAt(0), log), values);
  });

test('batches decompressed ahead are read as they are, and their memory is counted', async () => {
  const log = new ModelLog();
  const values = Array.from({ length: 3 }, (_, index) => String(index).repeat(1024 ** 2));
  log.append(batch(values, null, 'gzip'));
  const { records } = log.read(0, { readCommitted: true, maxBytes: Infinity });
  const reader = readerAt(0);
  const unpacked = await unpackAhead(records, (bytes) => reader.wants(bytes, pieceOf(records)));
  assert.equal(unpacked.size, 1);
  reader.offer(pieceOf(records), unpacked);
  assert.ok(reader.queuedBytes > 3 * 1024 ** 2);
  for (const value of values) {
    assert.equal(reader.advance(), true);
    assert.equal(reader.record.valueText(), value);
    reader.pass();
  }
  assert.equal(reader.advance(), false);
  assert.equal(reader.queuedBytes, 0);
});

test('what is before the position, or of an aborted transaction, is not wanted ahead', () => {
  const write = { producer: 7n, sequence: 0, values: [] };
  const records = batch(['a', 'b'], write, 'gzip');
  assert.equal(readerAt(0).wants(records, pieceOf(records)), true);
  assert.equal(readerAt(2).wants(records, pieceOf(records)), false);
  const aborted = [{ producerId: 7n, firstOffset: 0 }];
  assert.equal(readerAt(0).wants(records, pieceOf(records, aborted)), false);
});

test('a batch whose bytes changed on the way is refused with its place', () => {
  const log = new ModelLog();
  log.append(batch(['a', 'b'], null));
  const { records } = log.read(0, { readCommitted: true, maxBytes: Infinity });
  records[records.length - 2] = (records[records.length - 2] ?? 0) ^ 1;
  assert.throws(
    () => readPiece(readerAt(0), records),
    (error) =>
      isWeirError(error) && error.kind === 'corrupt' && /t\/0 offset 0/.test(error.message),
  );
});

test('a piece that is cut in the middle of a batch is read up to there', () => {
  const log = new ModelLog();
  log.append(batch(['a'], null));
  log.append(batch(['b'], null));
  const { records } = log.read(0, { readCommitted: true, maxBytes: Infinity });
  const reader = readerAt(0);
  assert.deepEqual(readPiece(reader, records.subarray(0, records.length - 3)), ['a']);
  assert.equal(reader.fetchOffset, 1);
});
