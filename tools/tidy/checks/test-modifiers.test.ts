import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { testModifiers } from './test-modifiers.ts';

function count(text: string): number {
  return testModifiers.run(repositoryOf({ 'tools/a.test.ts': text })).length;
}

test('every way of leaving tests out is reported', () => {
  const samples = [
    "test.only('a', f);",
    "describe.skip('a', f);",
    "it.todo('a');",
    "test('a', { skip: true }, f);",
    "test('a', { timeout: 1, only: true }, f);",
    "test('a', (t) => { t.skip(); });",
  ];
  for (const sample of samples) assert.equal(count(sample), 1, sample);
});

test('plain tests and other uses of the words are fine', () => {
  const samples = ["test('only skip', { timeout: 1 }, f);", 'list.skip(1);', 'f({ only: 1 });'];
  for (const sample of samples) assert.equal(count(sample), 0, sample);
});
