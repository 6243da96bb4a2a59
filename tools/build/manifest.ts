/**
 * The `package.json` of a published package, made from that of the checkout: what pointed to
 * TypeScript sources points to their compiled form with its types, and the supported Node versions
 * are named. (In the checkout they are not, since its tools bring their own Node and an install on
 * an older one must not warn.)
 */

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** The engine's own files: for the other packages of this repository, never for users. */
const INTERNAL = './internal/';

const ENGINES = { node: '>=22.22' };

export function publishedManifest(source: Manifest): Record<string, unknown> {
  const entries = Object.entries(source.exports).filter(([name]) => !name.startsWith(INTERNAL));
  return {
    ...source,
    exports: Object.fromEntries(entries.map(([name, target]) => [name, publishedTarget(target)])),
    files: ['bin', 'lib', 'LICENSE', 'README.md'],
    engines: ENGINES,
  };
}

function publishedTarget(target: string): string | { types: string; default: string } {
  if (!target.endsWith('.ts')) return target;
  const compiled = target.replace(/^\.\/src\//, './lib/').replace(/\.ts$/, '');
  return { types: `${compiled}.d.ts`, default: `${compiled}.js` };
}

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

/** Declarations whose imports name the compiled files. */
export function withCompiledImports(declarations: string): string {
  const imports = /^(?:import|export)\b[^;]*?from '[^']+';|\bimport\("[^"]+"\)/gm;
  return declarations.replace(imports, (found) =>
    found.replace(/(['"]\.[^'"]*)\.ts(['"])/, '$1.js$2'),
  );
}
