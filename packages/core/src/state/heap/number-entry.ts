/**
 * An entry of a `NumberTable`, seen as one of the objects that hold everything else. There is one
 * for the whole table, moved from place to place: it is only good until the next key.
 */
import { EMPTY } from './entry.ts';
import type { NumberTable } from './number-table.ts';

export class NumberEntry {
  place = 0;
  readonly #table: NumberTable;

  constructor(table: NumberTable) {
    this.#table = table;
  }

  get key(): number {
    return this.#table.keyAt(this.place);
  }

  get keyGroup(): number {
    return this.#table.keyGroupAt(this.place);
  }

  get version(): number {
    return this.#table.versionAt(this.place);
  }

  set version(version: number) {
    this.#table.setVersionAt(this.place, version);
  }

  get timerMark(): object | null {
    return this.#table.markAt(this.place);
  }

  set timerMark(mark: object | null) {
    this.#table.setMarkAt(this.place, mark);
  }

  get(slot: number): unknown {
    const { place } = this;
    return this.#table.has(place, slot) ? this.#table.get(place, slot) : EMPTY;
  }

  /** A number, or `EMPTY`. */
  set(slot: number, content: unknown): void {
    if (content === EMPTY) this.#table.unset(this.place, slot);
    else this.#table.set(this.place, slot, content as number);
  }

  isEmpty(): boolean {
    return !this.#table.hasAny(this.place);
  }
}
