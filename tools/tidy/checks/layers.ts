/**
 * Imports between the folders of the engine point down only; JobManager and TaskManager meet only
 * in `protocol`. A test may also import its own folder's siblings of the same rank, since it plays
 * the part of whoever puts them together.
 */
import { posix } from 'node:path';
import { isTest } from '../check.ts';
import type { Check, Problem } from '../check.ts';
import { CORE, LAYERS, PROCESS_ENTRIES, folderOf } from '../layer-table.ts';
import type { SourceFile } from '../source-file.ts';

export const layers: Check = {
  name: 'imports between layers point down only',
  run: (repository) =>
    repository.sources.filter((file) => file.path.startsWith(CORE)).flatMap(problemsOf),
};

function problemsOf(file: SourceFile): Problem[] {
  const from = folderOf(file.path);
  const problems: Problem[] = [];
  for (const { specifier, line } of file.imports) {
    const message = complaint(file.path, from, specifier);
    if (message !== null) problems.push({ file: file.path, line, message });
  }
  return problems;
}

function complaint(path: string, from: string | null, specifier: string): string | null {
  if (specifier.startsWith('@weir/'))
    return `import the file itself instead of '${specifier}', with a relative path`;
  if (!specifier.startsWith('.')) return null;
  const target = posix.join(posix.dirname(path), specifier);
  if (!target.startsWith(CORE)) return `'${specifier}' lies outside of ${CORE}`;
  const to = folderOf(target);
  if (from === null || from === to) return null;
  if (LAYERS[from] === undefined)
    return `folder ${from} is in no layer: add it to tools/tidy/layer-table.ts`;
  if (to === null) return `'${specifier}': the public entry imports the layers, never the reverse`;
  if (mayImport(path, from, to)) return null;
  return `${from} must not import ${to}: ${reason(from, to)}`;
}

function mayImport(path: string, from: string, to: string): boolean {
  const importer = LAYERS[from];
  const imported = LAYERS[to];
  if (importer === undefined || imported === undefined) return false;
  if (PROCESS_ENTRIES.includes(path)) return true;
  if (importer.extra.includes(to)) return true;
  if (imported.rank === importer.rank) return isTest(path);
  return imported.rank < importer.rank && (isTest(path) || !importer.except.includes(to));
}

function reason(from: string, to: string): string {
  const ranks = `layer ${LAYERS[from]?.rank} and layer ${LAYERS[to]?.rank}`;
  if (LAYERS[to] === undefined) return `${to} is in no layer of tools/tidy/layer-table.ts`;
  return `${ranks}; pass what is needed as an argument, or move the type down to protocol or base`;
}
