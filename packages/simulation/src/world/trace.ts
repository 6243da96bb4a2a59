/**
 * What happened, twice: the last lines in words, for people, and a digest of everything, which two
 * runs of one seed must share. Lines are made only when asked for, so the ring costs next to
 * nothing.
 */
export type TraceLine = readonly [at: number, who: string, what: string];

const KEPT_LINES = 4000;

export class Trace {
  readonly #lines: TraceLine[] = [];
  readonly #keepsAll: boolean;
  #next = 0;
  #digest = 0x811c9dc5;
  #count = 0;

  /** `keepsAll`: nothing is forgotten, for `--trace`. */
  constructor(keepsAll: boolean) {
    this.#keepsAll = keepsAll;
  }

  get digest(): number {
    return this.#digest >>> 0;
  }

  get count(): number {
    return this.#count;
  }

  add(at: number, who: string, what: string): void {
    this.#count++;
    let hash = Math.imul(this.#digest ^ Math.floor(at * 1000), 0x01000193);
    for (let i = 0; i < what.length; i++) hash = Math.imul(hash ^ what.charCodeAt(i), 0x01000193);
    for (let i = 0; i < who.length; i++) hash = Math.imul(hash ^ who.charCodeAt(i), 0x01000193);
    this.#digest = hash;
    if (this.#keepsAll) this.#lines.push([at, who, what]);
    else {
      this.#lines[this.#next] = [at, who, what];
      this.#next = (this.#next + 1) % KEPT_LINES;
    }
  }

  /** The last lines, oldest first. */
  last(count: number): readonly string[] {
    const ordered = this.#keepsAll
      ? this.#lines
      : [...this.#lines.slice(this.#next), ...this.#lines.slice(0, this.#next)];
    return ordered
      .slice(-Math.min(count, ordered.length))
      .map(([at, who, what]) => `${at.toFixed(3).padStart(10)} ${who.padEnd(12)} ${what}`);
  }
}
