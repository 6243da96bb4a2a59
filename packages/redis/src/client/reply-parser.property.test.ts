import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ReplyError, ReplyParser } from './reply-parser.ts';
import type { Reply } from './session.ts';

const line = fc.string({ unit: 'grapheme-ascii' });
const { reply } = fc.letrec<{ reply: Reply }>((tie) => ({
  reply: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.constant(null),
    line.map((text) => new ReplyError(text)),
    fc.array(tie('reply')),
  ),
}));

function written(value: Reply): string {
  if (value === null) return '$-1\r\n';
  if (typeof value === 'string') return `$${Buffer.byteLength(value)}\r\n${value}\r\n`;
  if (typeof value === 'number') return `:${value}\r\n`;
  if (value instanceof Error) return `-${value.message}\r\n`;
  return `*${value.length}\r\n${value.map(written).join('')}`;
}

function parsed(pieces: readonly Buffer[]): Reply[] {
  const found: Reply[] = [];
  const parser = new ReplyParser((it) => found.push(it));
  for (const piece of pieces) parser.read(piece);
  return found;
}

test('replies are the same however their bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(reply), fc.array(fc.nat(200)), (replies, sizes) => {
      const bytes = Buffer.from(replies.map(written).join(''));
      const pieces: Buffer[] = [];
      let place = 0;
      for (const size of sizes) pieces.push(bytes.subarray(place, (place += size)));
      pieces.push(bytes.subarray(place));
      assert.deepEqual(parsed(pieces), replies);
    }),
  );
});

test('short texts, lists that are null and integers come as they are', () => {
  assert.deepEqual(parsed([Buffer.from('+OK\r\n*-1\r\n*0\r\n:-7\r\n$0\r\n\r\n')]), [
    'OK',
    null,
    [],
    -7,
    '',
  ]);
});

test('a server that is no Redis is told', () => {
  for (const bytes of ['HTTP/1.1 400 Bad Request\r\n', '$x\r\n', `+${'x'.repeat(70_000)}`])
    assert.throws(() => parsed([Buffer.from(bytes)]), /no Redis server/);
});
