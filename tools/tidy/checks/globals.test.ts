import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { globals } from './globals.ts';

function complaints(path: string, text: string): string[] {
  const repository = repositoryOf({ [`packages/core/src/${path}`]: text });
  return globals.run(repository).map((problem) => `${problem.line} ${problem.message}`);
}

test('each banned global is named with its replacement', () => {
  const text = 'export const a = Date.now();\nexport const b = setTimeout(() => {}, 1);';
  const found = complaints('taskmanager/a.ts', text);
  assert.match(found[0] ?? '', /^1 Date\.now .*Clock/);
  assert.match(found[1] ?? '', /^2 setTimeout .*schedule\(\)/);
  assert.equal(found.length, 2);
});

test('the way through globalThis, process members and new Date() are seen as well', () => {
  const lines = ['globalThis.setTimeout(f, 1);', 'process.exit(1);', 'f(new Date());'];
  for (const line of lines) assert.equal(complaints('graph/a.ts', line).length, 1, line);
  assert.deepEqual(complaints('graph/a.ts', 'f(new Date(0)); f(Math.max(1, 2));'), []);
});

test('the composition root, the entry of a process and tests are free', () => {
  const text = "import 'node:net'; process.exit(Date.now());";
  for (const path of ['cluster/a.ts', 'cli/main.ts', 'graph/a.test.ts'])
    assert.deepEqual(complaints(path, text), [], path);
  assert.equal(complaints('cli/other.ts', text).length, 3);
});

test('a folder may use the platform modules of its table and no others', () => {
  assert.deepEqual(complaints('storage/a.ts', "import { open } from 'node:fs/promises';"), []);
  assert.equal(complaints('state/a.ts', "import { open } from 'node:fs/promises';").length, 1);
  assert.deepEqual(complaints('state/a.ts', "import { createHash } from 'node:crypto';"), []);
  assert.equal(complaints('state/a.ts', "import { randomUUID } from 'node:crypto';").length, 1);
  assert.deepEqual(complaints('state/a.ts', "import { gzipSync } from 'node:zlib';"), []);
  assert.equal(complaints('state/a.ts', "import { createGzip } from 'node:zlib';").length, 1);
  assert.equal(complaints('protocol/a.ts', "import { Buffer } from 'node:buffer';").length, 1);
});
