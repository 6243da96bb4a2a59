/**
 * Bytes appended to a buffer that grows and is used again: `reset` keeps it. Integers of fixed size
 * are little-endian; a varint has seven bits a byte, lowest first. Read back by `BinaryReader`.
 */
import { Buffer } from 'node:buffer';
import { assert } from '../assert.ts';

const INITIAL_BYTES = 256;
/** A call of native code costs as much as so many characters written here. */
const NATIVE_CHARS_MIN = 12;
/** Such a text is measured first, not given room for the most it could take. */
const LONG_CHARS_MIN = 1024;

export class BinaryWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(initialBytes: number = INITIAL_BYTES) {
    this.#buffer = Buffer.allocUnsafeSlow(initialBytes);
  }

  /** Bytes written since the last reset. */
  get length(): number {
    return this.#length;
  }

  /** Bytes it has room for without growing. */
  get capacity(): number {
    return this.#buffer.length;
  }

  reset(): void {
    this.#length = 0;
  }

  /** Takes back what was written behind the first `length` bytes. */
  truncate(length: number): void {
    assert(length <= this.#length, 'cannot truncate to more than was written');
    this.#length = length;
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#length = this.#buffer.writeUInt32LE(value, this.#length);
  }

  f64(value: number): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  /** A whole number from 0 to 2^53 - 1. */
  varint(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, `not a varint: ${value}`);
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#length++] = rest;
  }

  /** UTF-8 behind its length; a surrogate on its own becomes U+FFFD. */
  string(value: string): void {
    const sizeBytes = Buffer.byteLength(value);
    this.varint(sizeBytes);
    this.#reserve(sizeBytes);
    this.#length += this.#buffer.write(value, this.#length);
  }

  /** Begins bytes that will stand behind their length, as a varint; gives where. */
  beginSized(): number {
    this.#reserve(1);
    return this.#length++;
  }

  /** Ends what `beginSized` began. Few bytes stay where they are, as their length takes one. */
  endSized(start: number): void {
    const sizeBytes = this.#length - start - 1;
    if (sizeBytes < 0x80) {
      this.#buffer[start] = sizeBytes;
      return;
    }
    const more = Math.floor((31 - Math.clz32(sizeBytes)) / 7);
    this.#reserve(more);
    const end = this.#length + more;
    this.#buffer.copyWithin(start + 1 + more, start + 1, this.#length);
    this.#length = start;
    this.varint(sizeBytes);
    this.#length = end;
  }

  /** Characters without a length: one byte each, for text that is ASCII, or two each. */
  text(value: string, encoding: 'latin1' | 'utf16le'): void {
    this.#reserve(encoding === 'latin1' ? value.length : value.length * 2);
    this.#length += this.#buffer.write(value, this.#length, encoding);
  }

  /** UTF-8 without a length; gives the bytes it took. */
  utf8(value: string): number {
    const { length } = value;
    this.#reserve(length < LONG_CHARS_MIN ? length * 3 : Buffer.byteLength(value));
    let sizeBytes = 0;
    if (length < NATIVE_CHARS_MIN)
      for (; sizeBytes < length; sizeBytes++) {
        const code = value.charCodeAt(sizeBytes);
        if (code >= 0x80) break;
        this.#buffer[this.#length + sizeBytes] = code;
      }
    if (sizeBytes < length) sizeBytes = this.#buffer.write(value, this.#length);
    this.#length += sizeBytes;
    return sizeBytes;
  }

  /** A byte, and behind it a whole number, negative or not, in so many bytes, highest first. */
  tagged(tag: number, value: number, sizeBytes: 1 | 2 | 4): void {
    this.#reserve(sizeBytes + 1);
    this.#buffer[this.#length++] = tag;
    for (let shift = (sizeBytes - 1) * 8; shift >= 0; shift -= 8)
      this.#buffer[this.#length++] = value >> shift;
  }

  f64BigEndian(value: number): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleBE(value, this.#length);
  }

  /** The bytes from `start` to `end` as they are, without a length. */
  bytes(source: Uint8Array, start = 0, end: number = source.length): void {
    const sizeBytes = end - start;
    this.#reserve(sizeBytes);
    if (sizeBytes < 48) {
      for (let i = 0; i < sizeBytes; i++) this.#buffer[this.#length + i] = source[start + i]!;
    } else {
      const whole = start === 0 && end === source.length;
      this.#buffer.set(whole ? source : source.subarray(start, end), this.#length);
    }
    this.#length += sizeBytes;
  }

  /** What was written, without a copy: valid until the next write or reset. */
  view(): Uint8Array {
    return new Uint8Array(this.#buffer.buffer, this.#buffer.byteOffset, this.#length);
  }

  /** A copy of what was written. */
  copy(): Uint8Array {
    return this.view().slice();
  }

  #reserve(sizeBytes: number): void {
    const needed = this.#length + sizeBytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}
