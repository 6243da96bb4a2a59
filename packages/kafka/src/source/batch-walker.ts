/**
 * Walks over the batches of one fetched piece and opens those whose records are to be delivered.
 * A batch of an aborted transaction is passed over before it is decompressed; control batches move
 * the position and deliver nothing. Every batch that is opened or obeyed has its checksum verified.
 */
import { StateCorruptionError } from '@weir/core';
import { compressionOf, crc32c, decompress } from '../records/compression.ts';
import type { Compression } from '../records/compression.ts';
import * as head from '../records/record-header.ts';
import type { RecordCursor } from '../records/record-cursor.ts';
import type { Unpacked } from '../records/unpack-ahead.ts';
import type { AbortedTransaction } from '../wire/fetch.ts';
import { AbortFilter } from './abort-filter.ts';

export interface FetchedPiece {
  /** `topic/partition`, for messages. */
  readonly place: string;
  readonly records: Buffer;
  readonly aborted: readonly AbortedTransaction[];
  /** Batches that were decompressed ahead. */
  readonly unpacked?: Unpacked;
}

export class BatchWalker {
  readonly #piece: FetchedPiece;
  readonly #filter: AbortFilter | null;
  #at = 0;
  /** Offset after the batches that were walked over. */
  position = 0;

  constructor(piece: FetchedPiece, readCommitted: boolean) {
    this.#piece = piece;
    this.#filter = readCommitted ? new AbortFilter(piece.aborted) : null;
  }

  /**
   * Starts `cursor` with the next batch that has records to deliver; false at the end of the piece.
   * `from`: batches that end before it are passed over.
   */
  next(cursor: RecordCursor, from: number): boolean {
    const { records } = this.#piece;
    for (;;) {
      const start = this.#at;
      const end = head.endOfBatch(records, start);
      if (end === null) return false;
      this.#at = end;
      const batch = records.subarray(start, end);
      const baseOffset = Number(batch.readBigInt64BE(0));
      this.#checkMagic(batch, baseOffset);
      const lastOffset = baseOffset + batch.readInt32BE(head.LAST_OFFSET_DELTA_AT);
      this.position = lastOffset + 1;
      this.#filter?.advance(lastOffset);
      if (this.#isPassedOver(batch, baseOffset) || lastOffset < from) continue;
      this.#open(cursor, batch, { start, baseOffset });
      return true;
    }
  }

  #isPassedOver(batch: Buffer, baseOffset: number): boolean {
    const attributes = batch.readInt16BE(head.ATTRIBUTES_AT);
    if ((attributes & head.CONTROL_BIT) !== 0) {
      this.#checkSum(batch, baseOffset);
      if (isAbortMarker(batch))
        this.#filter?.onAbortMarker(batch.readBigInt64BE(head.PRODUCER_ID_AT));
      return true;
    }
    if (batch.readInt32BE(head.RECORD_COUNT_AT) === 0) return true;
    if (this.#filter === null || (attributes & head.TRANSACTIONAL_BIT) === 0) return false;
    return this.#filter.isAborted(batch.readBigInt64BE(head.PRODUCER_ID_AT));
  }

  #open(
    cursor: RecordCursor,
    batch: Buffer,
    { start, baseOffset }: { readonly start: number; readonly baseOffset: number },
  ): void {
    this.#checkSum(batch, baseOffset);
    const attributes = batch.readInt16BE(head.ATTRIBUTES_AT);
    const compression = compressionOf(attributes);
    if (compression === null)
      throw this.#damaged(baseOffset, `has compression ${attributes & head.COMPRESSION_BITS}`);
    const isAppendTime = (attributes & head.LOG_APPEND_TIME_BIT) !== 0;
    cursor.start({
      bytes: this.#piece.unpacked?.get(start) ?? bodyOf(batch, compression),
      count: batch.readInt32BE(head.RECORD_COUNT_AT),
      baseOffset,
      baseTimestamp: Number(batch.readBigInt64BE(head.BASE_TIMESTAMP_AT)),
      fixedTimestamp: isAppendTime ? Number(batch.readBigInt64BE(head.MAX_TIMESTAMP_AT)) : null,
    });
  }

  #checkMagic(batch: Buffer, baseOffset: number): void {
    const magic = batch.readInt8(head.MAGIC_AT);
    if (magic !== head.MAGIC) throw this.#damaged(baseOffset, `has format ${magic}, not 2`);
  }

  #checkSum(batch: Buffer, baseOffset: number): void {
    const expected = batch.readUInt32BE(head.CRC_AT);
    const found = crc32c(batch.subarray(head.ATTRIBUTES_AT));
    if (found !== expected)
      throw this.#damaged(baseOffset, `has checksum ${found}, its head says ${expected}`);
  }

  #damaged(baseOffset: number, what: string): StateCorruptionError {
    const { place } = this.#piece;
    return new StateCorruptionError(
      `kafkaSource: the batch at ${place} offset ${baseOffset} ${what}; the broker's log or the ` +
        'connection damages data',
      { code: 'SOURCE_UNAVAILABLE', details: { place, offset: baseOffset } },
    );
  }
}

function bodyOf(batch: Buffer, compression: Compression): Buffer {
  const body = batch.subarray(head.HEADER_BYTES);
  return compression === 'none' ? body : decompress(compression, body);
}

/** Offset after the last whole batch of a piece; `null`: there is none. */
export function positionAfter(records: Buffer): number | null {
  let position: number | null = null;
  for (let at = 0; ;) {
    const end = head.endOfBatch(records, at);
    if (end === null) return position;
    const last = records.readInt32BE(at + head.LAST_OFFSET_DELTA_AT);
    position = Number(records.readBigInt64BE(at)) + last + 1;
    at = end;
  }
}

/**
 * The one record of a control batch has the key `version int16, type int16`; type 0 is an abort.
 */
function isAbortMarker(batch: Buffer): boolean {
  // length, attributes, timestamp delta, offset delta: one byte each but for the delta of time.
  let at = head.HEADER_BYTES + 2;
  while (((batch[at] ?? 0) & 0x80) !== 0) at++;
  at += 2;
  const keyLength = (batch[at] ?? 0) >> 1;
  return keyLength >= 4 && batch.readInt16BE(at + 3) === 0;
}
