/**
 * The head of a record batch (format 2), 61 bytes:
 *
 *    0 base offset 8   8 batch length 4   12 leader epoch 4   16 magic 1   17 CRC-32C 4
 *   21 attributes 2   23 last offset delta 4   27 base timestamp 8   35 max timestamp 8
 *   43 producer id 8   51 producer epoch 2   53 base sequence 4   57 record count 4
 *
 * The checksum covers everything after itself. Attributes: bits 0–2 compression, 3 log append time,
 * 4 transactional, 5 control.
 */
import { StateCorruptionError } from '@weir/core';

export const HEADER_BYTES = 61;
export const LENGTH_AT = 8;
/** What the batch length does not count: base offset and the length itself. */
export const UNCOUNTED_BYTES = 12;
export const LEADER_EPOCH_AT = 12;
export const MAGIC_AT = 16;
export const CRC_AT = 17;
export const ATTRIBUTES_AT = 21;
export const LAST_OFFSET_DELTA_AT = 23;
export const BASE_TIMESTAMP_AT = 27;
export const MAX_TIMESTAMP_AT = 35;
export const PRODUCER_ID_AT = 43;
export const PRODUCER_EPOCH_AT = 51;
export const BASE_SEQUENCE_AT = 53;
export const RECORD_COUNT_AT = 57;

export const COMPRESSION_BITS = 0x07;
export const LOG_APPEND_TIME_BIT = 0x08;
export const TRANSACTIONAL_BIT = 0x10;
export const CONTROL_BIT = 0x20;
export const MAGIC = 2;

/**
 * Where the batch that begins at `start` ends; `null`: the piece ends before it does. The length is
 * not under the checksum, so one that cannot be is found here.
 */
export function endOfBatch(records: Buffer, start: number): number | null {
  if (start + HEADER_BYTES > records.length) return null;
  const length = records.readInt32BE(start + LENGTH_AT);
  if (length < HEADER_BYTES - UNCOUNTED_BYTES)
    throw new StateCorruptionError(
      `kafkaSource: the batch at offset ${records.readBigInt64BE(start)} says that it has ` +
        `${length} bytes, less than its head; the broker's log or the connection damages data`,
      { code: 'SOURCE_UNAVAILABLE' },
    );
  const end = start + UNCOUNTED_BYTES + length;
  return end > records.length ? null : end;
}
