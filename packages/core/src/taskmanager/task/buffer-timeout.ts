/**
 * When partial batches leave: once the buffer time-out has passed since the last flush, so that a
 * slow stream is late by no more than that. The task asks after each of its steps.
 */
import type { ResultPartition } from '../../network/result-partition.ts';

export class BufferTimeout {
  readonly #timeoutMs: number;
  #lastFlushAt = 0;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  flushIfDue(partitions: readonly ResultPartition[], now: number): void {
    if (now - this.#lastFlushAt < this.#timeoutMs) return;
    this.#lastFlushAt = now;
    for (const partition of partitions) partition.flush();
  }

  /** Milliseconds until something has to leave; null: nothing waits for the time-out. */
  dueIn(partitions: readonly ResultPartition[], now: number): number | null {
    if (this.#timeoutMs <= 0 || !partitions.some((partition) => partition.isOpen)) return null;
    return this.#lastFlushAt + this.#timeoutMs - now;
  }
}
