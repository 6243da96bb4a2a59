import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entrySources, publishedManifest } from './manifest.ts';

const SAMPLE = {
  name: '@weir/sample',
  version: '1.2.3',
  exports: {
    './cli': './src/cli/index.ts',
    './internal/*': './src/*.ts',
    './package.json': './package.json',
  },
  dependencies: { a: '1.0.0' },
};

test('exports of sources become compiled files with their types, others stay', () => {
  const manifest = publishedManifest(SAMPLE);
  assert.deepEqual(manifest['exports'], {
    './cli': { types: './lib/cli/index.d.ts', default: './lib/cli/index.js' },
    './internal/*': { types: './lib/*.d.ts', default: './lib/*.js' },
    './package.json': './package.json',
  });
  assert.deepEqual(manifest['dependencies'], { a: '1.0.0' });
  assert.deepEqual(manifest['engines'], { node: '>=22.22' });
  assert.deepEqual(entrySources(SAMPLE), ['./src/cli/index.ts']);
});

test('a package of ours is a peer of the same version, and what builds it stays at home', () => {
  const manifest = publishedManifest({
    ...SAMPLE,
    dependencies: { a: '1.0.0', '@weir/core': '1.2.3' },
    devDependencies: { '@weir/inner': '1.2.3' },
  });
  assert.deepEqual(manifest['dependencies'], { a: '1.0.0' });
  assert.deepEqual(manifest['peerDependencies'], { '@weir/core': '1.2.3' });
  assert.ok(!('devDependencies' in manifest));
});
