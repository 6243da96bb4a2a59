/**
 * Where bundles lie while a process runs: worker threads import them from disk, also when they
 * restart. Each process has a folder of its own, so that nobody removes what another still needs,
 * and takes away its files when it ends; what a killed process leaves, the system clears with its
 * temporary files.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';

let ownDirectory: string | null = null;
const toRemove = new Set<string>();

/** The folder for bundles of this process, unless the caller has one. */
export function bundleDirectory(): string {
  if (ownDirectory !== null) return ownDirectory;
  ownDirectory = mkdtempSync(join(tmpdir(), 'weir-job-'));
  removeAtExit(ownDirectory);
  return ownDirectory;
}

/**
 * Writes a bundle under a name made from its content and answers its path. The same content has the
 * same path, so a module is evaluated once a thread.
 */
export function writeBundle(code: string, sourcePath: string, directory: string): string {
  const hash = createHash('sha256').update(code).digest('hex').slice(0, 16);
  const path = join(directory, `${basename(sourcePath, extname(sourcePath))}-${hash}.mjs`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(path, code);
  if (directory !== ownDirectory) removeAtExit(path);
  return path;
}

function removeAtExit(path: string): void {
  if (toRemove.size === 0) process.once('exit', removeAll);
  toRemove.add(path);
}

function removeAll(): void {
  for (const path of toRemove) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // The process is ending and its result is known: a file left over must not change that.
    }
  }
}
