/**
 * `npm run build`: writes into `packages/core/dist` exactly what the published package holds:
 * compiled code with types, the command, README and licence, and a package.json that points to
 * them. `--pack DIR` then makes the tarball in DIR and prints its path.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { publishedManifest, withCompiledImports, withCompiledUrls } from './manifest.ts';
import type { Manifest } from './manifest.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const core = join(root, 'packages/core');
const dist = join(core, 'dist');

function build(): void {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const project = join(root, 'tools/build/tsconfig.json');
  execFileSync(process.execPath, [compiler, '--project', project], { stdio: 'inherit' });
  rewrite('lib/**/*.js', withCompiledUrls);
  rewrite('lib/**/*.d.ts', withCompiledImports);
  cpSync(join(core, 'bin'), join(dist, 'bin'), { recursive: true });
  for (const file of ['README.md', 'LICENSE']) cpSync(join(root, file), join(dist, file));
  const manifest = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8')) as Manifest;
  const published = JSON.stringify(publishedManifest(manifest), null, 2);
  writeFileSync(join(dist, 'package.json'), `${published}\n`);
}

function rewrite(pattern: string, change: (text: string) => string): void {
  for (const file of globSync(pattern, { cwd: dist })) {
    const path = join(dist, file);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  }
}

/** Makes the tarball and answers its path. */
function pack(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  const output = execFileSync('npm', args, { cwd: dist, encoding: 'utf8' });
  return join(folder, output.trim().split('\n').at(-1) ?? '');
}

const { values } = parseArgs({ options: { pack: { type: 'string' } } });
try {
  build();
  if (values.pack !== undefined) console.log(pack(resolve(values.pack)));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
