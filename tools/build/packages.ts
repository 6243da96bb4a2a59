/** The packages that are published, as the checkout has them, each behind those it builds on. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Manifest } from './manifest.ts';

export interface SourcePackage {
  /** Of its folder: `core`. */
  readonly folder: string;
  readonly path: string;
  readonly manifest: Manifest;
  /** Packages that are not published, and go into this one. */
  readonly embeds: readonly SourcePackage[];
}

/** @throws Error when a name is not that of a package's folder. */
export function publicPackages(root: string, names: readonly string[]): readonly SourcePackage[] {
  const all = globSync('packages/*/package.json', { cwd: root })
    .toSorted()
    .map((file) => readPackage(root, basename(dirname(file))));
  const byName = new Map(all.map((one) => [one.manifest.name, one]));
  const embeddedIn = ({ manifest }: SourcePackage): readonly SourcePackage[] =>
    Object.keys(manifest.devDependencies ?? {}).flatMap((name) => byName.get(name) ?? []);
  const published = all
    .filter(({ manifest }) => manifest.private !== true)
    .map((one) => ({ ...one, embeds: embeddedIn(one) }));
  for (const name of names)
    if (!published.some(({ folder }) => folder === name))
      throw new Error(
        `there is no public package ${name}: ${published.map(({ folder }) => folder).join(', ')}`,
      );
  const wanted = published.filter(({ folder }) => names.length === 0 || names.includes(folder));
  const sorted: SourcePackage[] = [];
  const add = (one: SourcePackage): void => {
    if (sorted.includes(one)) return;
    for (const other of published)
      if (other.manifest.name in (one.manifest.dependencies ?? {})) add(other);
    sorted.push(one);
  };
  for (const one of wanted) add(one);
  return sorted;
}

function readPackage(root: string, folder: string): SourcePackage {
  const path = join(root, 'packages', folder);
  const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest;
  return { folder, path, manifest, embeds: [] };
}

/** The page that npm shows: the package's own, its page of the guide, or that of the whole. */
export function readmeOf(root: string, { path, folder }: SourcePackage): string {
  const pages = [join(path, 'README.md'), join(root, `docs/guide/${folder}.md`)];
  return pages.find((page) => existsSync(page)) ?? join(root, 'README.md');
}
