import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { bannedSyntax } from './banned-syntax.ts';

function complaints(text: string, path = 'packages/core/src/graph/a.ts'): string[] {
  return bannedSyntax.run(repositoryOf({ [path]: text })).map((problem) => problem.message);
}

test('each construct is reported with what to use instead', () => {
  const samples: Record<string, RegExp> = {
    'enum A { B }': /^enum: use a union/,
    'export const a = b as any;': /^any: use unknown/,
    'namespace A { f(); }': /^namespace/,
    'class A { constructor(private b: number) {} }': /^parameter property/,
    '@sealed class A {}': /^decorator/,
    "console.log('a');": /^console: take a Logger/,
    'debugger;': /^debugger/,
    'const = 1;': /./,
  };
  for (const [text, expected] of Object.entries(samples)) {
    const found = complaints(text);
    assert.equal(found.length, 1, text);
    assert.match(found[0] ?? '', expected, text);
  }
});

test('notes for later are reported in comments and left alone in strings', () => {
  for (const note of ['TODO', 'FIXME']) {
    assert.equal(complaints(`f(); // ${note}: later`).length, 1);
    assert.deepEqual(complaints(`f('${note}');`), []);
  }
});

test('the command line and the tools may print', () => {
  for (const path of ['packages/core/src/cli/run.ts', 'tools/a.ts', 'examples/a.ts'])
    assert.deepEqual(complaints("console.log('a');", path), []);
});
