/**
 * One part file being written. `append` only fills a buffer; full buffers are written one after the
 * other beside the task. `sizeBytes` counts what was appended, so it is exact at once, and
 * `durable` resolves when all of that is on disk under its unfinished name. Nothing here is ever
 * renamed: that is the committer's.
 */
import type { WeirError } from '../../base/errors.ts';
import type { FileSystem, FileWriter } from '../../base/file-system.ts';
import { closeQuietly, makeDirectoryDurably } from '../../storage/durable-file.ts';
import { parentPath } from '../../storage/paths.ts';
import { asSinkError } from '../file-errors.ts';
import type { PartFileRef } from './part-names.ts';

export interface PartFileOptions {
  readonly inProgressPath: string;
  readonly finalPath: string;
  /** Monotonic milliseconds. */
  readonly createdAt: number;
  /** Called with the bytes that left memory. */
  readonly onWritten: (bytes: number) => void;
  /** Called with what writing ran into, once. */
  readonly onError: (error: WeirError) => void;
}

/** A first buffer is small: there may be thousands of buckets with a record each. */
const FIRST_BUFFER_BYTES = 4 * 1024;
const BUFFER_BYTES = 64 * 1024;
/** Of UTF-8, per UTF-16 unit of a string. */
const BYTES_PER_UNIT_MAX = 3;

export class PartFile {
  readonly #fileSystem: FileSystem;
  readonly #options: PartFileOptions;
  readonly createdAt: number;
  /** Nothing was appended since this time, as far as the last look tells. */
  idleSince: number;
  /** Nothing was appended since the last look: a clock is not read for each record. */
  isIdle = true;
  #sizeBytes = 0;
  #buffer: Buffer = Buffer.allocUnsafe(FIRST_BUFFER_BYTES);
  #used = 0;
  #writer: FileWriter | null = null;
  /** Operations on the file in order; never rejects. */
  #tail: Promise<void> = Promise.resolve();
  #error: WeirError | null = null;
  #isAbandoned = false;

  constructor(fileSystem: FileSystem, options: PartFileOptions) {
    this.#fileSystem = fileSystem;
    this.#options = options;
    this.createdAt = options.createdAt;
    this.idleSince = options.createdAt;
  }

  /** Bytes appended so far. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get ref(): PartFileRef {
    const { inProgressPath, finalPath } = this.#options;
    return { inProgressPath, finalPath, sizeBytes: this.#sizeBytes };
  }

  /** Returns the number of bytes that the text and its line end take. */
  appendLine(text: string): number {
    const bytesMax = text.length * BYTES_PER_UNIT_MAX + 1;
    if (bytesMax > this.#buffer.length - this.#used) this.#makeRoom(bytesMax);
    const from = this.#used;
    this.#used += this.#buffer.write(text, from, 'utf8');
    this.#buffer[this.#used++] = 10;
    const bytes = this.#used - from;
    this.#sizeBytes += bytes;
    return bytes;
  }

  /** Resolves when everything appended before the call is durable, the file's name included. */
  durable(): Promise<void> {
    this.flush();
    return this.#enqueue(async () => {
      await this.#writer?.sync();
    });
  }

  /** Resolves when everything is durable and the file is closed. */
  async finish(): Promise<void> {
    const durable = this.durable();
    const closed = this.#enqueue(() => this.#closeWriter());
    await Promise.all([durable, closed]);
  }

  /** Gives the file up as it is: what a checkpoint needs of it is durable already. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    await this.#tail;
    if (this.#writer !== null) await closeQuietly(this.#writer);
  }

  /** Begins to write what is still in the buffer. */
  flush(): void {
    if (this.#used === 0) return;
    const bytes = this.#buffer.subarray(0, this.#used);
    this.#buffer = this.#buffer.subarray(this.#used);
    this.#used = 0;
    void this.#enqueue(async () => {
      this.#writer ??= await this.#create();
      await this.#writer.write(bytes);
      this.#options.onWritten(bytes.length);
    });
  }

  #makeRoom(bytes: number): void {
    this.flush();
    if (this.#buffer.length < bytes || this.#buffer.length < BUFFER_BYTES)
      this.#buffer = Buffer.allocUnsafe(Math.max(BUFFER_BYTES, bytes));
  }

  async #create(): Promise<FileWriter> {
    const folder = parentPath(this.#options.inProgressPath);
    await makeDirectoryDurably(this.#fileSystem, folder);
    const writer = await this.#fileSystem.create(this.#options.inProgressPath, { exclusive: true });
    await this.#fileSystem.syncDirectory(folder);
    return writer;
  }

  async #closeWriter(): Promise<void> {
    const writer = this.#writer;
    this.#writer = null;
    await writer?.close();
  }

  /** Runs after all before it. The first failure is reported, and fails all that follow. */
  #enqueue(operation: () => Promise<void>): Promise<void> {
    const run = this.#tail.then(async () => {
      if (this.#error !== null) throw this.#error;
      if (this.#isAbandoned) return;
      try {
        await operation();
      } catch (error) {
        this.#error = asSinkError(this.#options.inProgressPath, error);
        this.#options.onError(this.#error);
        throw this.#error;
      }
    });
    this.#tail = run.catch(() => undefined);
    return run;
  }
}
