/**
 * Reads one split: opens it and reads ahead beside the task, and feeds the lines to the output when
 * asked. It ends only when its dead letters are durable, so whatever a checkpoint no longer holds
 * needs no replay.
 */
import type { ReaderOutput, SourceReaderContext } from '../../api/source.ts';
import type { WeirError } from '../../base/errors.ts';
import { LineReader } from '../line-reader.ts';
import { failOnMalformed, passOverMalformed } from '../malformed-lines.ts';
import type { MalformedHandler } from '../malformed-lines.ts';
import { ReadAhead } from './byte-stream.ts';
import { DeadLetters } from './dead-letters.ts';
import { asSourceError } from '../file-errors.ts';
import type { FileSplit } from './file-split.ts';
import { openSplit, shrunk } from './open-split.ts';
import type { OpenSplit, OpenSplitOptions } from './open-split.ts';

export interface SplitReaderOptions<T> extends OpenSplitOptions<T> {
  readonly encoding: 'utf-8' | 'latin1';
  readonly onMalformed: 'fail' | 'skip' | { readonly deadLetter: string };
}

/** A call must end within about a millisecond, also when records are large. */
const BYTES_PER_CALL_MAX = 128 * 1024;

/** What is there once the file is open. */
interface Input<T> {
  readonly split: OpenSplit<T>;
  readonly ahead: ReadAhead;
  readonly lines: LineReader<T>;
  /** Number of the next byte to come from the file. */
  readPosition: number;
}

export class SplitReader<T> {
  readonly #context: SourceReaderContext;
  readonly #split: FileSplit;
  readonly #options: SplitReaderOptions<T>;
  readonly #deadLetters: DeadLetters | null;
  readonly #malformed: MalformedHandler;
  readonly #opening: Promise<void>;
  #input: Input<T> | null = null;
  #error: WeirError | null = null;
  #isEndReached: boolean;
  /** Where the next line starts; `null` before the first was read. */
  #linePosition: number | null = null;
  /** Lines read by the last call of `read`. */
  #lineCount = 0;

  /** Begins to open the file. The context's `wakeUp` is called when `read` has something to do. */
  constructor(context: SourceReaderContext, split: FileSplit, options: SplitReaderOptions<T>) {
    this.#context = context;
    this.#split = split;
    this.#options = options;
    const { onMalformed, format } = options;
    const wakeUp = (): void => context.wakeUp();
    this.#deadLetters =
      typeof onMalformed === 'object'
        ? new DeadLetters(context, onMalformed.deadLetter, split, wakeUp)
        : null;
    this.#malformed =
      onMalformed === 'fail'
        ? failOnMalformed(format.name)
        : passOverMalformed(context.metrics, (position, entry) =>
            this.#deadLetters?.add(position, entry),
          );
    this.#isEndReached = split.position !== null && split.position >= (split.end ?? Infinity);
    this.#opening = this.#isEndReached ? Promise.resolve() : this.#open();
  }

  get splitId(): string {
    return this.#split.id;
  }

  get lineCount(): number {
    return this.#lineCount;
  }

  /** `nothing`: the next data is being read, or a dead letter is being written. */
  read(output: ReaderOutput<T>, linesMax: number): 'more' | 'nothing' | 'end' {
    this.#lineCount = 0;
    if (this.#error !== null) throw this.#error;
    if (!this.#isEndReached) {
      const result = this.#readLines(output, linesMax);
      if (result !== 'end') return result;
      this.#isEndReached = true;
    }
    this.#deadLetters?.finish();
    return this.#deadLetters?.isDone === false ? 'nothing' : 'end';
  }

  snapshot(): FileSplit {
    const position = this.#linePosition ?? this.#split.position;
    const deadLetters = this.#deadLetters?.snapshot() ?? this.#split.deadLetters;
    return { ...this.#split, position, deadLetters };
  }

  /** Lets dead letters be seen that are part of a completed checkpoint. */
  flushDeadLetters(): void {
    this.#deadLetters?.flush();
  }

  async close(): Promise<void> {
    await this.#opening;
    await this.#input?.ahead.close();
    await this.#deadLetters?.close();
  }

  #readLines(output: ReaderOutput<T>, linesMax: number): 'more' | 'nothing' | 'end' {
    const input = this.#input;
    if (input === null) return 'nothing';
    const { lines } = input;
    let bytesLeft = BYTES_PER_CALL_MAX;
    while (bytesLeft > 0 && this.#lineCount < linesMax && output.remaining > 0) {
      if (this.#deadLetters?.isFull === true) return 'nothing';
      if (!lines.hasBlock) {
        const state = this.#nextBlock(input);
        if (state !== 'more') return state;
      }
      const from = lines.position;
      this.#lineCount += lines.read(output, linesMax - this.#lineCount);
      bytesLeft -= lines.position - from;
      this.#linePosition = lines.position;
      if (lines.isAtEnd) return 'end';
    }
    return 'more';
  }

  #nextBlock(input: Input<T>): 'more' | 'nothing' | 'end' {
    const { blocks } = input.split;
    for (;;) {
      const block = blocks.next();
      if (block !== null) {
        input.lines.setBlock(block);
        return input.lines.isAtEnd ? 'end' : 'more';
      }
      const chunk = input.ahead.take();
      if (chunk === 'pending') return 'nothing';
      if (chunk === null) {
        if (!blocks.isEnded) blocks.end();
        else return this.#endOfFile(input);
      } else {
        input.readPosition += chunk.length;
        blocks.push(chunk);
      }
    }
  }

  /** Positions of a compressed file cannot be compared to its size. */
  #endOfFile(input: Input<T>): 'end' {
    const { gzip, sizeBytes } = this.#split;
    if (!gzip && input.readPosition < sizeBytes) throw shrunk(this.#split, input.readPosition);
    return 'end';
  }

  async #open(): Promise<void> {
    try {
      const split = await openSplit(this.#context.fileSystem, this.#split, this.#options);
      const { format, encoding, maxLineBytes } = this.#options;
      const { path, id, end } = this.#split;
      this.#input = {
        split,
        ahead: new ReadAhead(path, split.stream, () => this.#context.wakeUp()),
        lines: new LineReader(split.streamPosition, {
          origin: path,
          splitId: id,
          decode: split.decode,
          skipsBlankLines: format.skipsBlankLines,
          encoding,
          maxLineBytes,
          malformed: this.#malformed,
          end: end ?? Infinity,
        }),
        readPosition: split.streamPosition,
      };
    } catch (error) {
      this.#error = asSourceError(this.#split.path, error);
    }
    this.#context.wakeUp();
  }
}
