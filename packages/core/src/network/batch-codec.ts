/**
 * Record batches as bytes, each readable on its own. This is the codec for records of any shape:
 * msgpackr packs the batch as one array, so field names are written once a batch. A value that
 * msgpackr would not give back exactly (−0, cycles, holes, …) is left out of the array and stands
 * behind it in the form of `value-codec.ts`, so that one odd record does not slow down the others.
 *
 *     count u32 · flags u8 · [timestamps f64 × count] · packed size u32 · packed array
 *     · number of exceptions varint · (index varint · size varint · value) …
 *
 * Cost: about 0.35 µs a record of five fields to write, 0.1 µs to read.
 */
import { Buffer } from 'node:buffer';
import type { BinaryReader } from '../base/codec/binary-reader.ts';
import type { BinaryWriter } from '../base/codec/binary-writer.ts';
import { loadNativeStrings, pack, Packr } from '../base/codec/msgpack.ts';
import { decodeValue, encodeValue } from '../base/codec/value-codec.ts';
import { ValueScanner } from '../base/codec/value-scan.ts';
import { SerializationError, messageOf } from '../base/errors.ts';
import type { RecordBatch } from '../base/records.ts';

export interface BatchCodec {
  /**
   * Throws `SerializationError` naming the place in the value that cannot be encoded. What is
   * learnt of the records of a channel may be of use for the next batch of that channel.
   */
  encode(batch: RecordBatch, output: BinaryWriter, channelId: number): void;
  /** Throws `SerializationError` for bytes that `encode` did not write. */
  decode(input: BinaryReader): RecordBatch;
}

const HAS_TIMESTAMPS = 1;

/**
 * Smaller batches gain nothing by native code. Records of a stable shape only come here few at a
 * time, cut off by a barrier: their thread would load it some time in the middle of its work.
 */
const NATIVE_BYTES_MIN = 4096;
const PACKED_BYTES = 1 << 16;
/** msgpackr keeps the buffer of its largest batch; beyond this it is given a small one again. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

export class GeneralBatchCodec implements BatchCodec {
  readonly #packr: Packr = new Packr({ moreTypes: true, useToJSON: false, copyBuffers: true });
  readonly #scanner: ValueScanner = new ValueScanner();

  encode({ values, timestamps }: RecordBatch, output: BinaryWriter): void {
    output.u32(values.length);
    writeTimestamps(timestamps, output);
    const exceptions = this.#exceptionsOf(values);
    const simple = exceptions.length === 0 ? values : without(values, exceptions);
    const packed = pack(this.#packr, simple);
    output.u32(packed.end - packed.start);
    output.bytes(packed, packed.start, packed.end);
    if (packed.length > KEPT_BYTES_MAX) this.#packr.useBuffer(Buffer.allocUnsafeSlow(PACKED_BYTES));
    output.varint(exceptions.length);
    for (const index of exceptions) {
      const bytes = encodeValue(values[index]);
      output.varint(index);
      output.varint(bytes.length);
      output.bytes(bytes);
    }
  }

  decode(input: BinaryReader): RecordBatch {
    const count = input.u32();
    const timestamps = readTimestamps(count, input);
    const values = this.#unpack(input.bytes(input.u32()));
    if (values.length !== count)
      throw new SerializationError(`a batch of ${count} records holds ${values.length} values`);
    for (let left = input.varint(); left > 0; left--) {
      const index = input.varint();
      values[index] = decodeValue(input.bytes(input.varint()));
    }
    return { values, timestamps };
  }

  #exceptionsOf(values: readonly unknown[]): number[] {
    const exceptions: number[] = [];
    for (let i = 0; i < values.length; i++) {
      this.#scanner.begin();
      if (!this.#scanner.isSimple(values[i])) exceptions.push(i);
    }
    return exceptions;
  }

  #unpack(bytes: Uint8Array): unknown[] {
    if (bytes.length >= NATIVE_BYTES_MIN) loadNativeStrings();
    try {
      return this.#packr.unpack(bytes) as unknown[];
    } catch (error) {
      throw new SerializationError(
        `cannot read a batch of ${bytes.length} bytes: ${messageOf(error)}; the bytes are damaged`,
        { cause: error },
      );
    }
  }
}

function without(values: readonly unknown[], exceptions: readonly number[]): unknown[] {
  const rest = [...values];
  for (const index of exceptions) rest[index] = null;
  return rest;
}

/** `flags u8 · [timestamps f64 × count]` */
export function writeTimestamps(timestamps: Float64Array | null, output: BinaryWriter): void {
  output.u8(timestamps === null ? 0 : HAS_TIMESTAMPS);
  if (timestamps !== null) output.bytes(bytesOf(timestamps));
}

export function readTimestamps(count: number, input: BinaryReader): Float64Array | null {
  const hasTimestamps = (input.u8() & HAS_TIMESTAMPS) !== 0;
  return hasTimestamps ? float64sOf(input.bytes(count * 8)) : null;
}

function bytesOf(numbers: Float64Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

function float64sOf(bytes: Uint8Array): Float64Array {
  const numbers = new Float64Array(bytes.length / 8);
  bytesOf(numbers).set(bytes);
  return numbers;
}
