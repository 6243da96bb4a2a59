/**
 * Compiles one package into a folder that holds exactly what is published. It is compiled against
 * the compiled form of the packages that it builds on, so their published types are enough for it;
 * what it takes from packages that are not published is compiled along and lies in a folder of
 * their name.
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
import { dirname, join, relative } from 'node:path';
import { withCompiledImports, withCompiledUrls, withEmbedded } from './compiled-text.ts';
import { entrySources, publishedManifest } from './manifest.ts';
import { readmeOf } from './packages.ts';
import type { SourcePackage } from './packages.ts';

/**
 * Sources that nothing imports and no export names: the command, and what starts threads; and what
 * other packages of ours take from the engine's files and the engine itself does not use.
 */
const MORE_ENTRIES: Readonly<Record<string, readonly string[]>> = {
  core: [
    'src/cli/main.ts',
    'src/cluster/drill-worker.ts',
    'src/cluster/slot-worker.ts',
    'src/storage/memory-file-system.ts',
  ],
};

export interface BuildOptions {
  readonly root: string;
  readonly dist: string;
  /** Where packages that were built before are, by name. */
  readonly built: ReadonlyMap<string, string>;
}

export function buildPackage(source: SourcePackage, options: BuildOptions): void {
  const { root, dist } = options;
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  compile(source, options);
  for (const path of globSync('lib/**/*.{js,d.ts}', { cwd: dist }))
    rewrite(join(dist, path), (text) => finished(text, path.slice('lib/'.length), source));
  for (const path of globSync('lib/**/*.js.map', { cwd: dist }))
    rewrite(join(dist, path), (text) => withSourceInside(text, path));
  if ('bin' in source.manifest)
    cpSync(join(source.path, 'bin'), join(dist, 'bin'), { recursive: true });
  cpSync(join(root, 'LICENSE'), join(dist, 'LICENSE'));
  cpSync(readmeOf(root, source), join(dist, 'README.md'));
  const manifest = JSON.stringify(publishedManifest(source.manifest), null, 2);
  writeFileSync(join(dist, 'package.json'), `${manifest}\n`);
}

function compile(source: SourcePackage, { root, dist, built }: BuildOptions): void {
  const { folder, path, manifest, embeds } = source;
  const work = mkdtempSync(join(tmpdir(), 'weir-compile-'));
  try {
    const entries = [...entrySources(manifest), ...(MORE_ENTRIES[folder] ?? [])];
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        rootDir: join(root, 'packages'),
        outDir: join(work, 'out'),
        declaration: true,
        sourceMap: true,
        inlineSources: true,
        typeRoots: [join(root, 'node_modules/@types')],
        paths: { ...compiledPaths(built), ...sourcePaths(embeds) },
      },
      files: entries.map((entry) => join(path, entry)),
      include: [],
    };
    const project = join(work, 'tsconfig.json');
    writeFileSync(project, JSON.stringify(config));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [compiler, '--project', project], { stdio: 'inherit' });
    cpSync(join(work, 'out', folder, 'src'), join(dist, 'lib'), { recursive: true });
    for (const embedded of embeds)
      cpSync(join(work, 'out', embedded.folder, 'src'), join(dist, 'lib', embedded.folder), {
        recursive: true,
      });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Where the compiler finds the declarations of packages that are built. */
function compiledPaths(built: ReadonlyMap<string, string>): Record<string, readonly string[]> {
  const paths: Record<string, readonly string[]> = {};
  for (const [name, dist] of built) {
    const manifest = JSON.parse(readFileSync(join(dist, 'package.json'), 'utf8')) as {
      exports: Record<string, string | { types: string }>;
    };
    for (const [entry, target] of Object.entries(manifest.exports))
      if (typeof target === 'object')
        paths[`${name}${entry.slice(1)}`] = [join(dist, target.types)];
  }
  return paths;
}

/** And the sources of packages that go into this one. */
function sourcePaths(embeds: readonly SourcePackage[]): Record<string, readonly string[]> {
  return Object.fromEntries(
    embeds.flatMap(({ manifest, path }) =>
      Object.entries(manifest.exports).map(([entry, target]) => [
        `${manifest.name}${entry.slice(1)}`,
        [join(path, target)],
      ]),
    ),
  ) as Record<string, readonly string[]>;
}

function finished(text: string, path: string, { embeds }: SourcePackage): string {
  let result = path.endsWith('.d.ts') ? withCompiledImports(text) : withCompiledUrls(text);
  for (const { manifest, folder } of embeds)
    result = withEmbedded(result, { path, name: manifest.name, folder });
  return result;
}

/**
 * Traces name the source by a path inside the package, where the engine tells its own code from the
 * user's, and not by that of the machine it was built on. The text is in the map.
 */
function withSourceInside(map: string, path: string): string {
  const source = path.replace(/^lib/, 'src').replace(/\.js\.map$/, '.ts');
  const parsed = JSON.parse(map) as Record<string, unknown>;
  return JSON.stringify({ ...parsed, sources: [relative(dirname(path), source)] });
}

function rewrite(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}
