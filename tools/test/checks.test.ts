import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toolOutcome } from './checks.ts';

const tool = { name: 'a tool', looked: (output: string) => Number(output) };

test('a tool has failed if it says so, or if it looked at too few files', () => {
  assert.equal(toolOutcome(tool, { code: 0, output: '5' }, 5).failed, 0);
  assert.equal(toolOutcome({ name: 'silent' }, { code: 0, output: '' }, 5).failed, 0);
  assert.match(toolOutcome(tool, { code: 0, output: '4' }, 5).report, /looked at 4 of 5/);
  assert.equal(toolOutcome(tool, { code: 1, output: '5' }, 5).failed, 1);
});

test('the report of a failed tool leaves out the list of files looked at', () => {
  const output = '/a/b.ts\n/a/b.ts(1,2): error\n';
  assert.equal(toolOutcome(tool, { code: 1, output }, 1).report, '/a/b.ts(1,2): error\n');
});
