import assert from 'node:assert/strict';
import { test } from 'node:test';
import { styleFor } from './style.ts';

test('a terminal has colours, unless NO_COLOR is set or it is a dumb one', () => {
  const coloured = '\u001b[31mx\u001b[39m';
  assert.equal(styleFor(true, {}).bad('x'), coloured);
  assert.equal(styleFor(true, { NO_COLOR: '' }).bad('x'), coloured);
  assert.equal(styleFor(true, { NO_COLOR: '1' }).bad('x'), 'x');
  assert.equal(styleFor(true, { TERM: 'dumb' }).bad('x'), 'x');
  assert.equal(styleFor(false, {}).bad('x'), 'x');
});

test('bars use block characters only where the locale is UTF-8', () => {
  assert.equal(styleFor(true, { LANG: 'en_US.UTF-8' }).cells.busy, '█');
  assert.equal(styleFor(true, { LANG: 'en_US.UTF-8', LC_ALL: 'C' }).cells.busy, '#');
});
