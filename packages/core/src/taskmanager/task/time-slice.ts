/**
 * How much a step of a task may do: what takes a few milliseconds, so that slow functions delay
 * neither barriers nor the other tasks of their thread, and a thread that works is not taken for
 * one that stands still. Records are counted out beforehand, by what the last steps took: to ask
 * the clock for each would cost more than many of them. It begins with few, since nothing is known
 * of a function yet. Timers ask the clock.
 */
import { BATCH_SIZE } from '../../base/records.ts';

const FIRST_RECORDS = 16;
const SLICE_MS = 5;
/**
 * A step that took longer had too many records; well above the slice, since on a busy machine a
 * thread may have had to wait itself …
 */
const LONG_MS = 4 * SLICE_MS;
/** … and one that was shorter may have more. */
const SHORT_MS = SLICE_MS / 2;

export class TimeSlice {
  #records = FIRST_RECORDS;
  #startedAt = Number.NEGATIVE_INFINITY;
  #wasCut = false;

  /** Records that a step may hand over. */
  get records(): number {
    return this.#records;
  }

  get startedAt(): number {
    return this.#startedAt;
  }

  /** The step stopped for the sake of time alone: it can go on at once. */
  get wasCut(): boolean {
    return this.#wasCut;
  }

  begin(now: number): void {
    this.#startedAt = now;
    this.#wasCut = false;
  }

  /** Whether the step must stop now. */
  isOver(now: number): boolean {
    if (now - this.#startedAt < SLICE_MS) return false;
    this.#wasCut = true;
    return true;
  }

  /** The step has handed over so many records; the milliseconds it took. */
  end(records: number, now: number): number {
    const ms = now - this.#startedAt;
    if (ms > LONG_MS) this.#records = Math.max(1, Math.floor((records * SLICE_MS) / ms));
    else if (ms < SHORT_MS && records >= this.#records)
      this.#records = Math.min(BATCH_SIZE, this.#records * 2);
    return ms;
  }
}
