/** Reads what `BinaryWriter` wrote; never past the end: then it throws `SerializationError`. */
import { Buffer } from 'node:buffer';
import { SerializationError } from '../errors.ts';

export class BinaryReader {
  readonly #buffer: Buffer;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get position(): number {
    return this.#position;
  }

  get remaining(): number {
    return this.#buffer.length - this.#position;
  }

  u8(): number {
    return this.#buffer[this.#advance(1)]!;
  }

  u32(): number {
    return this.#buffer.readUInt32LE(this.#advance(4));
  }

  f64(): number {
    return this.#buffer.readDoubleLE(this.#advance(8));
  }

  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.u8();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
      if (factor >= 2 ** 49) throw this.#broken('a number has too many digits');
    }
    if (!Number.isSafeInteger(value)) throw this.#broken('a number is too large');
    return value;
  }

  string(): string {
    const sizeBytes = this.varint();
    const start = this.#advance(sizeBytes);
    return this.#buffer.toString('utf8', start, start + sizeBytes);
  }

  f64BigEndian(): number {
    return this.#buffer.readDoubleBE(this.#advance(8));
  }

  /** A whole number of so many bytes, highest first; negative when its first bit is set. */
  int(sizeBytes: 1 | 2 | 4): number {
    const start = this.#advance(sizeBytes);
    let value = ((this.#buffer[start] as number) << 24) >> 24;
    for (let i = 1; i < sizeBytes; i++) value = (value << 8) | (this.#buffer[start + i] as number);
    return value;
  }

  /** UTF-8 of so many bytes. */
  utf8(sizeBytes: number): string {
    const start = this.#advance(sizeBytes);
    return this.#buffer.toString('utf8', start, start + sizeBytes);
  }

  /** Goes back to where it was. */
  rewind(position: number): void {
    if (position < 0 || position > this.#position) throw this.#broken('it was never there');
    this.#position = position;
  }

  /** A view of the next bytes, not a copy. */
  bytes(sizeBytes: number): Uint8Array {
    const start = this.#advance(sizeBytes);
    return new Uint8Array(this.#buffer.buffer, this.#buffer.byteOffset + start, sizeBytes);
  }

  #advance(sizeBytes: number): number {
    const start = this.#position;
    if (sizeBytes > this.#buffer.length - start) throw this.#broken('the bytes end too early');
    this.#position = start + sizeBytes;
    return start;
  }

  #broken(what: string): SerializationError {
    return new SerializationError(
      `cannot read bytes: ${what}, at ${this.#position} of ${this.#buffer.length}; ` +
        'they are cut off or were written by something else',
      { details: { position: this.#position, sizeBytes: this.#buffer.length } },
    );
  }
}
