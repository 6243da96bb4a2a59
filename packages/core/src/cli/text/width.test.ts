import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alignColumns, displayWidth, oneLine, padEnd, padStart, truncate } from './width.ts';

test('width counts columns, not characters', () => {
  const texts = ['abc', '日本', 'e\u0301', '👍', '\u001b[31mred\u001b[39m', ''];
  assert.deepEqual(texts.map(displayWidth), [3, 4, 1, 2, 3, 0]);
});

test('text is cut to the columns there are, never inside a wide character', () => {
  assert.equal(truncate('abcdef', 6), 'abcdef');
  assert.equal(truncate('abcdef', 4), 'abc…');
  assert.equal(truncate('日本語', 4), '日…');
  assert.equal(truncate('abc', 0), '');
});

test('padding counts columns', () => {
  assert.equal(padEnd('日', 4), '日  ');
  assert.equal(padStart('1', 3), '  1');
});

test('a name cannot bring control characters to the terminal', () => {
  assert.equal(oneLine('a\n b\u001b[2J\u0007'), 'a b�[2J�');
});

test('columns are aligned, without blanks at the end of a line', () => {
  const rows = [
    ['a', '10', 'x'],
    ['long', '9', ''],
  ];
  assert.deepEqual(alignColumns(rows, [1]), ['a     10  x', 'long   9']);
});
