/**
 * The bytes of a file in order from a position on, as they are or uncompressed, and reading them
 * ahead. Positions in a compressed file count uncompressed bytes: it is read from its beginning,
 * and what lies before the position is thrown away.
 */
import { Readable, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FileReader, FileSystem } from '../../base/file-system.ts';
import { messageOf } from '../../base/errors.ts';
import type { WeirError } from '../../base/errors.ts';
import { asSourceError, sourceUnavailable } from '../file-errors.ts';

export interface ByteStream {
  /** The next bytes, at least one; `null` at the end. Not to be called while one is under way. */
  next(): Promise<Buffer | null>;
  close(): Promise<void>;
}

export interface ByteStreamOptions {
  readonly gzip: boolean;
  readonly position: number;
  readonly chunkBytes: number;
}

export async function openByteStream(
  fileSystem: FileSystem,
  path: string,
  options: ByteStreamOptions,
): Promise<ByteStream> {
  const reader = await fileSystem.openForRead(path);
  return options.gzip ? gunzipStream(path, reader, options) : plainStream(path, reader, options);
}

function plainStream(path: string, reader: FileReader, options: ByteStreamOptions): ByteStream {
  const { chunkBytes } = options;
  let offset = options.position;
  let isAtEnd = false;
  return {
    next: async () => {
      if (isAtEnd) return null;
      const bytes = await reader.read(offset, chunkBytes).catch((error: unknown) => {
        throw asSourceError(path, error);
      });
      offset += bytes.byteLength;
      isAtEnd = bytes.byteLength < chunkBytes;
      return bytes.byteLength === 0 ? null : asBuffer(bytes);
    },
    close: () => reader.close(),
  };
}

function gunzipStream(path: string, reader: FileReader, options: ByteStreamOptions): ByteStream {
  const { position, chunkBytes } = options;
  const compressed = plainStream(path, reader, { ...options, position: 0 });
  const gunzip = createGunzip({ chunkSize: Math.max(64, chunkBytes) });
  // The iterator below reports errors; a stream must have a listener for them all the same.
  const source = Readable.from(chunksOf(compressed), { objectMode: false });
  pipeline(source, gunzip, () => undefined);
  const chunks = gunzip[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let toSkip = position;
  return {
    next: async () => {
      for (;;) {
        const { value, done } = await nextOf(path, chunks);
        if (done === true && toSkip > 0) throw isShorter(path, position, position - toSkip);
        if (done === true) return null;
        const skipped = Math.min(toSkip, value.byteLength);
        toSkip -= skipped;
        if (value.byteLength > skipped) return value.subarray(skipped);
      }
    },
    close: async () => {
      gunzip.destroy();
      await reader.close();
    },
  };
}

async function* chunksOf(stream: ByteStream): AsyncGenerator<Buffer> {
  for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) yield chunk;
}

async function nextOf(
  path: string,
  chunks: AsyncIterator<Buffer>,
): Promise<IteratorResult<Buffer, undefined>> {
  try {
    return await chunks.next();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!code.startsWith('Z_')) throw error;
    throw sourceUnavailable(
      path,
      `fileSource cannot uncompress ${path}: ${messageOf(error)} (${code}); the file is damaged, ` +
        'incomplete or not gzip: replace it, or set `compression`',
      { reason: code },
    );
  }
}

function isShorter(path: string, position: number, length: number): Error {
  return sourceUnavailable(
    path,
    `fileSource cannot go on in ${path} at byte ${position} of its uncompressed text: it now has ` +
      `only ${length} bytes, so it is another file than before; restore it, or start with --fresh`,
    { position, length },
  );
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Keeps up to two chunks ready, read beside the task. `onReady` is called when `take` has news. */
export class ReadAhead {
  readonly #path: string;
  readonly #stream: ByteStream;
  readonly #onReady: () => void;
  readonly #chunks: Buffer[] = [];
  #reading: Promise<void> = Promise.resolve();
  #isReading = false;
  #isAtEnd = false;
  #isClosed = false;
  #error: WeirError | null = null;

  constructor(path: string, stream: ByteStream, onReady: () => void) {
    this.#path = path;
    this.#stream = stream;
    this.#onReady = onReady;
    this.#fill();
  }

  /** The next chunk; `null` at the end of the file; `pending` while it is being read. */
  take(): Buffer | null | 'pending' {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      this.#fill();
      return chunk;
    }
    if (this.#error !== null) throw this.#error;
    return this.#isAtEnd ? null : 'pending';
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reading;
    await this.#stream.close();
  }

  #fill(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#reading = this.#read();
  }

  async #read(): Promise<void> {
    try {
      while (!this.#isClosed && !this.#isAtEnd && this.#chunks.length < 2) {
        const chunk = await this.#stream.next();
        if (chunk === null) this.#isAtEnd = true;
        else this.#chunks.push(chunk);
        this.#onReady();
      }
    } catch (error) {
      this.#error = asSourceError(this.#path, error);
      this.#onReady();
    }
    this.#isReading = false;
  }
}
