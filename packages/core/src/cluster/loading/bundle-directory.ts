/**
 * Where bundles lie while a process runs: worker threads import them from disk, also when they
 * restart. Each process has a folder of its own, so that nobody removes what another still needs,
 * and takes away its files when it ends; what a killed process leaves, the next one clears.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { isAlive, isInOurTable, processIdentity } from '../process-identity.ts';

/** Number of the process that made it. */
const DIRECTORY = /^weir-job-(\d+)-/;
/** Holds the identity of that process. */
const OWNER_FILE = 'owner';

let ownDirectory: string | null = null;
const toRemove = new Set<string>();

/** The folder for bundles of this process, unless the caller has one. */
export function bundleDirectory(): string {
  if (ownDirectory !== null) return ownDirectory;
  ownDirectory = makeBundleDirectory();
  removeAtExit(ownDirectory);
  return ownDirectory;
}

/** A new folder that whoever asks for it removes. */
export function makeBundleDirectory(): string {
  removeOrphans();
  const directory = mkdtempSync(join(tmpdir(), `weir-job-${process.pid}-`));
  writeFileSync(join(directory, OWNER_FILE), processIdentity() ?? '');
  return directory;
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

/** Folders of processes that are known to be dead. */
function removeOrphans(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = DIRECTORY.exec(name)?.[1];
    if (pid === undefined) continue;
    const directory = join(tmpdir(), name);
    try {
      const identity = readFileSync(join(directory, OWNER_FILE), 'utf8');
      if (isInOurTable(identity) === true && !isAlive(Number(pid), identity))
        rmSync(directory, { recursive: true, force: true });
    } catch {
      // Another user's, or removed meanwhile: not ours to clear.
    }
  }
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
