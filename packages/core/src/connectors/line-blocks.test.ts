import assert from 'node:assert/strict';
import test from 'node:test';
import { LineBlocks } from './line-blocks.ts';

interface Seen {
  readonly text: string;
  readonly position: number;
  readonly nextPosition: number;
  readonly isOverlong: boolean;
}

function blocksOf(
  text: string,
  chunkBytes: number,
  options: { position?: number; skipFirstLine?: boolean; maxLineBytes?: number } = {},
): Seen[] {
  const blocks = new LineBlocks({
    position: options.position ?? 0,
    skipFirstLine: options.skipFirstLine ?? false,
    maxLineBytes: options.maxLineBytes ?? 1_000_000,
  });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes)
    blocks.push(bytes.subarray(at, at + chunkBytes));
  blocks.end();
  const seen: Seen[] = [];
  for (let block = blocks.next(); block !== null; block = blocks.next()) {
    const { position, nextPosition, isOverlong } = block;
    seen.push({ text: block.bytes.toString(), position, nextPosition, isOverlong });
  }
  return seen;
}

test('blocks hold whole lines and follow each other without a gap, for any chunk size', () => {
  const text = 'ä\n\nbc\r\n' + 'd'.repeat(20) + '\nend';
  for (let chunkBytes = 1; chunkBytes <= 40; chunkBytes++) {
    const blocks = blocksOf(text, chunkBytes, { position: 100 });
    assert.equal(blocks.map((block) => block.text).join(''), text);
    let position = 100;
    for (const block of blocks) {
      assert.equal(block.position, position);
      assert.equal(block.nextPosition, position + Buffer.byteLength(block.text));
      position = block.nextPosition;
    }
    for (const block of blocks.slice(0, -1)) assert.ok(block.text.endsWith('\n'));
  }
});

test('skipping the first line finds the line after it', () => {
  for (let chunkBytes = 1; chunkBytes <= 8; chunkBytes++) {
    const [first] = blocksOf('rest\nown', chunkBytes, { position: 9, skipFirstLine: true });
    assert.deepEqual(
      { text: first?.text, position: first?.position },
      { text: 'own', position: 14 },
    );
  }
  assert.deepEqual(blocksOf('no end', 2, { skipFirstLine: true }), []);
});

test('of a line above the limit only the beginning is kept', () => {
  const long = 'x'.repeat(1_000_000);
  const blocks = blocksOf(`a\n${long}\nb\n`, 1000, { maxLineBytes: 10_000 });
  const overlong = blocks.filter((block) => block.isOverlong);
  assert.equal(overlong.length, 1);
  assert.equal(overlong[0]?.position, 2);
  assert.equal(overlong[0].nextPosition, 2 + long.length + 1);
  assert.equal(overlong[0].text.length, 1024);
  assert.equal(blocks.at(-1)?.text, 'b\n');
});
