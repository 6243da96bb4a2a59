/**
 * Tasks that have processed their last record and wait for a checkpoint to end with. Such a
 * checkpoint is wanted at once, whatever the interval. A task is served by any checkpoint that was
 * triggered after it reached its end; when one fails, the next try waits a little, and longer each
 * time, since some causes last (a peer still initialising, union state half finished).
 */
import type { SubtaskKey } from '../../base/ids.ts';

/** Short against any interval, long against the work of a try. */
const FIRST_RETRY_MS = 100;

export class EndingTasks {
  readonly #retryMaxMs: number;
  readonly #waiting = new Set<SubtaskKey>();
  #retryMs = FIRST_RETRY_MS;
  #retryAt = -Infinity;

  constructor(retryMaxMs: number) {
    this.#retryMaxMs = Math.max(FIRST_RETRY_MS, retryMaxMs);
  }

  /** Not before then may the next try start. */
  get retryAt(): number {
    return this.#retryAt;
  }

  get waiting(): ReadonlySet<SubtaskKey> {
    return new Set(this.#waiting);
  }

  add(key: SubtaskKey): void {
    this.#waiting.add(key);
    this.retryAtOnce();
  }

  /** The task is gone, or a checkpoint that it can end with is complete. */
  remove(keys: Iterable<SubtaskKey>): void {
    for (const key of keys) this.#waiting.delete(key);
  }

  /** Whether one of them waits that none of these checkpoints will serve. */
  isUnserved(underWay: readonly { readonly endsFor: ReadonlySet<SubtaskKey> }[]): boolean {
    for (const key of this.#waiting)
      if (!underWay.some((checkpoint) => checkpoint.endsFor.has(key))) return true;
    return false;
  }

  retryAtOnce(): void {
    this.#retryMs = FIRST_RETRY_MS;
    this.#retryAt = -Infinity;
  }

  retryLater(now: number): void {
    this.#retryAt = now + this.#retryMs;
    this.#retryMs = Math.min(this.#retryMs * 2, this.#retryMaxMs);
  }
}
