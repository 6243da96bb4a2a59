/**
 * `npm run build`: writes into `packages/core/dist` exactly what the published package holds:
 * compiled code with types, the command, README and licence, and a package.json that points to
 * them. `--pack DIR` makes the tarball in DIR instead and prints its path; it builds in a folder of
 * its own, so that several may run at once.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { publishedManifest, withCompiledImports, withCompiledUrls } from './manifest.ts';
import type { Manifest } from './manifest.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const core = join(root, 'packages/core');

function build(dist: string): void {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const project = join(root, 'tools/build/tsconfig.json');
  const args = [compiler, '--project', project, '--outDir', join(dist, 'lib')];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
  rewrite(join(dist, 'lib/**/*.js'), withCompiledUrls);
  rewrite(join(dist, 'lib/**/*.d.ts'), withCompiledImports);
  cpSync(join(core, 'bin'), join(dist, 'bin'), { recursive: true });
  for (const file of ['README.md', 'LICENSE']) cpSync(join(root, file), join(dist, file));
  const manifest = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8')) as Manifest;
  const published = JSON.stringify(publishedManifest(manifest), null, 2);
  writeFileSync(join(dist, 'package.json'), `${published}\n`);
}

function rewrite(pattern: string, change: (text: string) => string): void {
  for (const path of globSync(pattern)) writeFileSync(path, change(readFileSync(path, 'utf8')));
}

/** Makes the tarball and answers its path. */
function pack(folder: string): string {
  const dist = mkdtempSync(join(tmpdir(), 'weir-build-'));
  try {
    build(dist);
    mkdirSync(folder, { recursive: true });
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
    const output = execFileSync('npm', args, { cwd: dist, encoding: 'utf8' });
    return join(folder, output.trim().split('\n').at(-1) ?? '');
  } finally {
    rmSync(dist, { recursive: true, force: true });
  }
}

const { values } = parseArgs({ options: { pack: { type: 'string' } } });
try {
  if (values.pack === undefined) build(join(core, 'dist'));
  else console.log(pack(resolve(values.pack)));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
