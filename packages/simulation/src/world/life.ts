/**
 * Something that can die: a process, or a thread of one. Whatever is scheduled belongs to a life,
 * and is skipped once that life has ended; so a crash needs no clean-up, as in reality. A paused
 * life (a stopped process, a long garbage collection) runs late what was due meanwhile.
 */
export class Life {
  readonly name: string;
  readonly startedAt: number;
  readonly #parent: Life | null;
  #isAlive = true;
  #pausedUntil = 0;

  constructor(name: string, startedAt: number, parent: Life | null = null) {
    this.name = name;
    this.startedAt = startedAt;
    this.#parent = parent;
  }

  get isAlive(): boolean {
    return this.#isAlive && (this.#parent === null || this.#parent.isAlive);
  }

  /** World time before which nothing of it runs. */
  get pausedUntil(): number {
    return Math.max(this.#pausedUntil, this.#parent?.pausedUntil ?? 0);
  }

  end(): void {
    this.#isAlive = false;
  }

  pause(until: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, until);
  }
}
