import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import type { BinaryWriter } from '../../base/codec/binary-writer.ts';
import { ValueEncoder } from '../../base/codec/value-codec.ts';
import type { StateHandle } from '../../protocol/snapshot.ts';
import { MemoryOutput } from '../test-support.ts';
import { BlockReader, KeyGroupBlocks } from './key-group-blocks.ts';

function bytesOf(output: MemoryOutput): Uint8Array {
  return (output.handle as StateHandle & { kind: 'inline' }).bytes;
}

test('entries come back by key group, in order, with the shapes of their objects', () => {
  const output = new MemoryOutput();
  const blocks = new KeyGroupBlocks(new ValueEncoder(), [0, 127], output);
  const entryOf = (i: number): unknown[] => [i, 0, { count: i, name: `n${i}` }];
  for (let i = 0; i < 100; i++) blocks.add(i % 3, entryOf(i));
  while (!blocks.flushSome(1));
  strictEqual(blocks.sections.length, 3);
  const bytes = bytesOf(output);
  const reader = new BlockReader();
  for (const { keyGroup, offset, sizeBytes, count } of blocks.sections) {
    const block = bytes.subarray(offset, offset + sizeBytes);
    const expected = Array.from({ length: count }, (_, i) => entryOf(i * 3 + keyGroup));
    deepStrictEqual([...reader.read(block, count)], expected);
  }
});

test('a key group with much state is handed on in several blocks before the end', () => {
  const output = new MemoryOutput();
  const blocks = new KeyGroupBlocks(new ValueEncoder(), [0, 127], output);
  for (let i = 0; i < 200; i++) blocks.add(0, [i, 0, 'x'.repeat(1000)]);
  ok(blocks.sections.length >= 5);
  for (const { sizeBytes } of blocks.sections) ok(sizeBytes < 40_000, `${sizeBytes} bytes`);
});

test('with very many key groups the blocks are smaller, so that memory stays bounded', () => {
  const output = new MemoryOutput();
  const blocks = new KeyGroupBlocks(new ValueEncoder(), [0, 32_767], output);
  for (let i = 0; i < 100; i++) blocks.add(0, [i, 0, 'x'.repeat(100)]);
  ok(blocks.sections.length >= 10);
});

test('the blocks of a snapshot are written into the memory of the one before', () => {
  const spare: BinaryWriter[] = [];
  const snapshot = (entries: readonly (readonly unknown[])[], isComplete: boolean): Uint8Array => {
    const output = new MemoryOutput();
    const blocks = new KeyGroupBlocks(new ValueEncoder(), [7, 9], output, spare);
    for (const [i, entry] of entries.entries()) blocks.add(7 + (i % 3), entry);
    if (isComplete) while (!blocks.flushSome(1));
    blocks.release();
    return isComplete ? bytesOf(output) : new Uint8Array();
  };
  const entries = Array.from({ length: 9 }, (_, i) => [i, 0, `text ${i}`]);
  const first = snapshot(entries, true);
  strictEqual(spare.length, 3);
  const writers = [...spare];
  snapshot([['of a snapshot that was given up']], false);
  deepStrictEqual(snapshot(entries, true), first);
  ok(spare.every((writer) => writers.includes(writer)) && spare.length === 3);
  snapshot([['x'.repeat(1_000_000)]], true);
  strictEqual(spare.length, 2, 'memory for an unusual entry was kept');
});

test('a block of a newer version is refused', () => {
  const output = new MemoryOutput();
  const blocks = new KeyGroupBlocks(new ValueEncoder(), [0, 0], output);
  blocks.add(0, [1, 0, 'a']);
  blocks.flushSome(1);
  const bytes = bytesOf(output);
  bytes[0] = 2;
  throws(
    () => [...new BlockReader().read(bytes, 1)],
    /has version 2, this program knows version 1/,
  );
});

test('a block with more entries than were announced is refused', () => {
  const output = new MemoryOutput();
  const blocks = new KeyGroupBlocks(new ValueEncoder(), [0, 0], output);
  blocks.add(0, [1, 0, 'a']);
  blocks.add(0, [2, 0, 'a']);
  blocks.flushSome(1);
  throws(() => [...new BlockReader().read(bytesOf(output), 1)], /bytes follow its 1 entries/);
});

test('a block of the first version can be read for ever', () => {
  const hex = '010101016e0a019392a2657501004005140292920195a16b0091010191ff930091a16e9106';
  const block = Buffer.from(hex, 'hex');
  deepStrictEqual(
    [...new BlockReader().read(block, 2)],
    [
      [['eu', 1], 0, { n: 5 }],
      ['k', 0, { n: 6 }, 1, -0],
    ],
  );
});
