/**
 * A file system in memory that knows what a real one would forget: a `MemoryDisk` behind promises.
 * Simulation and tests run on it; each operation takes effect at the moment of the call.
 */
import type { FileReader, FileStat, FileSystem, FileWriter } from '../base/file-system.ts';
import type { Random } from '../base/random.ts';
import { MemoryDisk } from './memory-disk.ts';

export class MemoryFileSystem implements FileSystem {
  /** For whoever looks at it from outside, or has a time of its own for each operation. */
  readonly disk: MemoryDisk;

  constructor(wallTime: () => number = () => 0) {
    this.disk = new MemoryDisk(wallTime);
  }

  /** See `MemoryDisk`. */
  crash(random?: Random): void {
    this.disk.crash(random);
  }

  /** See `MemoryDisk`. */
  flipBit(path: string, offset: number): void {
    this.disk.flipBit(path, offset);
  }

  /** See `MemoryDisk`. */
  survives(path: string): Uint8Array | null {
    return this.disk.survives(path);
  }

  async stat(path: string): Promise<FileStat | null> {
    return this.disk.stat(path);
  }

  async list(path: string): Promise<readonly string[]> {
    return this.disk.list(path);
  }

  async makeDirectory(path: string): Promise<void> {
    this.disk.makeDirectory(path);
  }

  async readFile(path: string): Promise<Uint8Array> {
    return this.disk.readFile(path);
  }

  async openForRead(path: string): Promise<FileReader> {
    const reader = this.disk.openForRead(path);
    return {
      read: async (offset, length) => reader.read(offset, length),
      sizeBytes: async () => reader.sizeBytes(),
      close: async () => undefined,
    };
  }

  async create(path: string, options?: { readonly exclusive?: boolean }): Promise<FileWriter> {
    const writer = this.disk.create(path, options);
    return {
      write: async (bytes) => writer.write(bytes),
      sync: async () => writer.sync(),
      close: async () => writer.close(),
    };
  }

  async truncate(path: string, sizeBytes: number): Promise<void> {
    this.disk.truncate(path, sizeBytes);
  }

  async rename(from: string, to: string): Promise<void> {
    this.disk.rename(from, to);
  }

  async link(from: string, to: string): Promise<void> {
    this.disk.link(from, to);
  }

  async syncDirectory(path: string): Promise<void> {
    this.disk.syncDirectory(path);
  }

  async remove(path: string): Promise<void> {
    this.disk.remove(path);
  }

  async removeDirectory(path: string): Promise<void> {
    this.disk.removeDirectory(path);
  }
}
