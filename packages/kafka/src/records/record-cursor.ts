/**
 * Walks over the records of one decompressed batch without allocating: after `next` its fields tell
 * where in `bytes` the record's parts are. The caller takes what it needs.
 *
 * Cost: about 30 ns a record.
 */
import { StateCorruptionError } from '@weir/core';
import type { RecordHeader } from './batch-builder.ts';

export class RecordCursor {
  offset = 0;
  timestamp = 0;
  keyStart = 0;
  /** −1: no key. */
  keyLength = -1;
  valueStart = 0;
  /** −1: no value (a tombstone). */
  valueLength = -1;
  bytes: Buffer = Buffer.alloc(0);
  #headerCount = 0;
  #headersStart = 0;
  #position = 0;
  #remaining = 0;
  #baseOffset = 0;
  #baseTimestamp = 0;
  #fixedTimestamp: number | null = null;

  /** Starts with the records of a batch. `fixedTimestamp`: the broker's own, one for the batch. */
  start(batch: {
    readonly bytes: Buffer;
    readonly count: number;
    readonly baseOffset: number;
    readonly baseTimestamp: number;
    readonly fixedTimestamp: number | null;
  }): void {
    this.bytes = batch.bytes;
    this.#position = 0;
    this.#remaining = batch.count;
    this.#baseOffset = batch.baseOffset;
    this.#baseTimestamp = batch.baseTimestamp;
    this.#fixedTimestamp = batch.fixedTimestamp;
  }

  clear(): void {
    this.#remaining = 0;
  }

  /** Moves to the next record; false at the end of the batch. */
  next(): boolean {
    if (this.#remaining === 0) return false;
    this.#remaining--;
    const length = this.#varint();
    const end = this.#position + length;
    if (length <= 0 || end > this.bytes.length) throw this.#damaged();
    this.#position++;
    const timestampDelta = this.#varlong();
    this.timestamp = this.#fixedTimestamp ?? this.#baseTimestamp + timestampDelta;
    this.offset = this.#baseOffset + this.#varint();
    this.keyLength = this.#varint();
    this.keyStart = this.#position;
    if (this.keyLength > 0) this.#position += this.keyLength;
    this.valueLength = this.#varint();
    this.valueStart = this.#position;
    if (this.valueLength > 0) this.#position += this.valueLength;
    this.#headerCount = this.#varint();
    this.#headersStart = this.#position;
    if (this.#position > end) throw this.#damaged();
    this.#position = end;
    return true;
  }

  /** A view of the key's bytes. */
  key(): Buffer | null {
    if (this.keyLength < 0) return null;
    return this.bytes.subarray(this.keyStart, this.keyStart + this.keyLength);
  }

  value(): Buffer | null {
    if (this.valueLength < 0) return null;
    return this.bytes.subarray(this.valueStart, this.valueStart + this.valueLength);
  }

  valueText(): string | null {
    if (this.valueLength < 0) return null;
    return this.bytes.toString('utf8', this.valueStart, this.valueStart + this.valueLength);
  }

  headers(): RecordHeader[] {
    const after = this.#position;
    this.#position = this.#headersStart;
    const headers: RecordHeader[] = [];
    for (let index = 0; index < this.#headerCount; index++) {
      const key = this.#take()?.toString() ?? '';
      headers.push({ key, value: this.#take() });
    }
    this.#position = after;
    return headers;
  }

  #take(): Buffer | null {
    const length = this.#varint();
    if (length < 0) return null;
    this.#position += length;
    return this.bytes.subarray(this.#position - length, this.#position);
  }

  #varint(): number {
    const { bytes } = this;
    let byte = bytes[this.#position++] ?? 0;
    let value = byte & 0x7f;
    for (let shift = 7; byte > 0x7f && shift < 35; shift += 7) {
      byte = bytes[this.#position++] ?? 0;
      value |= (byte & 0x7f) << shift;
    }
    return (value >>> 1) ^ -(value & 1);
  }

  #varlong(): number {
    const start = this.#position;
    let end = start;
    while ((this.bytes[end] ?? 0) > 0x7f) end++;
    if (end - start < 4) return this.#varint();
    let value = 0n;
    for (let at = end; at >= start; at--)
      value = (value << 7n) | BigInt((this.bytes[at] ?? 0) & 0x7f);
    this.#position = end + 1;
    return Number((value >> 1n) ^ -(value & 1n));
  }

  #damaged(): Error {
    return new StateCorruptionError(
      `a record batch at offset ${this.#baseOffset} has a record that is longer than the batch`,
    );
  }
}
