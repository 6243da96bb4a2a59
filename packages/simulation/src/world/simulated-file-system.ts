/**
 * The disk as one life sees it: each operation takes time, takes effect when it is asked for or
 * when it answers (by chance, so that a crash falls before and after), and may fail. What is on the
 * disk outlives the life.
 */
import type {
  FileReader,
  FileStat,
  FileSystem,
  FileWriter,
} from '@weir/core/internal/base/file-system';
import type { Random } from '@weir/core/internal/base/random';
import type { MemoryDisk } from '@weir/core/internal/storage/memory-disk';
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import { storageErrorFromErrno } from '@weir/core/internal/storage/storage-error';
import type { Life } from './life.ts';
import type { World } from './world.ts';

/** How the disk behaves at the moment; the faults change it. */
export interface DiskMood {
  /** Mean time of an operation. */
  latencyMs: number;
  /** Factor on the time of one operation in twenty. */
  slowness: number;
  /** Chance that an operation fails with EIO and has no effect. */
  failure: number;
  /** Chance that an operation has its effect, and answers EIO all the same. */
  lostAnswer: number;
  /** Chance that what is read of a checkpoint has a bit turned around. */
  bitFlip: number;
  /** Writing fails with ENOSPC. */
  isFull: boolean;
}

/** Of one operation, however slow the disk is made; a job may be still for longer. */
const OPERATION_MS_MAX = 3000;
type Outcome<T> = { readonly value: T } | { readonly error: Error };

const WRITING: ReadonlySet<string> = new Set(['write', 'create', 'makeDirectory', 'link']);

export class SimulatedFileSystem implements FileSystem {
  readonly #world: World;
  readonly #life: Life;
  readonly #disk: MemoryDisk;
  readonly #mood: DiskMood;
  readonly #slowness: () => number;
  readonly #random: Random;

  constructor(
    world: World,
    life: Life,
    options: {
      readonly disk: MemoryFileSystem;
      readonly mood: DiskMood;
      /** Factor on the time of every operation of this life. */
      readonly slowness?: () => number;
    },
  ) {
    this.#world = world;
    this.#life = life;
    this.#disk = options.disk.disk;
    this.#mood = options.mood;
    this.#slowness = options.slowness ?? ((): number => 1);
    this.#random = world.random(`disk ${life.name}`);
  }

  stat(path: string): Promise<FileStat | null> {
    return this.#run('stat', path, () => this.#disk.stat(path));
  }

  list(path: string): Promise<readonly string[]> {
    return this.#run('list', path, () => this.#disk.list(path));
  }

  makeDirectory(path: string): Promise<void> {
    return this.#run('makeDirectory', path, () => this.#disk.makeDirectory(path));
  }

  async readFile(path: string): Promise<Uint8Array> {
    const bytes = await this.#run('readFile', path, () => this.#disk.readFile(path));
    return this.#damaged(path, bytes);
  }

  async openForRead(path: string): Promise<FileReader> {
    const reader = await this.#run('openForRead', path, () => this.#disk.openForRead(path));
    return {
      read: async (offset, length) => {
        const bytes = await this.#run('read', path, () => reader.read(offset, length));
        return this.#damaged(path, bytes);
      },
      sizeBytes: () => this.#run('sizeBytes', path, () => reader.sizeBytes()),
      close: () => this.#run('close', path, () => undefined),
    };
  }

  async create(path: string, options?: { readonly exclusive?: boolean }): Promise<FileWriter> {
    const writer = await this.#run('create', path, () => this.#disk.create(path, options));
    return {
      write: (bytes) => {
        const copy = bytes.slice();
        return this.#run('write', path, () => writer.write(copy));
      },
      sync: () => this.#run('sync', path, () => writer.sync()),
      close: () => this.#run('close', path, () => writer.close()),
    };
  }

  truncate(path: string, sizeBytes: number): Promise<void> {
    return this.#run('truncate', path, () => this.#disk.truncate(path, sizeBytes));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#run('rename', to, () => this.#disk.rename(from, to));
  }

  link(from: string, to: string): Promise<void> {
    return this.#run('link', to, () => this.#disk.link(from, to));
  }

  syncDirectory(path: string): Promise<void> {
    return this.#run('syncDirectory', path, () => this.#disk.syncDirectory(path));
  }

  remove(path: string): Promise<void> {
    return this.#run('remove', path, () => this.#disk.remove(path));
  }

  removeDirectory(path: string): Promise<void> {
    return this.#run('removeDirectory', path, () => this.#disk.removeDirectory(path));
  }

  #run<T>(operation: string, path: string, effect: () => T): Promise<T> {
    const random = this.#random;
    const mood = this.#mood;
    let delayMs = random.next() * 2 * mood.latencyMs * this.#slowness();
    if (mood.slowness > 1 && random.int(20) === 0) delayMs *= mood.slowness;
    delayMs = Math.min(delayMs, OPERATION_MS_MAX);
    const fails = mood.failure > 0 && random.next() < mood.failure;
    const losesAnswer = mood.lostAnswer > 0 && random.next() < mood.lostAnswer;
    const isFull = mood.isFull && WRITING.has(operation);
    const act = (): T => {
      if (isFull) throw storageErrorFromErrno(operation, path, 'ENOSPC');
      if (fails) throw storageErrorFromErrno(operation, path, 'EIO');
      const value = effect();
      if (losesAnswer) throw storageErrorFromErrno(operation, path, 'EIO');
      return value;
    };
    return new Promise((resolve, reject) => {
      const early = random.int(2) === 0 ? outcomeOf(act) : null;
      this.#world.schedule(this.#life, delayMs, `${operation} ${path}`, () => {
        const outcome = early ?? outcomeOf(act);
        if ('error' in outcome) reject(outcome.error);
        else resolve(outcome.value);
      });
    });
  }

  #damaged(path: string, bytes: Uint8Array): Uint8Array {
    if (this.#mood.bitFlip === 0 || bytes.byteLength === 0) return bytes;
    if (!path.includes('/checkpoints/') || this.#random.next() >= this.#mood.bitFlip) return bytes;
    const place = this.#random.int(bytes.byteLength);
    bytes[place] = (bytes[place] ?? 0) ^ (1 << this.#random.int(8));
    this.#world.note(this.#life.name, `bit turned around in ${path}`);
    return bytes;
  }
}

function outcomeOf<T>(act: () => T): Outcome<T> {
  try {
    return { value: act() };
  } catch (error) {
    return { error: error as Error };
  }
}
