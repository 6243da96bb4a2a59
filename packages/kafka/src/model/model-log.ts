/**
 * One partition of the model of a broker: batches with their offsets, what transactions are open in
 * it and which were aborted, and the last stable offset that follows from it. Bytes are kept as the
 * producer sent them, with the base offset filled in, so that a reader decodes what a real broker
 * would send.
 */
import { BatchBuilder } from '../records/batch-builder.ts';
import { crc32c } from '../records/compression.ts';
import * as head from '../records/record-header.ts';
import * as codes from '../wire/error-codes.ts';
import type { AbortedTransaction } from '../wire/fetch.ts';

interface StoredBatch {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly bytes: Buffer;
}

interface ProducerState {
  epoch: number;
  nextSequence: number;
  lastBase: number;
  lastSequence: number;
}

interface AbortedRange extends AbortedTransaction {
  readonly lastOffset: number;
}

export class ModelLog {
  startOffset = 0;
  #end = 0;
  #batches: StoredBatch[] = [];
  readonly #open = new Map<bigint, number>();
  readonly #aborted: AbortedRange[] = [];
  readonly #producers = new Map<bigint, ProducerState>();

  get highWatermark(): number {
    return this.#end;
  }

  get lastStableOffset(): number {
    return Math.min(this.#end, ...this.#open.values());
  }

  /** Appends the one batch of a produce request. */
  append(records: Buffer): { readonly errorCode: number; readonly baseOffset: number } {
    const bytes = Buffer.from(records);
    const attributes = bytes.readInt16BE(head.ATTRIBUTES_AT);
    const producerId = bytes.readBigInt64BE(head.PRODUCER_ID_AT);
    const count = bytes.readInt32BE(head.RECORD_COUNT_AT);
    if (producerId >= 0n) {
      const known = this.#checkSequence(bytes, producerId, count);
      if (known !== null) return known;
    }
    const baseOffset = this.#store(bytes, count);
    const isTransactional = (attributes & head.TRANSACTIONAL_BIT) !== 0;
    if (isTransactional && !this.#open.has(producerId)) this.#open.set(producerId, baseOffset);
    return { errorCode: codes.NONE, baseOffset };
  }

  /** Writes the marker that ends a transaction here. */
  end(producerId: bigint, epoch: number, isCommit: boolean): void {
    const baseOffset = this.#store(controlBatch(producerId, epoch, isCommit), 1);
    const firstOffset = this.#open.get(producerId);
    this.#open.delete(producerId);
    if (firstOffset !== undefined && !isCommit)
      this.#aborted.push({ producerId, firstOffset, lastOffset: baseOffset });
    // Later writes of an older epoch are refused.
    const state = this.#producers.get(producerId);
    if (state === undefined || state.epoch < epoch)
      this.#producers.set(producerId, {
        epoch,
        nextSequence: 0,
        lastBase: -1,
        lastSequence: -1,
      });
  }

  read(
    from: number,
    { readCommitted, maxBytes }: { readonly readCommitted: boolean; readonly maxBytes: number },
  ): { readonly records: Buffer; readonly aborted: readonly AbortedTransaction[] } {
    const limit = readCommitted ? this.lastStableOffset : this.#end;
    const found: StoredBatch[] = [];
    let size = 0;
    for (const batch of this.#batches) {
      if (batch.lastOffset < from || batch.baseOffset >= limit) continue;
      if (found.length > 0 && size + batch.bytes.length > maxBytes) break;
      found.push(batch);
      size += batch.bytes.length;
    }
    const last = found.at(-1)?.lastOffset ?? from;
    const overlapping = this.#aborted.filter(
      (it) => readCommitted && it.lastOffset >= from && it.firstOffset <= last,
    );
    return {
      records: Buffer.concat(found.map((batch) => batch.bytes)),
      aborted: overlapping.map(({ producerId, firstOffset }) => ({ producerId, firstOffset })),
    };
  }

  /** As retention does: nothing before this offset is left. */
  trim(startOffset: number): void {
    this.startOffset = startOffset;
    this.#batches = this.#batches.filter((batch) => batch.lastOffset >= startOffset);
  }

  /** As compaction does: the batches of these base offsets are gone, offsets stay. */
  compact(baseOffsets: readonly number[]): void {
    this.#batches = this.#batches.filter((batch) => !baseOffsets.includes(batch.baseOffset));
  }

  #store(bytes: Buffer, count: number): number {
    const baseOffset = this.#end;
    bytes.writeBigInt64BE(BigInt(baseOffset), 0);
    this.#end += count;
    this.#batches.push({ baseOffset, lastOffset: this.#end - 1, bytes });
    return baseOffset;
  }

  /** The answer to a batch that is not to be stored; `null`: it is next in order. */
  #checkSequence(
    bytes: Buffer,
    producerId: bigint,
    count: number,
  ): { readonly errorCode: number; readonly baseOffset: number } | null {
    const epoch = bytes.readInt16BE(head.PRODUCER_EPOCH_AT);
    const sequence = bytes.readInt32BE(head.BASE_SEQUENCE_AT);
    const state = this.#producers.get(producerId);
    if (state !== undefined && epoch < state.epoch)
      return { errorCode: codes.INVALID_PRODUCER_EPOCH, baseOffset: -1 };
    const isNewEpoch = state === undefined || epoch > state.epoch;
    if (!isNewEpoch && sequence === state.lastSequence)
      return { errorCode: codes.NONE, baseOffset: state.lastBase };
    // A producer the partition has never met may begin anywhere.
    if (state !== undefined && sequence !== (isNewEpoch ? 0 : state.nextSequence))
      return { errorCode: codes.OUT_OF_ORDER_SEQUENCE, baseOffset: -1 };
    this.#producers.set(producerId, {
      epoch,
      nextSequence: sequence + count,
      lastBase: this.#end,
      lastSequence: sequence,
    });
    return null;
  }
}

/** A marker as brokers write it: key `version, type`, type 0 abort and 1 commit. */
function controlBatch(producerId: bigint, epoch: number, isCommit: boolean): Buffer {
  const builder = new BatchBuilder();
  const key = Buffer.from([0, 0, 0, isCommit ? 1 : 0]);
  builder.append({ key, value: Buffer.alloc(6), headers: [], timestamp: 0 });
  const identity = { producerId, epoch, baseSequence: -1, isTransactional: true };
  const bytes = builder.finish(identity, 'none');
  const attributes = bytes.readInt16BE(head.ATTRIBUTES_AT) | head.CONTROL_BIT;
  bytes.writeInt16BE(attributes, head.ATTRIBUTES_AT);
  bytes.writeUInt32BE(crc32c(bytes.subarray(head.ATTRIBUTES_AT)), head.CRC_AT);
  return bytes;
}
