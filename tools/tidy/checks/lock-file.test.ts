import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { lockFile } from './lock-file.ts';

test('an address in the lock file is reported with its line', () => {
  const text = '{\n  "resolved": "https://registry.example/a.tgz"\n}';
  const found = lockFile.run(repositoryOf({ 'package-lock.json': text }));
  assert.deepEqual(
    found.map((problem) => problem.line),
    [2],
  );
});

test('links inside the repository are fine, a missing lock file is not', () => {
  const text = '{ "resolved": "packages/core", "link": true }';
  assert.deepEqual(lockFile.run(repositoryOf({ 'package-lock.json': text })), []);
  assert.equal(lockFile.run(repositoryOf({})).length, 1);
});

test('what a package demands of Node is reported, since npm would warn on an older one', () => {
  const text =
    '{\n  "packages": {\n    "node_modules/a": {\n      "engines": {\n      }\n    }\n  }\n}';
  const found = lockFile.run(repositoryOf({ 'package-lock.json': text }));
  assert.deepEqual(
    found.map((problem) => problem.line),
    [4],
  );
});
