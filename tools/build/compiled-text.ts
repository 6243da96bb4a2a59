/** What the compiler leaves to be put right in its output. */
import { posix } from 'node:path';

/**
 * Compiled code with the addresses of its own files put right: the compiler rewrites `.ts` in the
 * imports of code, but neither in `new URL('./worker.ts', import.meta.url)` nor in declarations.
 */
export function withCompiledUrls(code: string): string {
  return code.replace(
    /(new URL\((['"`])\.{1,2}\/[^'"`]+)\.ts(\2,\s*import\.meta\.url\))/g,
    '$1.js$3',
  );
}

const IMPORTS = /^(?:import|export)\b[^;]*?from '[^']+';|\bimport\((?:"[^"]+"|'[^']+')\)/gm;

/** Declarations whose imports name the compiled files. */
export function withCompiledImports(declarations: string): string {
  return declarations.replace(IMPORTS, (found) =>
    found.replace(/(['"]\.[^'"]*)\.ts(['"])/, '$1.js$2'),
  );
}

/**
 * Code or declarations that find a package which is not published inside the one that is: `path` is
 * the file's place below `lib`, and the package's files are in the folder `folder` there.
 */
export function withEmbedded(
  text: string,
  { path, name, folder }: { readonly path: string; readonly name: string; readonly folder: string },
): string {
  const here = posix.dirname(path);
  return text.replace(IMPORTS, (found) =>
    found.replace(/(['"])([^'"]+)(['"])/, (whole, open: string, target: string, close: string) => {
      if (!target.startsWith(`${name}/`)) return whole;
      const place = posix.relative(here, `${folder}${target.slice(name.length)}.js`);
      return `${open}${place.startsWith('.') ? place : `./${place}`}${close}`;
    }),
  );
}
