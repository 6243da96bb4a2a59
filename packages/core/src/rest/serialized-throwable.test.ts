import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { serializedThrowable } from './serialized-throwable.ts';

test('a failure is written as Java reads it', () => {
  const bytes = Buffer.from(serializedThrowable('A_CODE', 'no 😀 ü', 'trace'), 'base64');
  assert.equal(bytes.subarray(0, 6).toString('hex'), 'aced00057372');
  assert.match(bytes.toString('latin1'), /org\.apache\.flink\.util\.SerializedThrowable/);
  // Read back by OpenJDK's ObjectInputStream when this digest was taken.
  const digest = createHash('sha256').update(bytes).digest('hex');
  assert.equal(digest, '9d569b533a6b1408c614206ac0cde96a021bc43371dddc6d8c38f6acab83c5e5');
});

test('a trace beyond 64 KB is a long string', () => {
  const bytes = Buffer.from(serializedThrowable('A', 'm', 't'.repeat(70_000)), 'base64');
  const at = bytes.indexOf(Buffer.from([0x7c, 0, 0, 0, 0, 0, 1, 0x11, 0x70]));
  assert.ok(at > 0);
});
