/**
 * The files that the checks look at. Only the folders and root files named here belong to the
 * project; output that runs leave behind, packages and build results do not. A repository can also
 * be made from texts, which is how each check is tested with a bad sample.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SourceFile } from './source-file.ts';

const FOLDERS: readonly string[] = [
  '.ci',
  'bench',
  'docs',
  'examples',
  'packages',
  'test',
  'tools',
];
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'dist', '.weir', '.git']);
const TEXT = /\.(ts|js|mjs|json|md|yaml|yml|txt|sh|css|html)$|^\.ci\/|(^|\/)(LICENSE|\.[a-z]+)$/;
const SYNTAX = /\.(ts|js|mjs)$/;

export class Repository {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #sources = new Map<string, SourceFile>();

  constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts;
  }

  /** Paths of all files, relative to the root, sorted. */
  get paths(): readonly string[] {
    return [...this.#texts.keys()];
  }

  has(path: string): boolean {
    return this.#texts.has(path);
  }

  /** The text of a file, or `null` where there is none. */
  text(path: string): string | null {
    return this.#texts.get(path) ?? null;
  }

  /** A TypeScript or JavaScript file, parsed once. */
  source(path: string): SourceFile {
    let source = this.#sources.get(path);
    if (source === undefined) {
      source = new SourceFile(path, this.#texts.get(path) ?? '');
      this.#sources.set(path, source);
    }
    return source;
  }

  /** All TypeScript and JavaScript files. */
  get sources(): readonly SourceFile[] {
    return this.paths.filter((path) => SYNTAX.test(path)).map((path) => this.source(path));
  }
}

/** A repository made of texts, for tests. */
export function repositoryOf(files: Readonly<Record<string, string>>): Repository {
  return new Repository(new Map(Object.entries(files)));
}

/** Reads the project from disk. */
export function loadRepository(root: string): Repository {
  const paths = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
  for (const folder of FOLDERS) collect(root, folder, paths);
  const texts = new Map<string, string>();
  for (const path of paths.filter((candidate) => TEXT.test(candidate)).sort())
    texts.set(path, readFileSync(join(root, path), 'utf8'));
  return new Repository(texts);
}

function collect(root: string, folder: string, into: string[]): void {
  let entries;
  try {
    entries = readdirSync(join(root, folder), { withFileTypes: true });
  } catch {
    return; // A folder that does not exist yet holds nothing to check.
  }
  for (const entry of entries) {
    if (SKIPPED.has(entry.name)) continue;
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) collect(root, path, into);
    else if (entry.isFile()) into.push(path);
  }
}
