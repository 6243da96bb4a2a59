import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publishedManifest, withCompiledImports, withCompiledUrls } from './manifest.ts';

test('exports of sources become compiled files with their types, others stay', () => {
  const manifest = publishedManifest({
    name: '@weir/sample',
    version: '1.2.3',
    exports: { './cli': './src/cli/index.ts', './package.json': './package.json' },
    dependencies: { a: '1.0.0' },
  });
  assert.deepEqual(manifest['exports'], {
    './cli': { types: './lib/cli/index.d.ts', default: './lib/cli/index.js' },
    './package.json': './package.json',
  });
  assert.deepEqual(manifest['dependencies'], { a: '1.0.0' });
  assert.deepEqual(manifest['engines'], { node: '>=22.22' });
});

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
