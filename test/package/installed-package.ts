/** The package as users get it: packed by the build, installed by npm into an empty folder. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url));

/** Of npm's own settings these say where packages come from; others would lead it astray. */
const NPM_SETTINGS = /^npm_config_(registry|cache|userconfig|globalconfig|.*proxy)$/i;

/** The environment of a user: this Node first, and no commands of the checkout. */
export function userEnvironment(): NodeJS.ProcessEnv {
  const variables = Object.entries(process.env).filter(
    ([name]) =>
      !/^(npm_|NODE_(?!EXTRA_CA_CERTS)|WEIR_|INIT_CWD$)/i.test(name) || NPM_SETTINGS.test(name),
  );
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.endsWith('node_modules/.bin') && !folder.startsWith(ROOT));
  return {
    ...Object.fromEntries(variables),
    PATH: [dirname(process.execPath), ...path].join(delimiter),
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  };
}

/** Makes tarballs of these packages, and of what they build on; answers their paths by name. */
export function packPackages(folder: string, names: readonly string[]): Map<string, string> {
  const build = join(ROOT, 'tools/build/main.ts');
  const args = [build, '--pack', folder, ...names];
  const options = { env: userEnvironment(), encoding: 'utf8', stdio: 'pipe' } as const;
  const paths = execFileSync(process.execPath, args, options).trim().split('\n');
  return new Map(paths.map((path) => [/weir-([a-z]+)-/.exec(basename(path))?.[1] ?? '', path]));
}

/** Makes the tarball of `@weir/core` in a folder of its own; answers its path. */
export function packCore(folder: string): string {
  return packPackages(folder, ['core']).get('core') ?? '';
}

/** Makes a project in an empty folder and installs the tarballs there. */
export function installInto(project: string, tarballs: Iterable<string>): void {
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  execFileSync('npm', ['install', ...tarballs], {
    cwd: project,
    env: userEnvironment(),
    stdio: 'pipe',
  });
}

/** Calls `use` with an empty folder, which is gone afterwards. */
export async function withEmptyFolder<R>(use: (folder: string) => R): Promise<Awaited<R>> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-package-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
