/**
 * The `package.json` of a published package, made from that of the checkout: what pointed to
 * TypeScript sources points to their compiled form with its types, and the supported Node versions
 * are named. (In the checkout they are not, since its tools bring their own Node and an install on
 * an older one must not warn.)
 *
 * Packages of ours are needed in exactly the same version, and as peers: npm then refuses what
 * would put a second copy of the engine beside the first, instead of nesting it.
 */

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Everything of ours is named so. */
const SCOPE = '@weir/';

const ENGINES = { node: '>=22.22' };

export function publishedManifest(source: Manifest): Record<string, unknown> {
  const { dependencies = {}, devDependencies: _, ...rest } = source;
  const exports = Object.entries(source.exports).map(([name, target]) => [
    name,
    publishedTarget(target),
  ]);
  const [ours, others] = [ofScope(dependencies, true), ofScope(dependencies, false)];
  return {
    ...rest,
    exports: Object.fromEntries(exports) as Record<string, unknown>,
    ...(Object.keys(others).length > 0 ? { dependencies: others } : {}),
    ...(Object.keys(ours).length > 0 ? { peerDependencies: ours } : {}),
    files: [...('bin' in source ? ['bin'] : []), 'lib', 'LICENSE', 'README.md'],
    engines: ENGINES,
  };
}

function ofScope(
  dependencies: Readonly<Record<string, string>>,
  isOurs: boolean,
): Record<string, string> {
  const entries = Object.entries(dependencies);
  return Object.fromEntries(entries.filter(([name]) => name.startsWith(SCOPE) === isOurs));
}

/** Sources that a package's `exports` name one by one; those behind a pattern come with others. */
export function entrySources({ exports }: Manifest): readonly string[] {
  return Object.values(exports).filter((target) => /^[^*]+\.ts$/.test(target));
}

function publishedTarget(target: string): string | { types: string; default: string } {
  if (!target.endsWith('.ts')) return target;
  const compiled = target.replace(/^\.\/src\//, './lib/').replace(/\.ts$/, '');
  return { types: `${compiled}.d.ts`, default: `${compiled}.js` };
}
