/**
 * A file system that fails on request: for tests and simulation. Each fault waits for the nth
 * operation that fits, and may fail before the operation, or after it succeeded (the answer is
 * lost), or only be slow. `stopAfter` ends everything at one operation, as a kill would.
 */
import { sleep, type Clock } from '../base/clock.ts';
import type { FileReader, FileStat, FileSystem, FileWriter } from '../base/file-system.ts';
import { storageErrorFromErrno } from './storage-error.ts';

export type FileOperation = keyof FileSystem | 'write' | 'sync' | 'close' | 'read' | 'sizeBytes';

export interface FileFault {
  /** Any operation when left out. */
  readonly operation?: FileOperation;
  /** Only paths that contain this text. */
  readonly path?: string;
  /** How many fitting operations pass unharmed first; default 0. */
  readonly skip?: number;
  /** How many fitting operations are hit, then; default 1. */
  readonly times?: number;
  /** Left out: the operation is only delayed. */
  readonly errno?: string;
  /** The operation takes effect, and only its answer is an error. */
  readonly answerLost?: boolean;
  readonly delayMs?: number;
}

export class FaultyFileSystem implements FileSystem {
  readonly #inner: FileSystem;
  readonly #clock: Clock;
  readonly #faults: { readonly fault: FileFault; seen: number }[] = [];
  #operations = 0;
  #stopAfter = Infinity;

  constructor(clock: Clock, inner: FileSystem) {
    this.#inner = inner;
    this.#clock = clock;
  }

  /** Operations asked for so far. */
  get operationCount(): number {
    return this.#operations;
  }

  inject(fault: FileFault): void {
    this.#faults.push({ fault, seen: 0 });
  }

  /** Lets `count` more operations through; whatever comes then never takes effect nor answers. */
  stopAfter(count: number): void {
    this.#stopAfter = this.#operations + count;
  }

  get isStopped(): boolean {
    return this.#operations > this.#stopAfter;
  }

  stat(path: string): Promise<FileStat | null> {
    return this.#run('stat', path, () => this.#inner.stat(path));
  }

  list(path: string): Promise<readonly string[]> {
    return this.#run('list', path, () => this.#inner.list(path));
  }

  makeDirectory(path: string): Promise<void> {
    return this.#run('makeDirectory', path, () => this.#inner.makeDirectory(path));
  }

  readFile(path: string): Promise<Uint8Array> {
    return this.#run('readFile', path, () => this.#inner.readFile(path));
  }

  async openForRead(path: string): Promise<FileReader> {
    const reader = await this.#run('openForRead', path, () => this.#inner.openForRead(path));
    return {
      read: (offset, length) => this.#run('read', path, () => reader.read(offset, length)),
      sizeBytes: () => this.#run('sizeBytes', path, () => reader.sizeBytes()),
      close: () => this.#run('close', path, () => reader.close()),
    };
  }

  async create(path: string, options?: { readonly exclusive?: boolean }): Promise<FileWriter> {
    const writer = await this.#run('create', path, () => this.#inner.create(path, options));
    return {
      write: (bytes) => this.#run('write', path, () => writer.write(bytes)),
      sync: () => this.#run('sync', path, () => writer.sync()),
      close: () => this.#run('close', path, () => writer.close()),
    };
  }

  truncate(path: string, sizeBytes: number): Promise<void> {
    return this.#run('truncate', path, () => this.#inner.truncate(path, sizeBytes));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#run('rename', to, () => this.#inner.rename(from, to));
  }

  link(from: string, to: string): Promise<void> {
    return this.#run('link', to, () => this.#inner.link(from, to));
  }

  syncDirectory(path: string): Promise<void> {
    return this.#run('syncDirectory', path, () => this.#inner.syncDirectory(path));
  }

  remove(path: string): Promise<void> {
    return this.#run('remove', path, () => this.#inner.remove(path));
  }

  removeDirectory(path: string): Promise<void> {
    return this.#run('removeDirectory', path, () => this.#inner.removeDirectory(path));
  }

  async #run<T>(operation: FileOperation, path: string, run: () => Promise<T>): Promise<T> {
    this.#operations += 1;
    if (this.isStopped) return new Promise<never>(() => undefined);
    const fault = this.#nextFault(operation, path);
    if (fault?.delayMs !== undefined) await sleep(this.#clock, fault.delayMs, 'slow disk');
    if (fault?.errno === undefined) return run();
    if (fault.answerLost === true) await run();
    throw storageErrorFromErrno(`${operation} (injected fault)`, path, fault.errno);
  }

  #nextFault(operation: FileOperation, path: string): FileFault | null {
    for (const entry of this.#faults) {
      const { fault } = entry;
      if (fault.operation !== undefined && fault.operation !== operation) continue;
      if (fault.path !== undefined && !path.includes(fault.path)) continue;
      entry.seen += 1;
      const skip = fault.skip ?? 0;
      if (entry.seen > skip && entry.seen <= skip + (fault.times ?? 1)) return fault;
    }
    return null;
  }
}
