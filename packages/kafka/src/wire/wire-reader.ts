/**
 * Reads the primitive types of Kafka's protocol in their flexible ("compact") form from one
 * contiguous buffer. Reading beyond the end throws a RangeError: the response is not what the
 * version says, which the caller reports as a broken connection.
 */
export class WireReader {
  readonly buffer: Buffer;
  position = 0;

  constructor(buffer: Buffer) {
    this.buffer = buffer;
  }

  int8(): number {
    return this.buffer.readInt8(this.#advance(1));
  }

  int16(): number {
    return this.buffer.readInt16BE(this.#advance(2));
  }

  int32(): number {
    return this.buffer.readInt32BE(this.#advance(4));
  }

  /** An offset or a time: exact up to 2^53. */
  int64(): number {
    return Number(this.bigInt64());
  }

  bigInt64(): bigint {
    return this.buffer.readBigInt64BE(this.#advance(8));
  }

  boolean(): boolean {
    return this.int8() !== 0;
  }

  unsignedVarint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.buffer.readUInt8(this.#advance(1));
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new RangeError('a varint is longer than five bytes');
  }

  nullableString(): string | null {
    const length = this.unsignedVarint();
    if (length === 0) return null;
    const start = this.#advance(length - 1);
    return this.buffer.toString('utf8', start, this.position);
  }

  string(): string {
    return this.nullableString() ?? '';
  }

  /** A view of the bytes, not a copy. */
  bytes(): Buffer | null {
    const length = this.unsignedVarint();
    if (length === 0) return null;
    const start = this.#advance(length - 1);
    return this.buffer.subarray(start, this.position);
  }

  uuid(): string {
    const start = this.#advance(16);
    return this.buffer.toString('hex', start, this.position);
  }

  array<T>(read: () => T): T[] {
    const length = this.unsignedVarint();
    const items: T[] = [];
    for (let index = 1; index < length; index++) items.push(read());
    return items;
  }

  /** What is said of each partition, in the usual nesting: topics, in each its partitions. */
  perPartition<T>(read: (topic: string) => T): T[] {
    return this.array(() => {
      const topic = this.string();
      const ofTopic = this.array(() => {
        const item = read(topic);
        this.end();
        return item;
      });
      this.end();
      return ofTopic;
    }).flat();
  }

  /** Skips the tagged fields at the end of a structure. */
  end(): void {
    for (let count = this.unsignedVarint(); count > 0; count--) {
      this.unsignedVarint();
      this.#advance(this.unsignedVarint());
    }
  }

  #advance(byteCount: number): number {
    const start = this.position;
    if (start + byteCount > this.buffer.length)
      throw new RangeError(
        `a response ends at byte ${this.buffer.length} in the middle of a field`,
      );
    this.position = start + byteCount;
    return start;
  }
}
