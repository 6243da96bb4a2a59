/**
 * The records of the frame in hand and the place of the next one. A frame may be left half read
 * when the network or a sink has no room; nothing else is taken from the gate until it is read.
 */
import type { RecordBatch } from '../../base/records.ts';
import type { OperatorChain } from '../chain/operator-chain.ts';

export class RecordCursor {
  #batch: RecordBatch | null = null;
  #next = 0;
  #inputIndex: 0 | 1 = 0;

  /** No frame is half read. */
  get isEmpty(): boolean {
    return this.#batch === null;
  }

  take(batch: RecordBatch, inputIndex: number): void {
    this.#batch = batch;
    this.#next = 0;
    this.#inputIndex = inputIndex === 1 ? 1 : 0;
  }

  /** Hands over records until the frame, `limit` or the room ends; how many were handed over. */
  process(chain: OperatorChain, limit: number): number {
    const batch = this.#batch;
    if (batch === null) return 0;
    const { values, timestamps } = batch;
    const start = this.#next;
    const end = Math.min(values.length, start + limit);
    // The place moves first: no record is handed over twice, even when a function throws.
    this.#next = end;
    this.#next = chain.runOf(this.#inputIndex)(values, timestamps, start, end);
    if (this.#next >= values.length) this.#batch = null;
    return this.#next - start;
  }
}
