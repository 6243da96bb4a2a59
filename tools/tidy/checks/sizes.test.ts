import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { sizes } from './sizes.ts';

test('a file that is too long is reported, a test may be longer', () => {
  const text = 'f();\n'.repeat(501);
  const found = sizes.run(repositoryOf({ 'tools/a.ts': text, 'tools/a.test.ts': text }));
  assert.deepEqual(
    found.map((problem) => problem.file),
    ['tools/a.ts'],
  );
  assert.deepEqual(sizes.run(repositoryOf({ 'tools/a.ts': 'f();\n'.repeat(500) })), []);
});

test('a line that is too long is reported with its number, an address is not', () => {
  const long = 'x'.repeat(101);
  const text = `f();\n// ${long}\n// https://example.org/${long}\n`;
  const found = sizes.run(repositoryOf({ 'tools/a.ts': text }));
  assert.deepEqual(
    found.map((problem) => problem.line),
    [2],
  );
});
