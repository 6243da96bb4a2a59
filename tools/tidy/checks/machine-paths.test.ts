import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { machinePaths } from './machine-paths.ts';

test('a path of one machine is reported in any kind of file', () => {
  const path = `/${'work'}/main/a.txt`;
  const found = machinePaths.run(
    repositoryOf({
      'docs/a.md': `See ${path}.`,
      'tools/a.ts': `f('${path}');`,
      'package.json': `{"a": "file://${path}"}`,
    }),
  );
  assert.equal(found.length, 3);
});

test('a folder of the repository with such a name is fine', () => {
  const text = `packages/core/${'work'}/a.ts ./${'work'}/b`;
  assert.deepEqual(machinePaths.run(repositoryOf({ 'docs/a.md': text })), []);
});
