import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWeirError } from '@weir/core';
import { bytes, json, text } from '../formats/serde.ts';
import { MalformedRecord } from '../source/malformed-record.ts';
import { RecordEncoder } from './record-encoder.ts';
import type { EncoderOptions } from './record-encoder.ts';

const NOW = 1_700_000_000_000;

function encoderOf<T>(
  options: Omit<EncoderOptions<T>, 'topic' | 'deadLetterTopic'>,
): RecordEncoder<T> {
  return new RecordEncoder({ topic: 'out', deadLetterTopic: null, ...options }, () => NOW);
}

function keyed(key: string | Buffer, partitionCount: number): number {
  const encoder = encoderOf<string>({ value: text(), key: () => key });
  return encoder.partitionOf(encoder.encode('', 0), partitionCount);
}

/** Hashes that Kafka's own tests expect of its client in Java. */
const JAVA_HASHES: readonly (readonly [string, number])[] = [
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
];

test("a key has the partition that Kafka's own clients give it", () => {
  for (const [key, hash] of JAVA_HASHES)
    for (const partitionCount of [1, 7, 12, 1000])
      assert.equal(keyed(key, partitionCount), (hash & 0x7fffffff) % partitionCount, key);
  assert.equal(keyed(Buffer.from('foobar'), 1000), keyed('foobar', 1000), 'bytes or text');
});

test('records without a key go to the partitions in turn', () => {
  const encoder = encoderOf<string>({ value: text() });
  const record = encoder.encode('a', 0);
  const turns = Array.from({ length: 6 }, () => encoder.partitionOf(record, 3));
  assert.deepEqual(
    turns.toSorted((a, b) => a - b),
    [0, 0, 1, 1, 2, 2],
  );
});

test('an own partitioner decides, and one that names no partition is told', () => {
  const encoder = encoderOf<number>({ value: json(), partition: (value) => value });
  assert.equal(encoder.partitionOf(encoder.encode(2, 0), 3), 2);
  for (const wrong of [3, -1, 0.5])
    assert.throws(
      () => encoder.partitionOf(encoder.encode(wrong, 0), 3),
      /is no partition of out, which has 3/,
    );
});

test('headers and timestamps are the event time, the wall clock, or what is chosen', () => {
  const plain = encoderOf<string>({ value: text() });
  assert.equal(plain.encode('a', 5).timestamp, 5);
  assert.equal(plain.encode('a', Number.NaN).timestamp, NOW, 'without event time');
  const own = encoderOf<string>({
    value: text(),
    timestamp: (_value, timestamp) => timestamp + 1,
    headers: (value) => ({ text: value, bytes: Buffer.from([1]) }),
  });
  const { timestamp, headers } = own.encode('a', 5);
  assert.equal(timestamp, 6);
  assert.deepEqual(headers, [
    { key: 'text', value: Buffer.from('a') },
    { key: 'bytes', value: Buffer.from([1]) },
  ]);
});

test('what would make a batch that nobody can read is told', () => {
  const any = (value: unknown): never => value as never;
  const wrong: readonly Partial<EncoderOptions<string>>[] = [
    { key: () => any(7) },
    { headers: () => ({ count: any(7) }) },
    { value: { serialize: () => any({}) } },
    { timestamp: () => Number.NaN },
    { timestamp: () => any(undefined) },
  ];
  for (const options of wrong)
    assert.throws(
      () => encoderOf<string>({ value: text(), ...options }).encode('a', 0),
      /cannot serialise a record: .* is (neither text nor bytes|no time)/,
    );
  const fine = encoderOf<string>({ value: text(), key: () => any(new Uint8Array([1, 2])) });
  const record = fine.encode('a', 5.75);
  assert.deepEqual(record.key, Buffer.from([1, 2]));
  assert.equal(record.timestamp, 5, 'whole milliseconds');
});

test('null is a tombstone, and a topic may be chosen by the value', () => {
  assert.equal(encoderOf<null>({ value: json() }).encode(null, 0).value, null);
  assert.equal(encoderOf<Buffer | null>({ value: bytes() }).encode(null, 0).value, null);
  const options = { topic: (value: string) => `topic-${value}`, deadLetterTopic: null };
  const chosen = new RecordEncoder<string>({ ...options, value: text() }, () => NOW);
  assert.equal(chosen.encode('a', 0).topic, 'topic-a');
});

test('what cannot be serialised fails, or goes to the dead letters with the reason', () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  assert.throws(
    () => encoderOf<unknown>({ value: json() }).encode(cyclic, 0),
    (error: unknown) => isWeirError(error) && /cannot serialise a record/.test(error.message),
  );
  const options = { topic: 'out', value: json<unknown>(), deadLetterTopic: 'dead' };
  const record = new RecordEncoder<unknown>(options, () => NOW).encode(cyclic, 0);
  assert.equal(record.topic, 'dead');
  assert.match(record.headers[0]?.value?.toString() ?? '', /circular/);
});

test('a malformed record keeps its bytes and place, or fails without dead letters', () => {
  const malformed = new MalformedRecord({
    topic: 'in',
    partition: 3,
    offset: 7,
    timestamp: 5,
    key: null,
    value: Buffer.from('x'),
    reason: 'not JSON',
  });
  const options = { topic: 'out', value: json<unknown>(), deadLetterTopic: 'dead' };
  const record = new RecordEncoder<unknown>(options, () => NOW).encode(malformed, 0);
  const headers = record.headers.map(({ key, value }) => [key, value?.toString()]);
  assert.deepEqual(headers, [
    ['weir.topic', 'in'],
    ['weir.partition', '3'],
    ['weir.offset', '7'],
    ['weir.error', 'not JSON'],
  ]);
  assert.equal(record.value?.toString(), 'x');
  assert.throws(
    () => encoderOf<unknown>({ value: json() }).encode(malformed, 0),
    (error: unknown) => isWeirError(error) && error.code === 'RECORD_MALFORMED',
  );
});
