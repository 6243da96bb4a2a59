/**
 * Lines by the million for standard output: written many at a time, and no faster than they are
 * read, since what a pipe does not take at once would pile up in memory.
 */
import type { Terminal } from './terminal.ts';

const CHARACTERS = 64 * 1024;

export class ManyLines {
  readonly #terminal: Terminal;
  #text = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** `true`: now `flush` is to be awaited. */
  add(line: string): boolean {
    this.#text += `${line}\n`;
    return this.#text.length > CHARACTERS;
  }

  /** Resolves when there is room for more. */
  async flush(): Promise<void> {
    if (this.#text !== '') this.#terminal.print(this.#text.slice(0, -1));
    this.#text = '';
    await this.#terminal.out.drained?.();
  }
}
