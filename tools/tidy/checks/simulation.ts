/**
 * The simulation is a second composition root: it may use every layer of the engine but the first
 * root and what users see. It reaches them under `@weir/core/internal/`, which the published
 * package does not have.
 */
import type { Check, Problem } from '../check.ts';

const SIMULATION = 'packages/simulation/src/';
const INTERNAL = '@weir/core/internal/';
const FORBIDDEN: readonly string[] = ['cluster', 'rest', 'cli'];

export const simulation: Check = {
  name: 'the simulation uses every layer but cluster, rest and cli',
  run: (repository) =>
    repository.sources
      .filter((file) => file.path.startsWith(SIMULATION))
      .flatMap((file) =>
        file.imports.flatMap(({ specifier, line }): Problem[] => {
          const message = complaint(specifier);
          return message === null ? [] : [{ file: file.path, line, message }];
        }),
      ),
};

function complaint(specifier: string): string | null {
  if (specifier.includes('core/src/')) return `import '${INTERNAL}…' instead of '${specifier}'`;
  if (!specifier.startsWith('@weir/')) return null;
  if (!specifier.startsWith(INTERNAL)) return `import the file itself, under '${INTERNAL}'`;
  const folder = specifier.slice(INTERNAL.length).split('/')[0] ?? '';
  return FORBIDDEN.includes(folder) ? `the simulation must not import ${folder}` : null;
}
