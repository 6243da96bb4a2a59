import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SourceFile } from './source-file.ts';

function globalsOf(text: string): string[] {
  return new SourceFile('sample.ts', text).globals.map(
    (use) => `${use.name}${use.member === null ? '' : `.${use.member}`}:${use.line}`,
  );
}

test('a global is a name that is used and not declared, with its member and line', () => {
  assert.deepEqual(globalsOf('const a = 1;\nexport const b = a + Date.now();'), ['Date.now:2']);
});

test('strings, comments, properties, keys and types are no use of a global', () => {
  const text = `
    // Date.now() and process.exit()
    export const text = 'process.exit()';
    export interface Stream { process(fn: () => Promise<void>): void }
    export function run(stream: Stream): void { stream.process(async () => {}); }
    export const table = { process: 1, setTimeout: 2 };
    export type Handle = ReturnType<typeof setTimeout>;
  `;
  assert.deepEqual(globalsOf(text), []);
});

test('a parameter, a pattern and an import hide a global of the same name', () => {
  const text = `
    import { performance } from './clock.ts';
    export function a(process: { pid: number }): number { return process.pid; }
    export function b({ console }: { console: number }): number { return console; }
    export const c = performance.now();
  `;
  assert.deepEqual(globalsOf(text), []);
});

test('imports are found in every form', () => {
  const text = `
    import { a, type B as C } from './a.ts';
    import * as all from './all.ts';
    import './effect.ts';
    export * from './star.ts';
    export { d } from './d.ts';
    export type E = import('./type.ts').E;
    export const lazy = () => import('./lazy.ts');
    export const worker = new URL('./worker.ts', import.meta.url);
    export const site = new URL('https://example.org', import.meta.url);
  `;
  const { imports } = new SourceFile('sample.ts', text);
  assert.deepEqual(
    imports.map((one) => one.specifier),
    ['./a.ts', './all.ts', './effect.ts', './star.ts', './d.ts', './type.ts', './lazy.ts'].concat(
      './worker.ts',
    ),
  );
  assert.deepEqual(imports[0]?.names, ['a', 'B']);
  assert.deepEqual(imports[1]?.names, ['*']);
  assert.deepEqual(
    imports.map((one) => one.dynamic),
    [false, false, false, false, false, true, true, true],
  );
});

test('a line number is that of the offset, also at both ends of the text', () => {
  const file = new SourceFile('sample.ts', 'a\nbc\n\nd');
  assert.deepEqual(
    [0, 1, 2, 4, 5, 6].map((offset) => file.lineOf(offset)),
    [1, 1, 2, 2, 3, 4],
  );
  assert.equal(new SourceFile('sample.ts', 'a\nb\n').lines.length, 2);
});
