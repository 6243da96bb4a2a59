/**
 * Which transactional batches of a fetched piece must not be delivered, as Kafka's own consumer
 * decides it. The broker names the aborted transactions that overlap the piece, each by producer id
 * and first offset. Before a batch is looked at, transactions that began at or before its last
 * offset count as open; an abort marker closes that of its producer. A marker without an open
 * transaction is ignored.
 */
import type { AbortedTransaction } from '../wire/fetch.ts';

export class AbortFilter {
  readonly #pending: readonly AbortedTransaction[];
  readonly #open = new Set<bigint>();
  #next = 0;

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#pending = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset);
  }

  /** To be called for each batch, in order, before the other two. */
  advance(lastOffset: number): void {
    for (;;) {
      const first = this.#pending[this.#next];
      if (first === undefined || first.firstOffset > lastOffset) return;
      this.#open.add(first.producerId);
      this.#next++;
    }
  }

  isAborted(producerId: bigint): boolean {
    return this.#open.size > 0 && this.#open.has(producerId);
  }

  onAbortMarker(producerId: bigint): void {
    this.#open.delete(producerId);
  }
}
