/**
 * Finds the files that a path stands for: itself, all files of a folder, or what matches a pattern.
 * Names that begin with `.` or `_` are left out unless the path or pattern names them so: writers
 * keep unfinished files and marks under such names, so the output of a file sink can be read.
 */
import type { FileSystem } from '../../base/file-system.ts';
import { joinPath } from '../../storage/paths.ts';

export interface FoundFile {
  readonly path: string;
  readonly sizeBytes: number;
}

const WILDCARDS = /[*?[{]/;

/** Sorted by path; `null` when neither the path nor the folder its pattern starts in exists. */
export async function findFiles(
  fileSystem: FileSystem,
  path: string,
): Promise<readonly FoundFile[] | null> {
  const found = new Map<string, FoundFile>();
  const segments = path.split('/').filter((segment) => segment !== '');
  const stat = await fileSystem.stat(path);
  if (stat !== null) {
    await collect(fileSystem, path, found);
  } else {
    const fixed = segments.findIndex((segment) => WILDCARDS.test(segment));
    if (fixed < 0) return null;
    const base = joinPath('/', ...segments.slice(0, fixed));
    if ((await fileSystem.stat(base)) === null) return null;
    await match(fileSystem, base, segments.slice(fixed), found);
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Adds a file, or all files below a folder. */
async function collect(
  fileSystem: FileSystem,
  path: string,
  found: Map<string, FoundFile>,
): Promise<void> {
  const stat = await fileSystem.stat(path);
  // It may have been removed since it was listed.
  if (stat === null) return;
  if (!stat.isDirectory) {
    found.set(path, { path, sizeBytes: stat.sizeBytes });
    return;
  }
  for (const name of await fileSystem.list(path))
    if (!isHidden(name)) await collect(fileSystem, joinPath(path, name), found);
}

async function match(
  fileSystem: FileSystem,
  folder: string,
  segments: readonly string[],
  found: Map<string, FoundFile>,
): Promise<void> {
  const [segment, ...rest] = segments;
  if (segment === undefined) return collect(fileSystem, folder, found);
  if ((await fileSystem.stat(folder))?.isDirectory !== true) return;
  const isDeep = segment === '**';
  // `**` stands for no folder as well as for any number of them.
  if (isDeep && rest.length > 0) await match(fileSystem, folder, rest, found);
  const expression = segmentExpression(isDeep ? '*' : segment);
  for (const name of await fileSystem.list(folder)) {
    if (!expression.test(name) || (isHidden(name) && name[0] !== segment[0])) continue;
    const path = joinPath(folder, name);
    if (isDeep && rest.length === 0) await collect(fileSystem, path, found);
    else await match(fileSystem, path, isDeep ? segments : rest, found);
  }
}

function isHidden(name: string): boolean {
  return name.startsWith('.') || name.startsWith('_');
}

/** The expression for one name of a pattern: `*` any text, `?` one character, `[…]`, `{a,b}`. */
export function segmentExpression(segment: string): RegExp {
  let source = '';
  let depth = 0;
  for (let at = 0; at < segment.length; at++) {
    const char = segment[at]!;
    const closing = char === '[' ? segment.indexOf(']', at + 2) : -1;
    if (char === '*') source += '.*';
    else if (char === '?') source += '.';
    else if (closing > 0) {
      source += setExpression(segment.slice(at + 1, closing));
      at = closing;
    } else if (char === '{' && segment.includes('}', at)) {
      source += '(?:';
      depth++;
    } else if (char === '}' && depth > 0) {
      source += ')';
      depth--;
    } else if (char === ',' && depth > 0) source += '|';
    else source += char.replace(/[\\^$.*+?()[\]{}|]/, '\\$&');
  }
  return new RegExp(`^${source}$`, 's');
}

function setExpression(set: string): string {
  const isNegated = set.startsWith('!') || set.startsWith('^');
  const members = (isNegated ? set.slice(1) : set).replaceAll(/[\\\]^]/g, '\\$&');
  return `[${isNegated ? '^' : ''}${members}]`;
}
