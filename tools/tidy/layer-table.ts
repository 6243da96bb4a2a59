/**
 * The layers of the engine as data: which folder of `packages/core/src` may import which, which
 * `node:` modules it may use, and which globals are banned below the composition root, each with
 * what to use instead. ARCHITECTURE.md explains it; the checks `layers` and `globals` enforce it.
 */

export interface Layer {
  readonly rank: number;
  /** Folders of the same rank or above that this folder may import all the same. */
  readonly extra: readonly string[];
  /** Folders of a lower rank that this folder must not import. */
  readonly except: readonly string[];
  /** `node:` modules beyond those that are free for all; `*` for any. */
  readonly nodeModules: readonly string[];
}

function layer(rank: number, rules: Partial<Omit<Layer, 'rank'>> = {}): Layer {
  return { rank, extra: [], except: [], nodeModules: [], ...rules };
}

const FILES = ['node:fs', 'node:fs/promises', 'node:path'];

export const CORE = 'packages/core/src/';

export const LAYERS: Readonly<Record<string, Layer>> = {
  base: layer(0),
  api: layer(1),
  protocol: layer(1),
  graph: layer(2),
  storage: layer(2, { nodeModules: FILES }),
  state: layer(2, { extra: ['storage'] }),
  network: layer(2),
  connectors: layer(2, { extra: ['storage'], nodeModules: ['*'] }),
  taskmanager: layer(3, { except: ['connectors'] }),
  jobmanager: layer(3, { except: ['connectors', 'network'] }),
  rest: layer(4, { nodeModules: ['node:http'] }),
  cli: layer(4, { extra: ['rest'], nodeModules: ['node:path', 'node:url', 'node:util'] }),
  cluster: layer(5, { nodeModules: ['*'] }),
};

/** `node:` modules that neither do I/O nor depend on time; `protocol` may not use even these. */
export const FREE_NODE_MODULES: readonly string[] = ['node:buffer', 'node:crypto', 'node:zlib'];

/** The folder whose code must be synchronous and free of the platform. */
export const PURE = 'protocol';

/** Folders that may touch real time, randomness and the process. */
export const COMPOSITION_ROOTS: readonly string[] = ['cluster'];

/**
 * Files that Node itself starts, for a user at a terminal: they hand the process to the engine, so
 * they may import `cluster` and are free of the bans.
 */
export const PROCESS_ENTRIES: readonly string[] = [`${CORE}cli/main.ts`];

/** Global, or global and member, and what to use in its place. */
export const BANNED_GLOBALS: Readonly<Record<string, string>> = {
  'Date.now': 'take a Clock: now() for intervals, wallTime() for what users see',
  performance: 'take a Clock and call now()',
  'Math.random': 'take a Random',
  'crypto.randomUUID': 'take a Random',
  'crypto.getRandomValues': 'take a Random',
  setTimeout: 'take a Clock and call schedule()',
  setInterval: 'take a Clock and schedule() again in the call',
  setImmediate: 'take a Clock and call defer()',
  queueMicrotask: 'take a Clock and call defer()',
  clearTimeout: 'cancel the Timer that Clock.schedule() returned',
  clearInterval: 'cancel the Timer that Clock.schedule() returned',
  process: 'take the value as an argument from the composition root',
  fetch: 'take the answer through an interface that the composition root implements',
  WeakRef: 'keep a strong reference: garbage collection is not deterministic',
  FinalizationRegistry: 'close it explicitly: garbage collection is not deterministic',
};

/** Names of free `node:` modules that are banned, and what to use in their place. */
export const BANNED_IMPORTS: Readonly<Record<string, string>> = {
  randomUUID: 'take a Random',
  randomBytes: 'take a Random',
  randomInt: 'take a Random',
  randomFill: 'take a Random',
  webcrypto: 'use the synchronous hashes',
};

/** The folder of the engine that a path belongs to; `null` outside and for files at its top. */
export function folderOf(path: string): string | null {
  if (!path.startsWith(CORE)) return null;
  const [folder, rest] = path.slice(CORE.length).split('/', 2);
  return rest === undefined || folder === undefined ? null : folder;
}
