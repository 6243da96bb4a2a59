import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCompiledImports, withCompiledUrls, withEmbedded } from './compiled-text.ts';

test('addresses of own files point to compiled code, others are left alone', () => {
  const code = "new URL('./worker.ts', import.meta.url); new URL('./a.ts', base); f('./b.ts');";
  assert.equal(
    withCompiledUrls(code),
    "new URL('./worker.js', import.meta.url); new URL('./a.ts', base); f('./b.ts');",
  );
});

test('declarations import compiled files, in statements and in types, but not in comments', () => {
  const text = [
    "import type { A } from './a.ts';",
    'export {',
    '  B,',
    "} from '../b.ts';",
    'export declare const c: import("./c.ts").C;',
    "/** See import { d } from './d.ts'. */",
    "export type E = 'from ./e.ts';",
    "import { f } from 'package.ts';",
  ];
  const changed = withCompiledImports(text.join('\n')).split('\n');
  assert.equal(changed[0], "import type { A } from './a.js';");
  assert.equal(changed[3], "} from '../b.js';");
  assert.equal(changed[4], 'export declare const c: import("./c.js").C;');
  assert.deepEqual(changed.slice(5), text.slice(5));
});

test('what is taken from an embedded package is found in the folder of its name', () => {
  const embedded = { name: '@weir/inner', folder: 'inner' };
  const text = [
    "import { a } from '@weir/inner/engine/a';",
    "export type { B } from '@weir/inner/b';",
    "import { c } from '@weir/innermost/c';",
    'export declare const d: import("@weir/inner/engine/d").D;',
  ].join('\n');
  assert.deepEqual(withEmbedded(text, { ...embedded, path: 'outer/deep/x.js' }).split('\n'), [
    "import { a } from '../../inner/engine/a.js';",
    "export type { B } from '../../inner/b.js';",
    "import { c } from '@weir/innermost/c';",
    'export declare const d: import("../../inner/engine/d.js").D;',
  ]);
  const [atTop] = withEmbedded(text, { ...embedded, path: 'x.js' }).split('\n');
  assert.equal(atTop, "import { a } from './inner/engine/a.js';");
});
