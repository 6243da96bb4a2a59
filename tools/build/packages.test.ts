import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { publicPackages } from './packages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

test('a package comes behind those it builds on, and with those it embeds', () => {
  const packages = publicPackages(root, ['testing']);
  assert.deepEqual(
    packages.map(({ folder, embeds }) => [folder, embeds.map((one) => one.folder)]),
    [
      ['core', []],
      ['testing', ['simulation']],
    ],
  );
});

test('all packages that are not private are published, in one version', () => {
  const packages = publicPackages(root, []);
  for (const folder of ['core', 'kafka', 'testing'])
    assert.ok(packages.some((one) => one.folder === folder));
  assert.ok(!packages.some(({ folder }) => folder === 'simulation'));
  const versions = packages.flatMap(({ manifest }) => [
    manifest.version,
    ...Object.entries(manifest.dependencies ?? {}).flatMap(([name, version]) =>
      name.startsWith('@weir/') ? [version] : [],
    ),
  ]);
  assert.equal(new Set(versions).size, 1, versions.join());
});

test('a name that is no public package is refused', () => {
  assert.throws(() => publicPackages(root, ['simulation']), /no public package simulation: core, /);
});
