/**
 * Which file an import of a job means, as a plugin of esbuild:
 *
 * - `@weir/core` is always the engine that is running, and so is a relative path into it, so that a
 *   job needs no `node_modules` for it and never meets a second copy;
 * - what a job imports by name is looked up from the importing file; plain JavaScript is left to
 *   Node under its absolute address, so that packages work as they do without a bundle, while
 *   TypeScript (packages of the same workspace) is bundled, as are all relative imports;
 * - `import.meta.url` and its like mean the source file, not the bundle.
 */
import { readFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { OnResolveArgs, OnResolveResult, PartialMessage, Plugin } from 'esbuild';
import { didYouMean } from '../../base/nearest.ts';

/** Folder of the engine's own code, for telling its frames from the user's. */
export const ENGINE_DIRECTORY: string = join(import.meta.dirname, '../../');

/** Whether from sources or compiled, the other files are of the same kind as this one. */
const EXTENSION = extname(import.meta.filename);

const ENGINE_ENTRIES: Readonly<Record<string, string>> = {
  '@weir/core': `index${EXTENSION}`,
  '@weir/core/cli': `cli/index${EXTENSION}`,
  '@weir/core/cluster': `cluster/index${EXTENSION}`,
};

/** Left to Node. JSON is not: an import of it would need attributes that no bundle keeps. */
const NODE_LOADS: readonly string[] = ['.js', '.mjs', '.cjs', '.node'];

const META_MODULE = 'weir-import-meta:';
const SOURCE_FILE = /\.[cm]?[jt]sx?$/;

/** Names that stand for the file's own address once `importMeta` has given them to it. */
export const IMPORT_META_NAMES: Readonly<Record<string, string>> = {
  'import.meta.url': '__weir_url',
  'import.meta.filename': '__weir_filename',
  'import.meta.dirname': '__weir_dirname',
};

/** Marks the questions that this plugin itself asks. */
const OWN_QUESTION = Symbol('weir-imports');

export const resolveImports: Plugin = {
  name: 'weir-imports',
  setup(build) {
    build.onResolve({ filter: /^@weir\/core(?:\/|$)/ }, ({ path }) => resolveEngine(path));
    build.onResolve({ filter: /^/ }, async (args) => {
      const { path, importer, resolveDir, kind, pluginData } = args;
      if (kind === 'entry-point' || pluginData === OWN_QUESTION) return null;
      if (path === META_MODULE) return { path: importer, namespace: META_MODULE };
      const options = { importer, resolveDir, kind, pluginData: OWN_QUESTION };
      const found = await build.resolve(path, options);
      if (found.errors.length > 0) return { errors: [notFound(args)] };
      if (found.external || found.namespace !== 'file' || !isForNode(path, found.path))
        return found;
      const address = kind.startsWith('require') ? found.path : addressOf(found.path);
      return { path: address, external: true };
    });
  },
};

function isForNode(imported: string, file: string): boolean {
  if (file.startsWith(ENGINE_DIRECTORY)) return true;
  // `./a`, `/a` and `#a` are the job's own.
  return !/^[./#]/.test(imported) && NODE_LOADS.includes(extname(file));
}

export const importMeta: Plugin = {
  name: 'weir-import-meta',
  setup(build) {
    build.onLoad({ filter: SOURCE_FILE, namespace: 'file' }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      if (!source.includes('import.meta')) return null;
      // Behind the last line, so that all lines keep their numbers; imports run first anyway.
      const names = Object.values(IMPORT_META_NAMES).join(', ');
      return {
        contents: `${source}\nimport { ${names} } from "${META_MODULE}";`,
        loader: 'default',
      };
    });
    build.onLoad({ filter: /^/, namespace: META_MODULE }, ({ path }) => {
      const values = [addressOf(path), path, dirname(path)];
      const lines = Object.values(IMPORT_META_NAMES).map(
        (name, index) => `export const ${name} = ${JSON.stringify(values[index])};`,
      );
      return { contents: lines.join('\n'), loader: 'js' };
    });
  },
};

function resolveEngine(path: string): OnResolveResult {
  // What packages of the same repository import; a published engine names no such files.
  const internal = /^@weir\/core\/internal\/(.+)\.ts$/.exec(path)?.[1];
  const entry = internal === undefined ? ENGINE_ENTRIES[path] : `${internal}${EXTENSION}`;
  if (entry !== undefined)
    return { path: addressOf(join(ENGINE_DIRECTORY, entry)), external: true };
  const known = Object.keys(ENGINE_ENTRIES);
  const text = `${path} does not exist: import from ${known.join(', ')}${didYouMean(path, known)}`;
  return { errors: [{ text }] };
}

function notFound({ path, resolveDir }: OnResolveArgs): PartialMessage {
  if (/^[./#]/.test(path)) return { text: `cannot find the file "${path}"` };
  const [scope, name] = path.split('/');
  const packageName = path.startsWith('@') ? `${scope}/${name}` : scope;
  return {
    text:
      `cannot find the package "${path}" from ${resolveDir}; install it there ` +
      `(npm install ${packageName}) or correct the name`,
  };
}

function addressOf(path: string): string {
  return pathToFileURL(path).href;
}
