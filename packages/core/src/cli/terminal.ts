/**
 * The terminal of a run: lines that stay, and below them a block that is drawn anew in place.
 * Output of the job itself goes through here too, so that it never lands inside the block: that is
 * taken away, the output written, the block drawn again, all in one write, so that nothing
 * flickers; a flood of output has the block drawn only now and then. Where there is no terminal, a
 * block is nothing and lines are just written.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { displayWidth } from './text/width.ts';

/** An output of the process. */
export interface Screen {
  write(text: string): void;
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
  /** Resolves when what was written has been taken, or nearly all. Absent: it always has. */
  drained?(): Promise<void>;
}

/** The terminal draws between these two in one go, if it knows how. */
const BEGIN_UPDATE = '\u001b[?2026h';
const END_UPDATE = '\u001b[?2026l';
const CLEAR_BELOW = '\u001b[J';
const CLEAR_REST_OF_LINE = '\u001b[K';

/** A block is drawn no more often than this. */
const REDRAW_PAUSE_MS = 50;

export class Terminal {
  readonly out: Screen;
  readonly error: Screen;
  /** Where standard output of the job's own code goes. */
  jobOutput: Screen;
  readonly #clock: Clock;
  #block: readonly string[] = [];
  /** The lines of the block that stand on the screen, just above the cursor. */
  #drawn: readonly string[] = [];
  #drawnAt = Number.NEGATIVE_INFINITY;
  #redraw: Timer | null = null;
  /** Output of the job that is not yet a whole line: drawing below it would break it. */
  #unfinished = '';

  constructor(out: Screen, error: Screen, clock: Clock) {
    this.out = out;
    this.error = error;
    this.jobOutput = out;
    this.#clock = clock;
  }

  /** Whether a block can be shown. */
  get isLive(): boolean {
    return this.out.isTerminal && this.out.columns > 0;
  }

  /** Writes a line for scripts and people: standard output. */
  print(line: string): void {
    this.#writeAbove(`${line}\n`, this.out);
  }

  /** Writes a line for people: standard error. */
  warn(line: string): void {
    this.#writeAbove(`${line}\n`, this.error);
  }

  /** Output of the job's own code. While a block stands, an unfinished line waits for its end. */
  pass(text: string, screen: Screen): void {
    if (this.#block.length === 0) {
      screen.write(text);
      return;
    }
    const whole = this.#unfinished + text;
    const end = whole.lastIndexOf('\n') + 1;
    this.#unfinished = whole.slice(end);
    if (end > 0) this.#writeAbove(whole.slice(0, end), screen);
  }

  /** Shows these lines instead of those before. Lines must fit the width. */
  show(block: readonly string[]): void {
    if (!this.isLive) return;
    this.#block = block;
    this.#draw('');
  }

  /** Takes the block away. */
  clear(): void {
    this.#redraw?.cancel();
    this.#redraw = null;
    this.#block = [];
    if (this.#drawn.length > 0) this.#draw('');
    if (this.#unfinished !== '') this.out.write(`${this.#unfinished}\n`);
    this.#unfinished = '';
  }

  #writeAbove(text: string, screen: Screen): void {
    if (this.#block.length === 0) {
      screen.write(text);
      return;
    }
    const pauseLeft = this.#drawnAt + REDRAW_PAUSE_MS - this.#clock.now();
    if (screen === this.out && pauseLeft <= 0) {
      this.#draw(text);
      return;
    }
    if (this.#drawn.length > 0) this.out.write(`${this.#toTop()}${CLEAR_BELOW}`);
    this.#drawn = [];
    screen.write(text);
    this.#redraw ??= this.#clock.schedule(Math.max(0, pauseLeft), 'redraw block', () => {
      this.#draw('');
    });
  }

  /** Replaces what is drawn by the text and the block below it. */
  #draw(text: string): void {
    this.#redraw?.cancel();
    this.#redraw = null;
    const lines = this.#block.map((line) => `${line}${CLEAR_REST_OF_LINE}\n`).join('');
    // Text of any length must not mix with what it is written over; lines of the block may.
    const start = this.#toTop() + (text === '' ? '' : CLEAR_BELOW + text);
    this.out.write(`${BEGIN_UPDATE}${start}${lines}${CLEAR_BELOW}${END_UPDATE}`);
    this.#drawn = this.#block;
    this.#drawnAt = this.#clock.now();
  }

  /** To the first line of the block, also if the terminal became narrower since it was drawn. */
  #toTop(): string {
    const { columns } = this.out;
    let rows = 0;
    for (const line of this.#drawn) rows += Math.max(1, Math.ceil(displayWidth(line) / columns));
    return rows === 0 ? '' : `\u001b[${rows}A\r`;
  }
}
