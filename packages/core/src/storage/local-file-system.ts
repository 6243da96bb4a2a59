/**
 * The disk of this machine, or whatever is mounted on it, through `node:fs`. Adds nothing but
 * errors that users understand, and the two habits that durability needs: writes are repeated until
 * every byte is taken, and names become durable only through `syncDirectory`.
 */
import type { FileHandle } from 'node:fs/promises';
import * as fs from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FileReader, FileStat, FileSystem, FileWriter } from '../base/file-system.ts';
import { storageError } from './storage-error.ts';

export class LocalFileSystem implements FileSystem {
  async stat(path: string): Promise<FileStat | null> {
    try {
      const stat = await fs.stat(path);
      return {
        sizeBytes: stat.size,
        isDirectory: stat.isDirectory(),
        modifiedAt: stat.mtimeMs,
      };
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null;
      throw storageError('look at', path, error);
    }
  }

  async list(path: string): Promise<readonly string[]> {
    try {
      return (await fs.readdir(path)).sort();
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw storageError('list', path, error);
    }
  }

  async makeDirectory(path: string): Promise<void> {
    await wrap('create the folder', path, () => makeDirectories(path));
  }

  async readFile(path: string): Promise<Uint8Array> {
    return wrap('read', path, () => fs.readFile(path));
  }

  async openForRead(path: string): Promise<FileReader> {
    return new LocalFileReader(path, await wrap('open', path, () => fs.open(path, 'r')));
  }

  async create(path: string, options?: { readonly exclusive?: boolean }): Promise<FileWriter> {
    const flags = options?.exclusive === true ? 'wx' : 'w';
    return new LocalFileWriter(path, await wrap('create', path, () => fs.open(path, flags)));
  }

  async truncate(path: string, sizeBytes: number): Promise<void> {
    await wrap('truncate', path, async () => {
      const handle = await fs.open(path, 'r+');
      try {
        await handle.truncate(sizeBytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
    });
  }

  async rename(from: string, to: string): Promise<void> {
    await wrap(`rename ${from} to`, to, () => fs.rename(from, to));
  }

  async link(from: string, to: string): Promise<void> {
    await wrap(`link ${from} to`, to, () => fs.link(from, to));
  }

  async syncDirectory(path: string): Promise<void> {
    await wrap('make names durable in', path, async () => {
      const handle = await fs.open(path, 'r');
      try {
        await handle.sync();
      } catch (error) {
        // Some network and FUSE mounts cannot sync a directory: their names are durable at once.
        if (!hasCode(error, 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP')) throw error;
      } finally {
        await handle.close();
      }
    });
  }

  async remove(path: string): Promise<void> {
    await wrap('remove', path, () => unlessMissing(fs.unlink(path)));
  }

  async removeDirectory(path: string): Promise<void> {
    await wrap('remove the folder', path, () => unlessMissing(fs.rmdir(path)));
  }
}

class LocalFileWriter implements FileWriter {
  readonly #path: string;
  readonly #handle: FileHandle;

  constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await wrap('write', this.#path, async () => {
      // One call may take fewer bytes than it was given, for example just before the disk is full.
      let done = 0;
      while (done < bytes.byteLength)
        done += (await this.#handle.write(bytes, done, bytes.byteLength - done)).bytesWritten;
    });
  }

  async sync(): Promise<void> {
    await wrap('make durable', this.#path, () => this.#handle.sync());
  }

  async close(): Promise<void> {
    // A network file system may report only here that the disk is full.
    await wrap('close', this.#path, () => this.#handle.close());
  }
}

class LocalFileReader implements FileReader {
  readonly #path: string;
  readonly #handle: FileHandle;

  constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    return wrap('read', this.#path, async () => {
      const bytes = new Uint8Array(length);
      let done = 0;
      while (done < length) {
        const position = offset + done;
        const { bytesRead } = await this.#handle.read(bytes, done, length - done, position);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return done === length ? bytes : bytes.slice(0, done);
    });
  }

  async sizeBytes(): Promise<number> {
    return wrap('look at', this.#path, async () => (await this.#handle.stat()).size);
  }

  async close(): Promise<void> {
    await wrap('close', this.#path, () => this.#handle.close());
  }
}

async function wrap<T>(action: string, path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw storageError(action, path, error);
  }
}

async function unlessMissing(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return typeof error.code === 'string' && codes.includes(error.code);
}

/**
 * With its parents. Not by Node's `recursive`: where a folder that exists takes no new entry but
 * says that there is none (as /proc does), that one tries for ever, and blocks a thread.
 */
async function makeDirectories(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    const parent = dirname(path);
    if (!hasCode(error, 'ENOENT') || parent === path) throw error;
    await makeDirectories(parent);
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await fs.mkdir(path);
  } catch (error) {
    const isThere = await fs.stat(path).then(
      (stat) => stat.isDirectory(),
      () => false,
    );
    if (!isThere) throw error;
  }
}
