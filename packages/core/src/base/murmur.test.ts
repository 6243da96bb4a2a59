import assert from 'node:assert/strict';
import { test } from 'node:test';
import { murmur128 } from './murmur.ts';

test('murmur128 gives the check values of the reference implementation', () => {
  assert.equal(murmur128(''), '00000000000000000000000000000000');
  assert.equal(
    murmur128('The quick brown fox jumps over the lazy dog'),
    '6c1b07bc7bbc4be347939ac4a93c437a',
  );
});

test('murmur128 tells apart texts of every tail length', () => {
  const hashes = new Set<string>();
  for (let length = 0; length <= 48; length++) hashes.add(murmur128('x'.repeat(length)));
  assert.equal(hashes.size, 49);
});

test('murmur128 hashes the UTF-8 bytes of a text', () => {
  assert.notEqual(murmur128('ä'), murmur128('Ã¤'));
  assert.match(murmur128('ä€😀'), /^[0-9a-f]{32}$/);
});
