/**
 * Counts checkpoint failures in a row. More than are tolerated fail the job (a global failover, not
 * the end), and the count begins anew. One checkpoint counts once, however many tasks report it; a
 * success sets the count back and makes what is said of older checkpoints irrelevant.
 */
import { isCountedFailure } from './failure-reasons.ts';
import type { CheckpointFailureReason } from './failure-reasons.ts';

export class CheckpointFailureCounter {
  readonly #tolerable: number;
  readonly #countedIds = new Set<number>();
  #count = 0;
  #lastSuccess = 0;

  constructor(tolerable: number) {
    this.#tolerable = tolerable;
  }

  /** Failures in a row so far. */
  get count(): number {
    return this.#count;
  }

  succeeded(checkpointId: number): void {
    this.#lastSuccess = Math.max(this.#lastSuccess, checkpointId);
    this.#reset();
  }

  /** True: the job must fail. `checkpointId` is `null` when a trigger failed before it had one. */
  failed(reason: CheckpointFailureReason, checkpointId: number | null): boolean {
    if (!isCountedFailure(reason)) return false;
    if (checkpointId !== null) {
      if (checkpointId <= this.#lastSuccess || this.#countedIds.has(checkpointId)) return false;
      this.#countedIds.add(checkpointId);
    }
    this.#count++;
    if (this.#count <= this.#tolerable) return false;
    this.#reset();
    return true;
  }

  #reset(): void {
    this.#count = 0;
    this.#countedIds.clear();
  }
}
