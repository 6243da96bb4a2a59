import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { ledger, ledgerCounts } from './ledger.ts';

const REASON = 'needs a sink that a later issue brings';

function files(testNames: readonly string[], elsewhere: readonly string[]): Record<string, string> {
  return {
    'docs/behaviours/reports.txt': 'R001\nR002\n',
    'docs/behaviours/semantics.txt': 'I-1\n',
    'docs/behaviours/elsewhere.md': `# Elsewhere\n\n${elsewhere.join('\n')}\n`,
    'tools/a.test.ts': testNames.map((name) => `test(${name}, f);`).join('\n'),
  };
}

function complaints(...parts: Parameters<typeof files>): string[] {
  return ledger.run(repositoryOf(files(...parts))).map((problem) => problem.message);
}

test('a number in the name of a test or on a line with a reason is accounted for', () => {
  const names = ["'a b [R001] [I-1]'"];
  assert.deepEqual(complaints(names, [`R002  ${REASON}`]), []);
  assert.deepEqual(complaints(['`a ${b} c [R001, R002]`', "'d ' + '[I-1]'", "'[I-1]'"], []), []);
});

test('a number that stands nowhere, or only outside of brackets or names, is missing', () => {
  const found = complaints(["'R001 without brackets [I-1]', '[R002]'"], []);
  assert.equal(found.length, 1);
  assert.match(found[0] ?? '', /neither .*: R001 R002$/);
});

test('a number that is both tested and elsewhere is reported', () => {
  const found = complaints(["'[R001] [R002] [I-1]'"], [`R002  ${REASON}`]);
  assert.equal(found.length, 1);
  assert.match(found[0] ?? '', /^R002 is tested in tools\/a\.test\.ts/);
});

test('unknown numbers, lines without a reason and doubled lines are reported', () => {
  const names = ["'[R001] [R099] [I-1]'"];
  const found = complaints(names, [`R002  ${REASON}`, `R002  ${REASON}`, 'R098']);
  assert.deepEqual(found, [
    'R099 is in no list',
    'R098 is in no list',
    'R002 again',
    'R098 needs a reason on its line',
  ]);
});

test('empty lists are reported, so that the check cannot pass by looking at nothing', () => {
  assert.equal(ledger.run(repositoryOf({})).length, 2);
});

test('the counts of each list add up', () => {
  const repository = repositoryOf(files(["'[R001]'"], [`I-1  ${REASON}`]));
  assert.deepEqual(ledgerCounts(repository), [
    'reports: 2 behaviours, 1 in tests, 0 elsewhere, 1 missing',
    'semantics: 1 behaviours, 0 in tests, 1 elsewhere, 0 missing',
  ]);
});
