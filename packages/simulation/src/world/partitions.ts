/**
 * Threads that cannot be reached, or cannot reach others, for a while: one way of the two at a
 * time, so that the others go on hearing from a thread that no longer hears them. What is sent
 * meanwhile arrives afterwards, in order.
 */
export type Direction = 'to' | 'from';

export class Partitions {
  readonly #until = new Map<string, number>();

  cut(slot: number, direction: Direction, until: number): void {
    const way = `${direction} ${slot}`;
    this.#until.set(way, Math.max(this.#until.get(way) ?? 0, until));
  }

  /** World time before which nothing comes through; `null`: the JobManager. */
  heldUntil(from: number | null, to: number | null): number {
    const out = from === null ? 0 : (this.#until.get(`from ${from}`) ?? 0);
    const into = to === null ? 0 : (this.#until.get(`to ${to}`) ?? 0);
    return Math.max(out, into);
  }
}
