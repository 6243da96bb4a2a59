/**
 * One partition in a reader: the pieces that were fetched and not yet read, and the position next
 * to read. The position follows every record that was handed on, and passes batches that deliver
 * nothing (control batches, aborted transactions, compaction gaps), so a bounded read ends and the
 * state never points before them.
 */
import { KafkaRecord } from '../formats/kafka-record.ts';
import { RecordCursor } from '../records/record-cursor.ts';
import * as head from '../records/record-header.ts';
import type { Unpacked } from '../records/unpack-ahead.ts';
import type { FetchedPartition } from '../wire/fetch.ts';
import { BatchWalker, positionAfter } from './batch-walker.ts';
import type { FetchedPiece } from './batch-walker.ts';
import type { KafkaSplit } from './kafka-split.ts';
import { splitId } from './kafka-split.ts';

interface Piece extends FetchedPiece {
  /** What it takes of memory. */
  readonly sizeBytes: number;
}

export class PartitionReader {
  readonly id: string;
  readonly record: KafkaRecord;
  readonly #split: KafkaSplit;
  readonly #readCommitted: boolean;
  readonly #cursor = new RecordCursor();
  readonly #pieces: Piece[] = [];
  #walker: BatchWalker | null = null;
  #isInBatch = false;
  /** The present record was looked at and not yet passed. */
  #isOnRecord = false;
  #next: number;
  /** Where the next fetch begins. */
  fetchOffset: number;
  queuedBytes = 0;

  constructor(split: KafkaSplit, readCommitted: boolean) {
    this.id = splitId(split);
    this.record = new KafkaRecord(split.topic, split.partition, this.#cursor);
    this.#split = split;
    this.#readCommitted = readCommitted;
    this.#next = split.next;
    this.fetchOffset = split.next;
  }

  get topic(): string {
    return this.#split.topic;
  }

  get topicId(): string {
    return this.#split.topicId;
  }

  get partition(): number {
    return this.#split.partition;
  }

  get next(): number {
    return this.#next;
  }

  get stop(): number | null {
    return this.#split.stop;
  }

  get isFinished(): boolean {
    return this.#split.stop !== null && this.#next >= this.#split.stop;
  }

  /** Whether fetching more is of use. */
  get wantsMore(): boolean {
    return this.#split.stop === null || this.fetchOffset < this.#split.stop;
  }

  snapshot(): KafkaSplit {
    return { ...this.#split, next: this.#next };
  }

  /** Whether a batch that was fetched will be read, as far as can be told without reading. */
  wants(batch: Buffer, { aborted }: FetchedPartition): boolean {
    const last = batch.readInt32BE(head.LAST_OFFSET_DELTA_AT);
    if (Number(batch.readBigInt64BE(0)) + last < this.fetchOffset) return false;
    if (!this.#readCommitted || aborted.length === 0) return true;
    const producerId = batch.readBigInt64BE(head.PRODUCER_ID_AT);
    return !aborted.some((it) => it.producerId === producerId);
  }

  /** Takes what was fetched at `fetchOffset`, with batches that were decompressed already. */
  offer({ records, aborted }: FetchedPartition, unpacked?: Unpacked): void {
    const after = records === null ? null : positionAfter(records);
    if (records === null || after === null) return;
    this.fetchOffset = Math.max(this.fetchOffset, after);
    let sizeBytes = records.length;
    for (const bytes of unpacked?.values() ?? []) sizeBytes += bytes.length;
    this.queuedBytes += sizeBytes;
    const ready = unpacked === undefined ? {} : { unpacked };
    this.#pieces.push({ place: this.id, records, aborted, sizeBytes, ...ready });
  }

  /** Goes on at another offset: what was fetched is dropped. */
  seek(offset: number): void {
    this.#pieces.length = 0;
    this.queuedBytes = 0;
    this.#walker = null;
    this.#isInBatch = false;
    this.#isOnRecord = false;
    this.#next = offset;
    this.fetchOffset = offset;
  }

  /**
   * Moves to the next record to deliver: `record` shows it until `pass`. False when nothing is
   * there to be read now.
   */
  advance(): boolean {
    if (this.#isOnRecord) return true;
    while (!this.isFinished) {
      if (this.#isInBatch) {
        if (this.#advanceInBatch()) return true;
        continue;
      }
      const walker = (this.#walker ??= this.#nextWalker());
      if (walker === null) return false;
      if (walker.next(this.#cursor, this.#next)) this.#isInBatch = true;
      else this.#endPiece();
      if (!this.#isInBatch) this.#next = Math.max(this.#next, walker.position);
    }
    return false;
  }

  /** The record was handed on: the position is after it. */
  pass(): void {
    this.#isOnRecord = false;
    this.#next = this.#cursor.offset + 1;
  }

  #advanceInBatch(): boolean {
    while (this.#cursor.next()) {
      if (this.#cursor.offset < this.#next) continue;
      if (this.#split.stop !== null && this.#cursor.offset >= this.#split.stop) {
        this.#next = this.#split.stop;
        return false;
      }
      this.#isOnRecord = true;
      return true;
    }
    this.#isInBatch = false;
    this.#next = Math.max(this.#next, this.#walker?.position ?? 0);
    return false;
  }

  #nextWalker(): BatchWalker | null {
    const [piece] = this.#pieces;
    return piece === undefined ? null : new BatchWalker(piece, this.#readCommitted);
  }

  #endPiece(): void {
    const piece = this.#pieces.shift();
    this.queuedBytes -= piece?.sizeBytes ?? 0;
    this.#walker = null;
  }
}
