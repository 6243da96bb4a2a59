/**
 * A compare-and-append log in a directory, one file a record. An append writes and syncs a file
 * under a temporary name, then gives it the sequence's name by `link`, which fails if the name is
 * there; so a record appears whole, once, and to one writer.
 *
 * Compaction makes names free again, and a process that was asleep since could take one of them.
 * Two things stop it. Claims are permanent: the number a stale leader tries next is the one that
 * the next leader's claim took. And after each link the names are listed: a higher number shows
 * that the append came too late, since the newest record is never removed.
 */
import { checksumText, crc32 } from '../base/codec/crc32.ts';
import type { Timer } from '../base/clock.ts';
import { messageOf, StateCorruptionError, StorageUnavailableError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { CompareAndAppendLog, LogEntry } from './compare-and-append-log.ts';
import { makeDirectoryDurably, writeFileDurably } from './durable-file.ts';
import { joinPath } from './paths.ts';
import { retryTransient } from './retry.ts';
import { storageErrno } from './storage-error.ts';
import type { StorageIo } from './storage-io.ts';

/**
 * What a log needs beside a disk: unique names, and somewhere to say that it waits for the disk.
 */
export interface LogIo extends StorageIo {
  readonly random: Random;
  readonly logger: Logger;
}

/** The content of a file: one line, the checksum before the JSON of this. */
interface StoredEntry extends LogEntry {
  /** Tells the record of this writer from one that another put under the same number. */
  readonly nonce: string;
  readonly permanent: boolean;
}

const RECORD_FILE = /^(\d{12})\.record$/;
const TEMPORARY = '.append-';
const CHECKSUM_DIGITS = 8;
const FIRST_PAUSE_MS = 100;
const PAUSE_MS_MAX = 5_000;

export class DirectoryLog implements CompareAndAppendLog {
  readonly #io: LogIo;
  readonly #directory: string;
  /** Whether records are permanent: of those that were written or read here, and not removed. */
  readonly #known = new Map<number, boolean>();
  #isPrepared = false;
  #isClosed = false;
  #wake: () => void = () => undefined;

  constructor(io: LogIo, directory: string) {
    this.#io = io;
    this.#directory = directory;
  }

  async append(
    sequence: number,
    record: unknown,
    options?: { readonly permanent?: boolean },
  ): Promise<'appended' | 'taken'> {
    const { fileSystem, clock, random } = this.#io;
    const permanent = options?.permanent ?? false;
    const nonce = random.hex(32);
    const bytes = encodeEntry({ sequence, nonce, permanent, record });
    const temporary = joinPath(this.#directory, `${TEMPORARY}${nonce}`);
    try {
      await retryTransient(clock, async () => {
        await this.#prepare();
        await writeFileDurably(fileSystem, temporary, bytes);
      });
      const outcome = await retryTransient(clock, () => this.#take(temporary, sequence, nonce));
      if (outcome === 'appended') this.#known.set(sequence, permanent);
      // Whoever else is about to append comes too late, so his file may go with the dead ones'.
      if (outcome === 'appended' && permanent) await this.#removeTemporary();
      return outcome;
    } finally {
      await this.#removeQuietly(temporary);
    }
  }

  async readNewest(): Promise<LogEntry | null> {
    return retryTransient(this.#io.clock, async () => {
      for (;;) {
        const newest = (await this.#sequences()).at(-1);
        if (newest === undefined) return null;
        const entry = await this.#read(newest);
        // It may be compacted between the two steps; then there is a newer one.
        if (entry !== null) return { sequence: newest, record: entry.record };
      }
    });
  }

  async compact(): Promise<void> {
    for (const sequence of (await this.#sequences()).slice(0, -1).reverse()) {
      // Whoever wrote a claim compacted what was below it.
      if (await this.#isPermanent(sequence)) break;
      await this.#io.fileSystem.remove(this.#path(sequence));
      this.#known.delete(sequence);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  async #take(temporary: string, sequence: number, nonce: string): Promise<'appended' | 'taken'> {
    const { fileSystem } = this.#io;
    try {
      await fileSystem.link(temporary, this.#path(sequence));
    } catch (error) {
      // The link may have happened although the answer is an error, so the log itself is asked.
      const holder = await this.#untilKnown(sequence, () => this.#holder(sequence));
      if (holder === null) throw error;
      if (holder !== nonce) return 'taken';
    }
    // The record is there for everybody to see: from here on it must not be called a failure.
    await this.#untilKnown(sequence, () => this.#syncDirectory());
    const sequences = await this.#untilKnown(sequence, () => this.#sequences());
    const newest = sequences.at(-1) ?? 0;
    if (newest < sequence) throw vanished(this.#path(sequence), this.#directory);
    return newest === sequence ? 'appended' : 'taken';
  }

  /** A directory that is gone has nothing to sync: the list that follows shows it. */
  async #syncDirectory(): Promise<void> {
    try {
      await this.#io.fileSystem.syncDirectory(this.#directory);
    } catch (error) {
      if (storageErrno(error) !== 'ENOENT') throw error;
    }
  }

  /** Whose record has this number; of a damaged one we only know that it is not ours. */
  async #holder(sequence: number): Promise<string | null> {
    try {
      return (await this.#read(sequence))?.nonce ?? null;
    } catch (error) {
      if (error instanceof StateCorruptionError) return 'damaged';
      throw error;
    }
  }

  async #isPermanent(sequence: number): Promise<boolean> {
    const known = this.#known.get(sequence);
    if (known !== undefined) return known;
    try {
      const isPermanent = (await this.#read(sequence))?.permanent ?? false;
      this.#known.set(sequence, isPermanent);
      return isPermanent;
    } catch (error) {
      if (error instanceof StateCorruptionError) return true;
      throw error;
    }
  }

  /** Repeats `look` until it answers: acting on a guess could lose what a sink has committed. */
  async #untilKnown<T>(sequence: number, look: () => Promise<T>): Promise<T> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2)) {
      try {
        return await look();
      } catch (error) {
        if (this.#isClosed) throw unknownOutcome(this.#path(sequence), error);
        this.#io.logger.log(
          'warn',
          `cannot find out whether ${this.#path(sequence)} was written; waiting for the disk, ` +
            `trying again in ${pauseMs} ms: ${messageOf(error)}`,
        );
      }
      await this.#pause(pauseMs);
    }
  }

  #pause(pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer: Timer = this.#io.clock.schedule(pauseMs, 'log outcome', resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  async #prepare(): Promise<void> {
    if (this.#isPrepared) return;
    await makeDirectoryDurably(this.#io.fileSystem, this.#directory);
    this.#isPrepared = true;
  }

  async #sequences(): Promise<readonly number[]> {
    const names = await this.#io.fileSystem.list(this.#directory);
    return names.flatMap((name) => RECORD_FILE.exec(name)?.[1] ?? []).map(Number);
  }

  async #read(sequence: number): Promise<StoredEntry | null> {
    const path = this.#path(sequence);
    try {
      return decodeEntry(await this.#io.fileSystem.readFile(path), path);
    } catch (error) {
      if (storageErrno(error) === 'ENOENT') return null;
      throw error;
    }
  }

  /** What killed writers left. */
  async #removeTemporary(): Promise<void> {
    const names = await this.#io.fileSystem.list(this.#directory).catch(() => []);
    for (const name of names)
      if (name.startsWith(TEMPORARY)) await this.#removeQuietly(joinPath(this.#directory, name));
  }

  async #removeQuietly(path: string): Promise<void> {
    try {
      await this.#io.fileSystem.remove(path);
    } catch {
      // A few bytes under a name that nobody reads.
    }
  }

  #path(sequence: number): string {
    return joinPath(this.#directory, `${String(sequence).padStart(12, '0')}.record`);
  }
}

function encodeEntry(entry: StoredEntry): Uint8Array {
  const bytes = Buffer.from(`${' '.repeat(CHECKSUM_DIGITS + 1)}${JSON.stringify(entry)}\n`);
  bytes.write(checksumText(crc32(bytes.subarray(CHECKSUM_DIGITS + 1, -1))), 'latin1');
  return bytes;
}

function decodeEntry(bytes: Uint8Array, path: string): StoredEntry {
  const text = Buffer.from(bytes).toString();
  const expectedChecksum = text.slice(0, CHECKSUM_DIGITS);
  const json = text.slice(CHECKSUM_DIGITS + 1, -1);
  const foundChecksum = checksumText(crc32(Buffer.from(json)));
  if (expectedChecksum !== foundChecksum || !text.endsWith('\n')) {
    throw new StateCorruptionError(
      `the job record ${path} is damaged: expected checksum ${expectedChecksum}, found ` +
        `${foundChecksum}; restore the file from a copy, or name the snapshot to start from`,
      { details: { path, expectedChecksum, foundChecksum } },
    );
  }
  // The checksum matched, so this is what `encodeEntry` wrote.
  return JSON.parse(json) as StoredEntry;
}

/** No writer removes the newest record: somebody has emptied the directory. */
function vanished(path: string, directory: string): StorageUnavailableError {
  return new StorageUnavailableError(
    `nothing at ${path} right after it was written: ${directory} was removed or emptied while ` +
      'the job runs; keep the data folder until the job has ended',
    { details: { path } },
  );
}

function unknownOutcome(path: string, cause: unknown): StorageUnavailableError {
  return new StorageUnavailableError(
    `stopped without knowing whether ${path} was written: ${messageOf(cause)}; the next start ` +
      'reads it from the disk',
    { details: { path, outcome: 'unknown' }, cause },
  );
}
