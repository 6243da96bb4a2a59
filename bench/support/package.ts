/**
 * The package as it is published, unpacked into a folder, with the dependencies of the checkout.
 */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Builds, packs and unpacks; the path of the command. */
export function unpackedCommand(folder: string): string {
  const build = join(ROOT, 'tools/build/main.ts');
  const args = [build, '--pack', folder, 'core'];
  const output = execFileSync(process.execPath, args, { encoding: 'utf8' });
  const tarball = output.trim().split('\n').at(-1) ?? '';
  mkdirSync(join(folder, 'unpacked'));
  execFileSync('tar', ['-xzf', tarball, '-C', join(folder, 'unpacked')]);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'unpacked/package/node_modules'));
  return join(folder, 'unpacked/package/bin/weir.js');
}

export function startCommand(command: string, args: readonly string[], cwd: string): ChildProcess {
  const env = { ...process.env, WEIR_DATA_DIR: join(cwd, 'weir-data') };
  return spawn(process.execPath, [command, ...args], { cwd, env, stdio: 'ignore' });
}

export function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.on('close', () => resolve());
  });
}
