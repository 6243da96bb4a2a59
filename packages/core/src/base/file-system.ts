/**
 * The file operations that checkpoints, sources and sinks need, and no more: so that the real disk,
 * memory, a simulated disk that forgets what was not synced, and later object stores can stand
 * behind them. Paths are absolute and use `/`. Every failure is a `StorageUnavailableError` whose
 * `details` hold `path` and `errno` (such as `ENOENT`, `ENOSPC`, `EACCES`).
 */
export interface FileStat {
  readonly sizeBytes: number;
  readonly isDirectory: boolean;
  /** Wall-clock milliseconds. */
  readonly modifiedAt: number;
}

export interface FileWriter {
  /** Appends. Resolves when the bytes are handed to the system, not when they are durable. */
  write(bytes: Uint8Array): Promise<void>;
  /** Durable up to here once resolved. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface FileReader {
  /** Reads up to `length` bytes at `offset`; shorter only at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
  sizeBytes(): Promise<number>;
  close(): Promise<void>;
}

export interface FileSystem {
  /** `null` when nothing is there. */
  stat(path: string): Promise<FileStat | null>;
  /** Names in a directory, sorted; empty when the directory does not exist. */
  list(path: string): Promise<readonly string[]>;
  makeDirectory(path: string): Promise<void>;
  /** Whole file; fails when it does not exist. */
  readFile(path: string): Promise<Uint8Array>;
  openForRead(path: string): Promise<FileReader>;
  /** Creates or empties the file. With `exclusive` it fails with errno EEXIST when it exists. */
  create(path: string, options?: { readonly exclusive?: boolean }): Promise<FileWriter>;
  /** Cuts the file to `sizeBytes` and makes that durable. */
  truncate(path: string, sizeBytes: number): Promise<void>;
  /** Atomic; replaces the target. */
  rename(from: string, to: string): Promise<void>;
  /** Gives the file a second name; fails with errno EEXIST when `to` exists. Atomic. */
  link(from: string, to: string): Promise<void>;
  /** Makes names created, renamed or removed in this directory durable. */
  syncDirectory(path: string): Promise<void>;
  /** Removes a file; nothing happens when it does not exist. */
  remove(path: string): Promise<void>;
  /** Removes an empty directory; nothing happens when it is missing, fails when not empty. */
  removeDirectory(path: string): Promise<void>;
}
