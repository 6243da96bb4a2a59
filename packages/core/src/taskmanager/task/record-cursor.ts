/**
 * The records of the frame in hand and the place of the next one. A frame may be left half read when
 * the network or a sink has no room; nothing else is taken from the gate until it is read.
 */
import type { RecordBatch } from '../../base/records.ts';
import type { StreamOperator } from '../operators/stream-operator.ts';

export class RecordCursor {
  #batch: RecordBatch | null = null;
  #next = 0;
  #isSecondInput = false;

  /** No frame is half read. */
  get isEmpty(): boolean {
    return this.#batch === null;
  }

  take(batch: RecordBatch, inputIndex: number): void {
    this.#batch = batch;
    this.#next = 0;
    this.#isSecondInput = inputIndex === 1;
  }

  /** Hands over records until the frame, `limit` or the room ends; how many were handed over. */
  process(head: StreamOperator, limit: number, hasRoom: () => boolean): number {
    const batch = this.#batch;
    if (batch === null) return 0;
    const { values, timestamps } = batch;
    const start = this.#next;
    const end = Math.min(values.length, start + limit);
    let index = start;
    while (index < end) {
      const value = values[index];
      const timestamp = timestamps === null ? Number.NaN : (timestamps[index] as number);
      // The place moves first: a record is handed over once, even when its function throws.
      index++;
      this.#next = index;
      if (this.#isSecondInput) head.processElement2(value, timestamp);
      else head.processElement(value, timestamp);
      if (!hasRoom()) break;
    }
    if (this.#next >= values.length) this.#batch = null;
    return index - start;
  }
}
