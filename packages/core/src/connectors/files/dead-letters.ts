/**
 * The malformed records of one split, written beside the data so that a replay doubles nothing.
 *
 * They form a sequence that depends on the input alone, cut into segments by a rule that depends on
 * the records alone; a segment is a file named by the position of its first record. So writing one
 * again (after a crash, by another subtask, from an older checkpoint) puts the same bytes under the
 * same name. A segment stays part of the split's checkpointed state until it is full and its file
 * durable, and the split is not finished before: nothing is lost either. Memory is bounded by two
 * segments and what one poll reads, since the reader pauses while `isFull`.
 */
import { createHash } from 'node:crypto';
import type { ConnectorEnvironment } from '../../api/source.ts';
import type { WeirError } from '../../base/errors.ts';
import { makeDirectoryDurably, writeFileDurably } from '../../storage/durable-file.ts';
import { baseName, joinPath } from '../../storage/paths.ts';
import { asSinkError } from '../file-errors.ts';
import type { DeadLetterSegment, FileSplit } from './file-split.ts';

const SEGMENT_RECORDS_MAX = 1000;
/** Characters; it bounds what a checkpoint carries for one split. */
const SEGMENT_LENGTH_MAX = 256 * 1024;
/** Of the input file's name within that of the dead-letter file; a name has 255 bytes at most. */
const NAME_LENGTH_MAX = 60;

interface Segment {
  readonly position: number;
  readonly lines: string[];
  length: number;
}

export class DeadLetters {
  readonly #environment: ConnectorEnvironment;
  readonly #folder: string;
  readonly #prefix: string;
  readonly #onWritten: () => void;
  /** Takes further records. */
  #open: Segment | null = null;
  /** Complete, oldest first, until durable. */
  readonly #full: Segment[] = [];
  #isFlushAsked = false;
  #isWriting = false;
  #writing: Promise<void> = Promise.resolve();
  #error: WeirError | null = null;

  /** `onWritten` is called when `isFull` or `isDone` may have changed, or an error waits. */
  constructor(
    environment: ConnectorEnvironment,
    folder: string,
    split: FileSplit,
    onWritten: () => void,
  ) {
    this.#environment = environment;
    this.#folder = folder;
    this.#prefix = namePrefix(split.path);
    this.#onWritten = onWritten;
    for (const { position, lines } of split.deadLetters)
      for (const line of lines) this.#append(position, line);
    this.#write();
  }

  /** Whether the reader must wait before it adds more. Throws what writing ran into. */
  get isFull(): boolean {
    if (this.#error !== null) throw this.#error;
    return this.#full.length > 1;
  }

  /** Whether everything is durable; only then may the split be called finished. */
  get isDone(): boolean {
    if (this.#error !== null) throw this.#error;
    return this.#open === null && this.#full.length === 0;
  }

  /** `line` is one JSON text about the record at `position`. */
  add(position: number, line: string): void {
    this.#append(position, line);
    this.#write();
  }

  /** Writes what there is of the open segment too, so that it can be read before it is full. */
  flush(): void {
    this.#isFlushAsked = this.#open !== null;
    this.#write();
  }

  /** The split has no more records. */
  finish(): void {
    if (this.#open !== null) this.#full.push(this.#open);
    this.#open = null;
    this.#write();
  }

  snapshot(): readonly DeadLetterSegment[] {
    const segments = this.#open === null ? this.#full : [...this.#full, this.#open];
    return segments.map(({ position, lines }) => ({ position, lines: [...lines] }));
  }

  async close(): Promise<void> {
    await this.#writing;
  }

  #append(position: number, line: string): void {
    this.#open ??= { position, lines: [], length: 0 };
    this.#open.lines.push(line);
    this.#open.length += line.length;
    const { lines, length } = this.#open;
    if (lines.length < SEGMENT_RECORDS_MAX && length < SEGMENT_LENGTH_MAX) return;
    this.#full.push(this.#open);
    this.#open = null;
  }

  #write(): void {
    if (this.#isWriting || (this.#full.length === 0 && !this.#isFlushAsked)) return;
    this.#isWriting = true;
    this.#writing = this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    try {
      for (;;) {
        const full = this.#full[0];
        const segment = full ?? (this.#isFlushAsked ? this.#open : null);
        this.#isFlushAsked = false;
        if (segment === null || segment === undefined) break;
        await this.#writeSegment(segment);
        // Not by a second look: an open segment may have become full while it was written.
        if (full !== undefined) this.#full.shift();
      }
    } catch (error) {
      this.#error = asSinkError(this.#folder, error);
    }
    this.#isWriting = false;
    this.#onWritten();
  }

  async #writeSegment(segment: Segment): Promise<void> {
    const { fileSystem, random } = this.#environment;
    const name = `${this.#prefix}-${segment.position}`;
    const unfinished = joinPath(this.#folder, `.${name}.${random.hex(8)}`);
    const bytes = Buffer.from(`${segment.lines.join('\n')}\n`);
    await makeDirectoryDurably(fileSystem, this.#folder);
    // Whoever was killed while writing this segment has left his attempt behind.
    for (const old of await fileSystem.list(this.#folder))
      if (old.startsWith(`.${name}.`)) await fileSystem.remove(joinPath(this.#folder, old));
    await writeFileDurably(fileSystem, unfinished, bytes);
    await fileSystem.rename(unfinished, joinPath(this.#folder, `${name}.ndjson`));
    await fileSystem.syncDirectory(this.#folder);
  }
}

function namePrefix(path: string): string {
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 12);
  return `malformed-${baseName(path).slice(0, NAME_LENGTH_MAX)}-${hash}`;
}
