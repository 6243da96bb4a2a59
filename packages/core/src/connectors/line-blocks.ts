/**
 * Cuts a stream of bytes into blocks of whole lines, so that whoever reads them never meets half a
 * line or half a character. A chunk's lines are one block without a copy; only the line that
 * crosses chunks is put together. Memory is bounded by `maxLineBytes` and a chunk. A line that is
 * too long but stands within a block is for the reader of the block to find.
 */

export interface LineBlock {
  /** Whole lines with their ends; the last of the input may have none. */
  readonly bytes: Buffer;
  /** Where `bytes` begins. */
  readonly position: number;
  /** Where the next block begins. */
  readonly nextPosition: number;
  /** One line above the limit, of which only the beginning is kept. */
  readonly isOverlong: boolean;
}

export interface LineBlocksOptions {
  /** Position of the first byte that will be pushed. */
  readonly position: number;
  /** Begin after the first line end: the line at `position` began before it. */
  readonly skipFirstLine: boolean;
  readonly maxLineBytes: number;
}

export const LINE_FEED = 10;
const BYTE_ORDER_MARK: Buffer = Buffer.from([0xef, 0xbb, 0xbf]);
/** A line end may be a carriage return and a line feed; the limit is on what stands before it. */
const LINE_END_BYTES = 2;
/** Kept of a line that is too long, to show it. */
const OVERLONG_EXCERPT_BYTES = 1024;

export class LineBlocks {
  readonly #keepBytes: number;
  readonly #blocks: LineBlock[] = [];
  #position: number;
  #isSkipping: boolean;
  #isEnded = false;
  /** Pieces of a line whose end was not seen. */
  #carry: Buffer[] = [];
  #carryBytes = 0;

  constructor(options: LineBlocksOptions) {
    this.#keepBytes = Math.max(options.maxLineBytes, OVERLONG_EXCERPT_BYTES) + LINE_END_BYTES;
    this.#position = options.position;
    this.#isSkipping = options.skipFirstLine;
  }

  push(chunk: Buffer): void {
    let at = 0;
    if (this.#isSkipping || this.#carryBytes > 0) {
      const lineEnd = chunk.indexOf(LINE_FEED);
      at = lineEnd < 0 ? chunk.length : lineEnd + 1;
      this.#keep(chunk.subarray(0, at));
      if (lineEnd >= 0) this.#endLine();
    }
    const wholeUntil = chunk.lastIndexOf(LINE_FEED) + 1;
    if (wholeUntil > at) {
      this.#emit(chunk.subarray(at, wholeUntil), wholeUntil - at);
      at = wholeUntil;
    }
    if (at < chunk.length) this.#keep(chunk.subarray(at));
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The input has ended: what is left is its last line. */
  end(): void {
    this.#isEnded = true;
    if (this.#carryBytes > 0) this.#endLine();
  }

  next(): LineBlock | null {
    return this.#blocks.shift() ?? null;
  }

  #keep(bytes: Buffer): void {
    const before = this.#carryBytes;
    this.#carryBytes += bytes.length;
    if (this.#isSkipping) return;
    if (this.#carryBytes <= this.#keepBytes) this.#carry.push(bytes);
    else if (before <= this.#keepBytes)
      this.#carry = [Buffer.concat([...this.#carry, bytes], OVERLONG_EXCERPT_BYTES)];
  }

  #endLine(): void {
    const size = this.#carryBytes;
    const bytes = Buffer.concat(this.#carry);
    const wasSkipping = this.#isSkipping;
    this.#carry = [];
    this.#carryBytes = 0;
    this.#isSkipping = false;
    if (wasSkipping) this.#position += size;
    else this.#emit(bytes, size);
  }

  /** `size` is what the lines take in the input; fewer bytes are kept of an overlong line. */
  #emit(bytes: Buffer, size: number): void {
    const position = this.#position;
    const nextPosition = position + size;
    this.#position = nextPosition;
    const isMarked = position === 0 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
    const markBytes = isMarked ? BYTE_ORDER_MARK.length : 0;
    this.#blocks.push({
      bytes: bytes.subarray(markBytes),
      position: position + markBytes,
      nextPosition,
      isOverlong: bytes.length < size,
    });
  }
}
