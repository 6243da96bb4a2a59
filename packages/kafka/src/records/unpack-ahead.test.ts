import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWeirError } from '@weir/core';
import { BatchBuilder, NO_IDENTITY } from './batch-builder.ts';
import type { Compression } from './compression.ts';
import * as head from './record-header.ts';
import { unpackAhead } from './unpack-ahead.ts';

const LARGE = 'x'.repeat(3 * 1024 ** 2);

function batchOf(value: string, compression: Compression): Buffer {
  const builder = new BatchBuilder();
  builder.append({ key: null, value: Buffer.from(value), headers: [], timestamp: 1 });
  return builder.finish(NO_IDENTITY, compression);
}

/** Little redundancy, as zstd does not tell what a small batch holds. */
function noise(bytes: number): string {
  let state = 1;
  const digits = Array.from({ length: bytes }, () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return String.fromCharCode(32 + ((state >> 16) % 90));
  });
  return digits.join('');
}

const all = (): boolean => true;

test('a batch that holds much is decompressed ahead, by where it begins', async () => {
  const [small, gzip, zstd] = [
    batchOf('small', 'gzip'),
    batchOf(LARGE, 'gzip'),
    batchOf(noise(100_000), 'zstd'),
  ];
  const unpacked = await unpackAhead(Buffer.concat([small, gzip, zstd]), all);
  assert.deepEqual(
    [...unpacked.keys()].toSorted((a, b) => a - b),
    [small.length, small.length + gzip.length],
  );
  assert.ok((unpacked.get(small.length)?.length ?? 0) > LARGE.length);
});

test('what is small, not compressed or not wanted is left to whoever reads it', async () => {
  for (const compression of ['none', 'snappy', 'lz4'] as const)
    assert.equal((await unpackAhead(batchOf(LARGE, compression), all)).size, 0);
  assert.equal((await unpackAhead(batchOf('small', 'zstd'), all)).size, 0);
  assert.equal((await unpackAhead(batchOf(LARGE, 'gzip'), () => false)).size, 0);
});

test('a batch that cannot be decompressed is left to whoever checks its sum', async () => {
  const broken = batchOf(LARGE, 'gzip');
  broken.fill(0, head.HEADER_BYTES, head.HEADER_BYTES + 100);
  assert.equal((await unpackAhead(broken, all)).size, 0);
});

test('a length that cannot be is told, and not followed for ever', async () => {
  const broken = batchOf('a', 'none');
  broken.writeInt32BE(-head.UNCOUNTED_BYTES, head.LENGTH_AT);
  await assert.rejects(
    unpackAhead(broken, all),
    (error: unknown) => isWeirError(error) && error.kind === 'corrupt',
  );
});
