/**
 * What happened, twice: in words, for people, when asked for; and a digest, which two runs of one
 * seed must share. Words cost more than the events that they speak of, so nothing is kept or even
 * worded otherwise: a schedule that fails is run once more to tell.
 */
type TraceLine = readonly [at: number, who: string, what: string];

/** What an event is about; worded only when somebody reads it. */
export type Label = string | (() => string);

export function wordsOf(label: Label): string {
  return typeof label === 'string' ? label : label();
}

export class Trace {
  readonly #lines: TraceLine[] = [];
  readonly #isKept: boolean;
  #digest = 0x811c9dc5;

  constructor(isKept: boolean) {
    this.#isKept = isKept;
  }

  get digest(): number {
    return this.#digest >>> 0;
  }

  /** The number says which event it is: they are counted as they are scheduled. */
  event(at: number, number: number, who: string, label: Label): void {
    this.#mix(Math.floor(at * 1000));
    this.#mix(number);
    if (this.#isKept) this.#lines.push([at, who, wordsOf(label)]);
  }

  remark(at: number, who: string, what: string): void {
    this.#mix(Math.floor(at * 1000));
    for (let i = 0; i < what.length; i++) this.#mix(what.charCodeAt(i));
    if (this.#isKept) this.#lines.push([at, who, what]);
  }

  /** Everything, in order; nothing unless it is kept. */
  lines(): readonly string[] {
    return this.#lines.map(
      ([at, who, what]) => `${at.toFixed(3).padStart(10)} ${who.padEnd(12)} ${what}`,
    );
  }

  #mix(value: number): void {
    this.#digest = Math.imul(this.#digest ^ value, 0x01000193);
  }
}
