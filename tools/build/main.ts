/**
 * `npm run build [-- NAME…]`: writes into the folder `dist` of each package exactly what is
 * published: compiled code with types, README and licence, and a package.json that points to them;
 * of all public packages, or of those named by their folders and what they build on. `--pack DIR`
 * makes tarballs in DIR instead and prints their paths, a line each; it builds in folders of its
 * own, so that several may run at once.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildPackage } from './build-package.ts';
import { publicPackages } from './packages.ts';
import type { SourcePackage } from './packages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

function build(packages: readonly SourcePackage[], distOf: (one: SourcePackage) => string): void {
  const built = new Map<string, string>();
  for (const one of packages) {
    buildPackage(one, { root, dist: distOf(one), built });
    built.set(one.manifest.name, distOf(one));
  }
}

/** Makes the tarballs and answers their paths. */
function pack(packages: readonly SourcePackage[], folder: string): readonly string[] {
  const work = mkdtempSync(join(tmpdir(), 'weir-build-'));
  const distOf = (one: SourcePackage): string => join(work, one.folder);
  try {
    build(packages, distOf);
    mkdirSync(folder, { recursive: true });
    return packages.map((one) => {
      const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
      const output = execFileSync('npm', args, { cwd: distOf(one), encoding: 'utf8' });
      return join(folder, output.trim().split('\n').at(-1) ?? '');
    });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const { values, positionals } = parseArgs({
  options: { pack: { type: 'string' } },
  allowPositionals: true,
});
try {
  const packages = publicPackages(root, positionals);
  if (values.pack === undefined) build(packages, (one) => join(one.path, 'dist'));
  else for (const path of pack(packages, resolve(values.pack))) console.log(path);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
