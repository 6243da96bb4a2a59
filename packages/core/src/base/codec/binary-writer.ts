/**
 * Bytes appended to a buffer that grows and is used again: `reset` keeps it. Integers of fixed size
 * are little-endian; a varint has seven bits a byte, lowest first. Read back by `BinaryReader`.
 */
import { Buffer } from 'node:buffer';
import { assert } from '../assert.ts';

const INITIAL_BYTES = 256;

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

  /** Characters without a length: one byte each, for text that is ASCII, or two each. */
  text(value: string, encoding: 'latin1' | 'utf16le'): void {
    this.#reserve(encoding === 'latin1' ? value.length : value.length * 2);
    this.#length += this.#buffer.write(value, this.#length, encoding);
  }

  /** UTF-8 without a length; `sizeBytes` is what `Buffer.byteLength` says. */
  utf8(value: string, sizeBytes: number): void {
    this.#reserve(sizeBytes);
    const encoding = sizeBytes === value.length ? 'latin1' : 'utf8';
    if (sizeBytes < 16 && encoding === 'latin1')
      for (let i = 0; i < sizeBytes; i++) this.#buffer[this.#length + i] = value.charCodeAt(i);
    else this.#buffer.write(value, this.#length, encoding);
    this.#length += sizeBytes;
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
