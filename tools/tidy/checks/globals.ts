/**
 * Time, randomness, timers, the process and the platform's I/O are arguments everywhere below the
 * composition root, so that a simulation can hold them. This check names each direct use and what
 * to take in its place. Tests are exempt.
 */
import { isTest } from '../check.ts';
import type { Check, Problem } from '../check.ts';
import {
  BANNED_GLOBALS,
  BANNED_IMPORTS,
  COMPOSITION_ROOTS,
  FREE_NODE_MODULES,
  LAYERS,
  PROCESS_ENTRIES,
  PURE,
  folderOf,
} from '../layer-table.ts';
import type { GlobalUse, Import, SourceFile } from '../source-file.ts';

export const globals: Check = {
  name: 'only the composition root touches time, randomness, I/O and the process',
  run: (repository) => repository.sources.filter(isBound).flatMap(problemsOf),
};

function isBound(file: SourceFile): boolean {
  const folder = folderOf(file.path);
  if (folder === null || isTest(file.path)) return false;
  return !COMPOSITION_ROOTS.includes(folder) && !PROCESS_ENTRIES.includes(file.path);
}

function problemsOf(file: SourceFile): Problem[] {
  const folder = folderOf(file.path) ?? '';
  const found: { line: number; message: string | null }[] = [
    ...file.globals.map((use) => ({ line: use.line, message: globalComplaint(use) })),
    ...file.imports.map((one) => ({ line: one.line, message: importComplaint(folder, one) })),
    ...file.nodes
      .filter(({ node }) => isWallClock(node))
      .map(({ node }) => ({
        line: file.lineOf(node.start),
        message: `new Date() reads the wall clock: ${BANNED_GLOBALS['Date.now']}`,
      })),
  ];
  return found.flatMap(({ line, message }) =>
    message === null ? [] : [{ file: file.path, line, message }],
  );
}

function globalComplaint({ name, member }: GlobalUse): string | null {
  const whole = name === 'globalThis' ? (member ?? '') : name;
  const banned = [whole, `${whole}.${member}`].find((one) => Object.hasOwn(BANNED_GLOBALS, one));
  const used = member === null ? name : `${name}.${member}`;
  if (banned === undefined) return null;
  return `${used} is for the composition root: ${BANNED_GLOBALS[banned]}`;
}

function importComplaint(folder: string, { specifier, names }: Import): string | null {
  if (!specifier.startsWith('node:')) return null;
  if (folder === PURE) return `${specifier}: ${PURE} is pure and imports no platform module`;
  const banned = names.find((name) => Object.hasOwn(BANNED_IMPORTS, name));
  if (banned !== undefined) return `${banned} of ${specifier}: ${BANNED_IMPORTS[banned]}`;
  const allowed = LAYERS[folder]?.nodeModules ?? [];
  if (allowed.includes('*') || allowed.includes(specifier)) return null;
  if (!FREE_NODE_MODULES.includes(specifier))
    return `${specifier} is for the composition root: take an interface of base as an argument`;
  const blocking = specifier !== 'node:zlib' || names.every((name) => /Sync$|^crc32$/.test(name));
  return blocking ? null : `${specifier}: only its synchronous functions may be used here`;
}

function isWallClock(node: { type: string; [key: string]: unknown }): boolean {
  if (node.type !== 'NewExpression') return false;
  const callee = node['callee'] as { name?: string };
  return callee.name === 'Date' && (node['arguments'] as unknown[]).length === 0;
}
