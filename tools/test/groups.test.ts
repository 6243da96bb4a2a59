import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { outcomeOf, runGroup } from './groups.ts';
import type { Group } from './groups.ts';
import { single, totalLine } from './outcome.ts';

const group: Group = {
  name: 'sample',
  patterns: ['*.test.ts'],
  options: ['--test-isolation=none'],
  limitMs: 30_000,
};
const ended = { code: 0, output: '', timedOut: false };
const counts = { kind: 'counts', passed: 2, failed: 0 } as const;

test('a group that ended with its counts is what the counts say', () => {
  const { passed, failed, report } = outcomeOf(group, ended, [counts]);
  assert.deepEqual({ passed, failed, report }, { passed: 2, failed: 0, report: '' });
});

test('a group without counts, without tests, or beyond its time has failed', () => {
  assert.equal(outcomeOf(group, { ...ended, code: 13 }, []).failed, 1);
  assert.equal(outcomeOf(group, ended, [{ ...counts, passed: 0 }]).failed, 1);
  assert.equal(outcomeOf(group, { ...ended, timedOut: true }, [counts]).failed, 1);
});

test('failures are told in full, with what the tests printed', () => {
  const failure = { kind: 'failure', name: 'a', text: 'because' } as const;
  const lines = [failure, { ...counts, failed: 1 }];
  const outcome = outcomeOf(group, { ...ended, code: 1, output: 'noise' }, lines);
  assert.equal(outcome.failed, 1);
  assert.match(outcome.report, /✖ a\nbecause[^]*noise/);
});

test('the last line sums up checks and groups', () => {
  const outcomes = [single('a', null), single('b', 'why'), outcomeOf(group, ended, [counts])];
  assert.equal(totalLine(outcomes), '3 passed, 1 failed');
});

test('a real run counts what passes, fails, is skipped or cannot be loaded', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-groups-'));
  try {
    mkdirSync(join(root, 'sub'));
    const head = "import { suite, test } from 'node:test';\n";
    const lines = ["test('good', () => {});", "test('bad', () => { throw new Error('no'); });"];
    writeFileSync(join(root, 'a.test.ts'), `${head}suite('s', () => { ${lines.join(' ')} });`);
    writeFileSync(join(root, 'b.test.ts'), `${head}test.skip('left out', () => {});`);
    const outcome = await runGroup(root, group);
    assert.deepEqual([outcome?.passed, outcome?.failed], [1, 2]);
    assert.match(outcome?.report ?? '', /✖ bad\nError: no/);
    writeFileSync(join(root, 'c.test.ts'), "import './missing.ts';");
    assert.ok((await runGroup(root, group))?.report.includes('missing.ts'));
    assert.equal(await runGroup(join(root, 'sub'), group), null);
  } finally {
    rmSync(root, { recursive: true });
  }
});
