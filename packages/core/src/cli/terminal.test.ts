import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { Terminal } from './terminal.ts';
import { TextScreen } from './test-environment.ts';

/** What a terminal would show after these bytes; knows only what `Terminal` writes. */
function shown(bytes: string, columns: number): readonly string[] {
  const rows: string[] = [''];
  let row = 0;
  let column = 0;
  // oxlint-disable-next-line no-control-regex -- these are the bytes of a terminal
  for (const [part, , count, kind] of bytes.matchAll(/(\u001b\[\??(\d*)([AJKhl]))|[^]/g)) {
    if (kind === 'A') row = Math.max(0, row - Number(count));
    else if (kind === 'J') rows.splice(row, rows.length, rows[row]!.slice(0, column));
    else if (kind === 'K') rows[row] = rows[row]!.slice(0, column);
    else if (part === '\r') column = 0;
    else if (part === '\n') {
      row++;
      column = 0;
      rows[row] ??= '';
    } else if (kind === undefined) {
      if (column === columns) {
        row++;
        column = 0;
        rows[row] ??= '';
      }
      rows[row] = rows[row]!.slice(0, column) + part + rows[row]!.slice(column + 1);
      column++;
    }
  }
  return rows.slice(0, rows.at(-1) === '' ? -1 : undefined);
}

function setUp(): { screen: TextScreen; terminal: Terminal; clock: ManualClock } {
  const screen = new TextScreen(true);
  const clock = new ManualClock();
  return { screen, clock, terminal: new Terminal(screen, screen, clock) };
}

test('a block replaces the one before, whichever is longer', () => {
  const { screen, terminal } = setUp();
  terminal.show(['one', 'a long second line', 'three']);
  terminal.show(['1', 'short']);
  assert.deepEqual(shown(screen.text, 80), ['1', 'short']);
  terminal.show(['1', '2', '3']);
  assert.deepEqual(shown(screen.text, 80), ['1', '2', '3']);
});

test('lines stay above the block', () => {
  const { screen, terminal } = setUp();
  terminal.print('first');
  terminal.show(['block 1', 'block 2']);
  terminal.print('second');
  assert.deepEqual(shown(screen.text, 80), ['first', 'second']);
});

test('the block comes back below what was printed, at once or after a moment', () => {
  const { screen, terminal, clock } = setUp();
  terminal.show(['block']);
  clock.advance(100);
  terminal.print('one');
  assert.deepEqual(shown(screen.text, 80), ['one', 'block']);
  terminal.print('two');
  terminal.print('three');
  assert.deepEqual(shown(screen.text, 80), ['one', 'two', 'three']);
  clock.advance(50);
  assert.deepEqual(shown(screen.text, 80), ['one', 'two', 'three', 'block']);
});

test('a flood of output draws the block only now and then', () => {
  const { screen, terminal, clock } = setUp();
  terminal.show(['the block']);
  for (let line = 0; line < 1000; line++) terminal.print(`line ${line}`);
  assert.equal(screen.text.split('the block').length - 1, 1);
  clock.advance(50);
  assert.equal(screen.text.split('the block').length - 1, 2);
});

test("the job's own output lands above the block, unfinished lines when they end", () => {
  const { screen, terminal, clock } = setUp();
  terminal.show(['block']);
  clock.advance(100);
  terminal.pass('half a ', screen);
  assert.deepEqual(shown(screen.text, 80), ['block']);
  terminal.pass('line\nrest', screen);
  assert.deepEqual(shown(screen.text, 80), ['half a line', 'block']);
  terminal.clear();
  assert.deepEqual(shown(screen.text, 80), ['half a line', 'rest']);
});

test('lines for standard error stay above the block too', () => {
  const { screen, terminal, clock } = setUp();
  terminal.show(['block']);
  terminal.warn('careful');
  clock.advance(50);
  assert.deepEqual(shown(screen.text, 80), ['careful', 'block']);
});

test('clearing leaves nothing of the block and draws it no more', () => {
  const { screen, terminal, clock } = setUp();
  terminal.print('stays');
  terminal.show(['block 1', 'block 2']);
  terminal.print('stays too');
  terminal.clear();
  clock.advance(1000);
  assert.deepEqual(shown(screen.text, 80), ['stays', 'stays too']);
});

test('a block is found again after the terminal became narrower', () => {
  const { screen, terminal } = setUp();
  terminal.show(['x'.repeat(60), 'y']);
  const before = shown(screen.text, 80);
  // A terminal of 40 columns shows the first line on two rows.
  const rewrapped = `${before[0]!.slice(0, 40)}\n${before[0]!.slice(40)}\ny\n`;
  screen.text = '';
  screen.columns = 40;
  terminal.show(['short']);
  assert.deepEqual(shown(rewrapped + screen.text, 40), ['short']);
});

test('without a terminal a block is nothing and text passes as it is', () => {
  const screen = new TextScreen(false);
  const terminal = new Terminal(screen, screen, new ManualClock());
  terminal.show(['block']);
  terminal.pass('half', screen);
  terminal.print('line');
  terminal.clear();
  assert.equal(screen.text, 'halfline\n');
});
