import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { purity } from './purity.ts';

function complaints(path: string, text: string): string[] {
  const repository = repositoryOf({ [`packages/core/src/${path}`]: text });
  return purity.run(repository).map((problem) => problem.message);
}

test('whatever waits is refused in protocol', () => {
  const samples = {
    'async function': 'export async function f(): X {}',
    await: 'for await (const a of b) c(a);',
    Promise: 'export type A = Promise<number>;',
  };
  for (const [what, text] of Object.entries(samples)) {
    const found = complaints('protocol/a.ts', text);
    assert.equal(found.length, 1, text);
    assert.ok(found[0]?.startsWith(what), text);
  }
});

test('synchronous code, other folders and tests are left alone', () => {
  assert.deepEqual(complaints('protocol/a.ts', '// async\nexport const a = { b: 1 };'), []);
  assert.deepEqual(complaints('storage/a.ts', 'export async function f(): X {}'), []);
  assert.deepEqual(complaints('protocol/a.test.ts', 'await f();'), []);
});
