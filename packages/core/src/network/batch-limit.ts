/**
 * How many records make a full batch: `BATCH_SIZE`, or fewer when records are large, so that a
 * batch holds about 256 KiB and the batches a channel may hold (its window of credit)
 * bound memory in bytes too. The size of records is estimated from samples: the first of them, then
 * one in 64, every one while they are large. One record of a megabyte shows at once, and is
 * forgotten in the course of some twenty samples. Cost: 1 ns a record.
 */
import { BATCH_SIZE } from '../base/records.ts';

const BATCH_BYTES = 256 * 1024;
const FIRST_SAMPLES = 8;
const SAMPLE_EVERY = 64;
/** From this size on every record is looked at: that costs little beside making it. */
const LARGE_BYTES = 2048;
/** Weight of a sample in the running mean. */
const WEIGHT = 1 / 8;

export class BatchLimit {
  /** Records at which a batch is full. */
  records: number = BATCH_SIZE;
  #untilSample = 1;
  #samples = 0;
  #bytesPerRecord = 0;

  /** To be told of every record. */
  observe(value: unknown): void {
    if (--this.#untilSample > 0) return;
    const bytes = tryToEstimate(value);
    const isFirst = this.#samples++ === 0;
    this.#bytesPerRecord += (bytes - this.#bytesPerRecord) * (isFirst ? 1 : WEIGHT);
    const fits = Math.floor(BATCH_BYTES / Math.max(1, this.#bytesPerRecord));
    this.records = Math.max(1, Math.min(BATCH_SIZE, fits));
    const isDense = this.#samples < FIRST_SAMPLES || this.#bytesPerRecord >= LARGE_BYTES;
    this.#untilSample = isDense ? 1 : SAMPLE_EVERY;
  }
}

/** What an object or an element costs beside its content. */
const OBJECT_BYTES = 16;
const NUMBER_BYTES = 8;
/** Parts of a value that are looked at; the rest is taken to be like them. */
const PARTS_MAX = 32;
const DEPTH_MAX = 4;

/** A getter of the user may throw: that matters only where the value is written. */
function tryToEstimate(value: unknown): number {
  try {
    return estimateBytes(value);
  } catch {
    return OBJECT_BYTES;
  }
}

/** Rough size of a value in memory, in bounded time. */
export function estimateBytes(value: unknown, depth = 0): number {
  switch (typeof value) {
    case 'string':
      return OBJECT_BYTES + value.length;
    case 'object':
      return value === null ? NUMBER_BYTES : OBJECT_BYTES + estimateContent(value, depth);
    default:
      return NUMBER_BYTES;
  }
}

function estimateContent(value: object, depth: number): number {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
  if (depth >= DEPTH_MAX) return OBJECT_BYTES;
  if (Array.isArray(value)) return estimateParts(value.values(), value.length, depth);
  if (value instanceof Map) return estimateParts(entriesOf(value), value.size * 2, depth);
  if (value instanceof Set) return estimateParts(value.values(), value.size, depth);
  let bytes = 0;
  let parts = 0;
  const fields = value as Record<string, unknown>;
  for (const name in fields) {
    bytes += estimateBytes(fields[name], depth + 1);
    if (++parts === PARTS_MAX) return (bytes / parts) * Object.keys(fields).length;
  }
  return bytes;
}

function estimateParts(parts: Iterable<unknown>, count: number, depth: number): number {
  let bytes = 0;
  let seen = 0;
  for (const part of parts) {
    bytes += estimateBytes(part, depth + 1);
    if (++seen === PARTS_MAX) return (bytes / seen) * count;
  }
  return bytes;
}

function* entriesOf(map: ReadonlyMap<unknown, unknown>): Generator<unknown> {
  for (const [key, value] of map) {
    yield key;
    yield value;
  }
}
