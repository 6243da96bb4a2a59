/**
 * A pipe of bytes from one thread to one other, in shared memory. Messages of any length pass
 * through it: what does not fit at once waits with the writer and follows piece by piece, so a
 * message may be larger than the ring. Exactly one writer and one reader.
 *
 *     words 0 HEAD (bytes read) · 16 TAIL (bytes written) · 32 WANTS_SPACE, then the bytes
 *
 * HEAD and TAIL count without end modulo 2^32; the capacity is a power of two, so the place is a
 * mask away. Bytes are written before TAIL moves and read before HEAD moves; `Atomics` order both.
 * A side that finds nothing to do announces that it waits *before* it looks again, and the other
 * side moves its counter *before* it looks for the announcement: one of them sees the other.
 * Cost: about 0.1 µs a message and a copy on either side.
 */
import { assert } from '../base/assert.ts';

const HEAD = 0;
/** Words that two threads write stand on different cache lines of 64 bytes. */
const TAIL = 16;
const WANTS_SPACE = 32;
const HEADER_BYTES = 192;
const LENGTH_BYTES = 4;
/** A reader's buffer that grew beyond this shrinks with the next message that does not need it. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** 4 MiB: about a hundred full batches, so that a thread that pauses stops no other. */
export const RING_BYTES: number = 4 * 1024 * 1024;

/** Memory for a ring. `capacityBytes` is a power of two, at most 2^30. */
export function createRingBuffer(capacityBytes: number = RING_BYTES): SharedArrayBuffer {
  assert(Number.isInteger(Math.log2(capacityBytes)), 'the size of a ring is no power of two');
  assert(capacityBytes <= 2 ** 30, 'a ring is too large for its counters');
  return new SharedArrayBuffer(HEADER_BYTES + capacityBytes);
}

export class RingWriter {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  #tail: number;
  /** Accepted but not in the ring yet, first to last. */
  #waiting: Uint8Array[] = [];
  readonly #length = new Uint8Array(LENGTH_BYTES);
  readonly #lengthView: DataView = new DataView(this.#length.buffer);

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    this.#bytes = new Uint8Array(buffer, HEADER_BYTES);
    this.#tail = Atomics.load(this.#words, TAIL);
  }

  /** Something waits for room: do not write what can wait elsewhere. */
  get isCongested(): boolean {
    return this.#waiting.length > 0;
  }

  /** Takes a message, given in two parts. Always accepted; what has to wait is copied. */
  write(head: Uint8Array, body: Uint8Array): void {
    this.#lengthView.setUint32(0, head.length + body.length, true);
    this.#append(this.#length);
    this.#append(head);
    this.#append(body);
    this.#publish();
  }

  /** Moves what waits as far as there is room. True when anything moved. */
  flush(): boolean {
    let moved = false;
    while (this.#waiting.length > 0) {
      const room = this.#room();
      if (room === 0) break;
      const first = this.#waiting[0]!;
      const part = first.length <= room ? first : first.subarray(0, room);
      this.#put(part);
      if (part === first) this.#waiting.shift();
      else this.#waiting[0] = first.subarray(room);
      moved = true;
    }
    if (moved) this.#publish();
    return moved;
  }

  #append(bytes: Uint8Array): void {
    const room = this.isCongested ? 0 : this.#room(bytes.length);
    const now = Math.min(room, bytes.length);
    if (now > 0) this.#put(now === bytes.length ? bytes : bytes.subarray(0, now));
    if (now < bytes.length) this.#waiting.push(bytes.slice(now));
  }

  /** Free bytes. Short of `needed` it asks the reader for a wake, then looks again. */
  #room(needed = 1): number {
    const room = this.#free();
    if (room >= needed) return room;
    Atomics.store(this.#words, WANTS_SPACE, 1);
    return this.#free();
  }

  #free(): number {
    return this.#bytes.length - ((this.#tail - Atomics.load(this.#words, HEAD)) | 0);
  }

  #put(bytes: Uint8Array): void {
    const capacity = this.#bytes.length;
    const start = this.#tail & (capacity - 1);
    const untilEnd = capacity - start;
    if (bytes.length <= untilEnd) this.#bytes.set(bytes, start);
    else {
      this.#bytes.set(bytes.subarray(0, untilEnd), start);
      this.#bytes.set(bytes.subarray(untilEnd), 0);
    }
    this.#tail = (this.#tail + bytes.length) | 0;
  }

  #publish(): void {
    Atomics.store(this.#words, TAIL, this.#tail);
  }
}

export class RingReader {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  #head: number;
  readonly #length = new Uint8Array(LENGTH_BYTES);
  readonly #lengthView: DataView = new DataView(this.#length.buffer);
  #lengthFilled = 0;
  /** Used again for the next message. */
  #message: Uint8Array = new Uint8Array(1024);
  #messageLength = 0;
  #messageFilled = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    this.#bytes = new Uint8Array(buffer, HEADER_BYTES);
    this.#head = Atomics.load(this.#words, HEAD);
  }

  /**
   * The next message, or null while none is complete. The bytes are valid until the next call.
   * Afterwards ask `takeSpaceWanted`, even after null: part of a message may have moved.
   */
  read(): Uint8Array | null {
    if (this.#lengthFilled < LENGTH_BYTES) {
      this.#lengthFilled += this.#take(this.#length, this.#lengthFilled, LENGTH_BYTES);
      if (this.#lengthFilled < LENGTH_BYTES) return null;
      this.#messageLength = this.#lengthView.getUint32(0, true);
      this.#messageFilled = 0;
      this.#fitMessage();
    }
    this.#messageFilled += this.#take(this.#message, this.#messageFilled, this.#messageLength);
    if (this.#messageFilled < this.#messageLength) return null;
    this.#lengthFilled = 0;
    return this.#message.subarray(0, this.#messageLength);
  }

  /** True once after the writer asked for room: it may be asleep and must be woken. */
  takeSpaceWanted(): boolean {
    if (Atomics.load(this.#words, WANTS_SPACE) === 0) return false;
    return Atomics.exchange(this.#words, WANTS_SPACE, 0) === 1;
  }

  #fitMessage(): void {
    const [needed, size] = [this.#messageLength, this.#message.length];
    if (needed > size) this.#message = new Uint8Array(Math.max(needed, size * 2));
    else if (size > KEPT_BYTES_MAX && needed <= KEPT_BYTES_MAX)
      this.#message = new Uint8Array(KEPT_BYTES_MAX);
  }

  /** Copies what is there into target[from, to); returns how much. Frees it for the writer. */
  #take(target: Uint8Array, from: number, to: number): number {
    const capacity = this.#bytes.length;
    const available = (Atomics.load(this.#words, TAIL) - this.#head) | 0;
    assert(available >= 0 && available <= capacity, 'a ring was written beyond its end');
    const count = Math.min(available, to - from);
    if (count === 0) return 0;
    const start = this.#head & (capacity - 1);
    const first = Math.min(count, capacity - start);
    target.set(this.#bytes.subarray(start, start + first), from);
    if (first < count) target.set(this.#bytes.subarray(0, count - first), from + first);
    this.#head = (this.#head + count) | 0;
    Atomics.store(this.#words, HEAD, this.#head);
    return count;
  }
}
