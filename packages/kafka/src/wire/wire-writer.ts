/**
 * Writes the primitive types of Kafka's protocol in their flexible ("compact") form into one
 * growing buffer. Made for small control requests and for the frame around record batches, whose
 * bytes are copied once.
 */
export class WireWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(initialBytes = 256) {
    this.#buffer = Buffer.allocUnsafe(initialBytes);
  }

  int8(value: number): this {
    this.#reserve(1);
    this.#length = this.#buffer.writeInt8(value, this.#length);
    return this;
  }

  int16(value: number): this {
    this.#reserve(2);
    this.#length = this.#buffer.writeInt16BE(value, this.#length);
    return this;
  }

  int32(value: number): this {
    this.#reserve(4);
    this.#length = this.#buffer.writeInt32BE(value, this.#length);
    return this;
  }

  int64(value: number | bigint): this {
    this.#reserve(8);
    this.#length = this.#buffer.writeBigInt64BE(BigInt(value), this.#length);
    return this;
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0);
  }

  unsignedVarint(value: number): this {
    this.#reserve(5);
    let rest = value;
    while (rest > 0x7f) {
      this.#buffer[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#length++] = rest;
    return this;
  }

  /** A compact string; `null` where the protocol allows it. */
  string(value: string | null): this {
    if (value === null) return this.unsignedVarint(0);
    const byteCount = Buffer.byteLength(value);
    this.unsignedVarint(byteCount + 1);
    this.#reserve(byteCount);
    this.#length += this.#buffer.write(value, this.#length);
    return this;
  }

  /** Compact bytes. */
  bytes(value: Buffer | null): this {
    return value === null
      ? this.unsignedVarint(0)
      : this.unsignedVarint(value.length + 1).raw(value);
  }

  raw(value: Buffer): this {
    this.#reserve(value.length);
    this.#length += value.copy(this.#buffer, this.#length);
    return this;
  }

  /** A topic id as 32 hex digits. */
  uuid(hex: string): this {
    this.#reserve(16);
    this.#length += this.#buffer.write(hex, this.#length, 'hex');
    return this;
  }

  /** A compact array; `null` where the protocol allows it. */
  array<T>(items: readonly T[] | null, write: (item: T) => void): this {
    this.unsignedVarint(items === null ? 0 : items.length + 1);
    for (const item of items ?? []) write(item);
    return this;
  }

  /** The end of a structure: no tagged fields. */
  end(): this {
    return this.int8(0);
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(byteCount: number): void {
    const needed = this.#length + byteCount;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}
