/**
 * The two steps of which every durable thing here is made: a directory that is still there after a
 * power failure, and a file that appears whole or not at all.
 */
import type { FileSystem } from '../base/file-system.ts';
import { parentPath } from './paths.ts';
import { isTransientStorageError } from './storage-error.ts';

/**
 * Creates `path` and what is missing above it. A name is durable once the directory that holds it
 * is synced, and a name that exists may have been made just before a crash; so all of them are.
 */
export async function makeDirectoryDurably(fileSystem: FileSystem, path: string): Promise<void> {
  const created = new Set<string>();
  for (let at = path; at !== '/' && (await fileSystem.stat(at)) === null; at = parentPath(at))
    created.add(at);
  await fileSystem.makeDirectory(path);
  for (let at = path; at !== '/'; at = parentPath(at)) {
    try {
      await fileSystem.syncDirectory(parentPath(at));
    } catch (error) {
      // Directories far above may not be readable for this user, but then others look after them.
      if (created.has(at) || isTransientStorageError(error)) throw error;
    }
  }
}

/** Writes the whole file and syncs it; its name is not durable yet. */
export async function writeFileDurably(
  fileSystem: FileSystem,
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  const writer = await fileSystem.create(path);
  try {
    await writer.write(bytes);
    await writer.sync();
  } catch (error) {
    await closeQuietly(writer);
    throw error;
  }
  await writer.close();
}

/** For a file that is given up: the error that led here matters, that of closing does not. */
export async function closeQuietly(file: { close(): Promise<void> }): Promise<void> {
  try {
    await file.close();
  } catch {
    // Nothing in it is needed.
  }
}
