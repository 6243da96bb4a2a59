/**
 * From blocks of lines to records: the hot path of every source that reads text. It runs over a
 * block in one loop, without a promise or a copy but that of the text itself. After every call
 * `position` is exact: what stands before it was collected or handled as malformed, nothing after.
 */
import { isUtf8 } from 'node:buffer';
import type { ReaderOutput } from '../api/source.ts';
import { SerializationError } from '../base/errors.ts';
import type { LineDecoder } from './formats/format.ts';
import { LINE_FEED } from './line-blocks.ts';
import type { LineBlock } from './line-blocks.ts';
import type { MalformedHandler } from './malformed-lines.ts';

export interface LineReaderOptions<T> {
  /** Where the lines come from, for messages. */
  readonly origin: string;
  readonly splitId: string;
  readonly decode: LineDecoder<T>;
  readonly skipsBlankLines: boolean;
  readonly encoding: 'utf-8' | 'latin1';
  readonly maxLineBytes: number;
  readonly malformed: MalformedHandler;
  /** Lines that start here or later are not read. */
  readonly end: number;
}

const CARRIAGE_RETURN = 13;
/** A call must end within about a millisecond, also when records are large. */
const BYTES_PER_CALL_MAX = 128 * 1024;

export class LineReader<T> {
  readonly #options: LineReaderOptions<T>;
  readonly #textEncoding: 'utf8' | 'latin1';
  #block: LineBlock | null = null;
  /** Whether every line of the block is text for certain. */
  #isText = true;
  /** Index in the block of the next line. */
  #at = 0;
  #position: number;

  constructor(position: number, options: LineReaderOptions<T>) {
    this.#position = position;
    this.#options = options;
    this.#textEncoding = options.encoding === 'latin1' ? 'latin1' : 'utf8';
  }

  /** Of the next line to read. */
  get position(): number {
    const block = this.#block;
    return block === null ? this.#position : block.position + this.#at;
  }

  get hasBlock(): boolean {
    return this.#block !== null;
  }

  get isAtEnd(): boolean {
    return this.position >= this.#options.end;
  }

  setBlock(block: LineBlock): void {
    this.#block = block;
    this.#at = 0;
    this.#isText = this.#textEncoding === 'latin1' || isUtf8(block.bytes);
  }

  /**
   * Reads lines until the output is full, `linesMax` were read, enough was done for one call, or
   * the block is used up. Returns the number of lines.
   */
  read(output: ReaderOutput<T>, linesMax: number): number {
    const block = this.#block;
    if (block === null) return 0;
    if (block.isOverlong) return this.#readOverlong(block);
    const { splitId, decode, skipsBlankLines, maxLineBytes } = this.#options;
    const { bytes } = block;
    const startsBefore = Math.min(bytes.length, this.#options.end - block.position);
    const stopAt = Math.min(startsBefore, this.#at + BYTES_PER_CALL_MAX);
    let count = 0;
    while (this.#at < stopAt && count < linesMax && output.remaining > 0) {
      const from = this.#at;
      let lineEnd = from;
      while (lineEnd < bytes.length && bytes[lineEnd] !== LINE_FEED) lineEnd++;
      this.#at = Math.min(lineEnd + 1, bytes.length);
      if (lineEnd > from && bytes[lineEnd - 1] === CARRIAGE_RETURN) lineEnd--;
      if (lineEnd === from && skipsBlankLines) continue;
      count++;
      if (lineEnd - from > maxLineBytes || !this.#isText) {
        if (this.#refuse(block.position + from, bytes.subarray(from, lineEnd))) continue;
      }
      const text = bytes.toString(this.#textEncoding, from, lineEnd);
      let value: T;
      try {
        value = decode(text);
      } catch (reason) {
        this.#handle(block.position + from, bytes.subarray(from, lineEnd), text, reason);
        continue;
      }
      output.collect(value, Number.NaN, splitId);
    }
    if (this.#at >= bytes.length) this.#leave(block);
    return count;
  }

  /** Handles a line that is too long or no text; false when it is neither. */
  #refuse(position: number, bytes: Buffer): boolean {
    const isText = this.#isText || isUtf8(bytes);
    if (isText && bytes.length <= this.#options.maxLineBytes) return false;
    const reason = isText ? this.#tooLong() : new SerializationError('the bytes are not UTF-8');
    this.#handle(position, bytes, isText ? bytes.toString(this.#textEncoding) : null, reason);
    return true;
  }

  #readOverlong(block: LineBlock): number {
    const text = block.bytes.toString(this.#textEncoding);
    this.#leave(block);
    this.#handle(block.position, block.bytes, text, this.#tooLong());
    return 1;
  }

  #tooLong(): Error {
    const { maxLineBytes } = this.#options;
    return new SerializationError(
      `the line has more than ${maxLineBytes} bytes (its end may be cut off here; maxLineBytes ` +
        'sets the limit)',
    );
  }

  #handle(position: number, bytes: Buffer, text: string | null, reason: unknown): void {
    const { origin, malformed } = this.#options;
    malformed.handle({ origin, position, bytes, text, reason });
  }

  #leave(block: LineBlock): void {
    this.#position = block.nextPosition;
    this.#block = null;
  }
}
