/**
 * No dead files: each TypeScript file is an entry, a test, or imported on some way from one.
 * Entries are what `package.json` files name, whatever Node starts (`main.ts`), examples and
 * benchmarks.
 */
import { posix } from 'node:path';
import { isTest } from '../check.ts';
import type { Check } from '../check.ts';
import { PROCESS_ENTRIES } from '../layer-table.ts';
import type { Repository } from '../repository.ts';

const STARTED = /^(tools\/[a-z-]+\/main\.ts|(examples|bench)\/[a-z-]+\.ts)$/;

export const reachability: Check = {
  name: 'every file is reachable from an entry or a test',
  run: (repository) => {
    const reached = reach(repository, entriesOf(repository));
    return repository.paths
      .filter((path) => path.endsWith('.ts') && !reached.has(path))
      .map((file) => ({ file, line: 0, message: 'nothing imports it: use it or remove it' }));
  },
};

function entriesOf(repository: Repository): string[] {
  const named = repository.paths
    .filter((path) => path.endsWith('package.json'))
    .flatMap((path) => filesNamedIn(path, repository.text(path) ?? '{}'));
  const started = repository.paths.filter(
    (path) => isTest(path) || STARTED.test(path) || PROCESS_ENTRIES.includes(path),
  );
  return [...named, ...started].filter((path) => repository.has(path));
}

/** Files of the repository that a text names by a path relative to its folder. */
function filesNamedIn(path: string, text: string): string[] {
  const folder = posix.dirname(path);
  const names = text.match(/[\w./-]+\.(ts|js)\b/g) ?? [];
  return names.map((name) => posix.join(folder, name));
}

function reach(repository: Repository, entries: readonly string[]): ReadonlySet<string> {
  const reached = new Set<string>(entries);
  for (const path of reached) {
    const imported = repository.source(path).imports.map(({ specifier }) => specifier);
    for (const specifier of [...imported, ...addressesIn(repository.text(path) ?? '')]) {
      const target = posix.join(posix.dirname(path), specifier);
      if (specifier.startsWith('.') && repository.has(target)) reached.add(target);
    }
  }
  return reached;
}

/** What a module loads by its address: a worker, or the job that a test runs. */
function addressesIn(text: string): string[] {
  return [...text.matchAll(/new URL\('([^']+\.ts)', import\.meta\.url\)/g)].map(([, name]) =>
    name!.startsWith('.') ? name! : `./${name}`,
  );
}
