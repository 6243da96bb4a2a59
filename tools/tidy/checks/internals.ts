/**
 * Who reaches the engine's files, under `@weir/core/internal/`. The simulation is a second
 * composition root: it may use every layer but the first root and what users see, and the files of
 * connectors, which it runs against models of their systems. `@weir/testing` may use the same,
 * beside the public API. A connector builds on the public API alone, as those of other people must:
 * what it lacks there, everybody lacks.
 */
import { isTest } from '../check.ts';
import type { Check, Problem } from '../check.ts';
import type { SourceFile } from '../source-file.ts';

const INTERNAL = '@weir/core/internal/';
const FORBIDDEN: readonly string[] = ['cluster', 'rest', 'cli'];
const CORE = 'packages/core/';
const SIMULATION = 'packages/simulation/';
const TESTING = 'packages/testing/';

export const internals: Check = {
  name: 'only simulation and testing reach into the engine, and not into cluster, rest and cli',
  run: (repository) =>
    repository.sources
      .filter(({ path }) => path.startsWith('packages/') && !path.startsWith(CORE))
      .flatMap((file) =>
        file.imports.flatMap(({ specifier, line }): Problem[] => {
          const message = complaint(file, specifier);
          return message === null ? [] : [{ file: file.path, line, message }];
        }),
      ),
};

function complaint({ path }: SourceFile, specifier: string): string | null {
  if (specifier.includes('core/src/')) return `import '${INTERNAL}…' instead of '${specifier}'`;
  if (path.startsWith(SIMULATION) && /^@weir\/core(?!\/internal\/)/.test(specifier))
    return `import the file itself, under '${INTERNAL}'`;
  if (!specifier.startsWith(INTERNAL)) return null;
  if (!path.startsWith(SIMULATION) && !path.startsWith(TESTING))
    return isTest(path) ? null : "import from '@weir/core', and export there what connectors need";
  const folder = specifier.slice(INTERNAL.length).split('/')[0] ?? '';
  return FORBIDDEN.includes(folder) ? `${folder} is out of bounds for a simulation` : null;
}
