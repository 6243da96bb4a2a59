/**
 * Shows a run while it goes on, in one of four ways: a live block (terminal), plain lines (pipe),
 * JSON lines (`--json`), or only what needs attention (`--quiet`). Called by `weir run` with each
 * event; the pure parts beside this file decide what is shown.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { ErrorInfo } from '../../base/errors.ts';
import type { RunEvent, RunOutcome } from '../run-contract.ts';
import type { Terminal } from '../terminal.ts';
import type { Style } from '../text/style.ts';
import { endLines } from './end-lines.ts';
import { errorLines } from './error-lines.ts';
import type { ErrorContext } from './error-lines.ts';
import { liveBlock } from './live-block.ts';
import { linesOf, PeriodicLines } from './plain-lines.ts';
import type { ReportLine } from './plain-lines.ts';
import { RunProgress } from './run-progress.ts';

export type ReportMode = 'live' | 'plain' | 'json' | 'quiet';

export interface ReportOptions {
  readonly mode: ReportMode;
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** For standard output; that of errors stands in `errors`. */
  readonly style: Style;
  readonly errors: ErrorContext;
  readonly resumeCommand: string;
}

/** One line of `--json`. */
type JsonFacts =
  | RunEvent
  | ({ readonly type: 'ended'; readonly exitCode: number } & RunOutcome)
  | { readonly type: 'ended'; readonly exitCode: number; readonly error: ErrorInfo };

/** Often enough that ages tick, rarely enough to cost nothing. */
const REDRAW_EVERY_MS = 500;

export class RunReport {
  readonly #options: ReportOptions;
  readonly #progress: RunProgress;
  readonly #periodic: PeriodicLines;
  #redraw: Timer | null = null;

  constructor(options: ReportOptions) {
    this.#options = options;
    this.#progress = new RunProgress(options.clock.now());
    this.#periodic = new PeriodicLines(options.clock.now());
    if (options.mode === 'live') this.#redrawLater();
  }

  event(event: RunEvent): void {
    const now = this.#options.clock.now();
    const { mode, errors, terminal } = this.#options;
    this.#progress.apply(event, now);
    if (mode === 'json') {
      this.#printJson(event);
      return;
    }
    if (event.type === 'printed') terminal.print(event.line);
    // Nobody shall miss from which state a run starts.
    if (mode === 'quiet' && event.type === 'started') terminal.warn(event.start);
    for (const line of linesOf(event, this.#progress, errors.verbose)) this.#show(line);
    if (mode === 'plain')
      for (const line of this.#periodic.lines(event, this.#progress, now)) this.#show(line);
    if (mode === 'live' && isDrawn(event)) this.#draw();
  }

  /** A remark of the command itself. */
  note(text: string): void {
    this.#options.terminal.warn(text);
  }

  /** The run is over; nothing may be reported after it. */
  end(outcome: RunOutcome, exitCode: number): void {
    this.close();
    const { mode, terminal, errors, style, resumeCommand } = this.#options;
    if (mode === 'json') this.#printJson({ type: 'ended', exitCode, ...outcome });
    if (outcome.status === 'FAILED' && outcome.error !== null) this.#showError(outcome.error);
    if (mode === 'json') return;
    if (mode === 'quiet' && outcome.status === 'ALREADY_FINISHED')
      terminal.warn('already finished; use --fresh to run it again');
    const isForErrors = mode === 'quiet' || outcome.status === 'FAILED';
    const lines = endLines(outcome, resumeCommand, isForErrors ? errors.style : style);
    for (const line of lines) {
      if (isForErrors) terminal.warn(line);
      else terminal.print(line);
    }
  }

  /** The run could not be started, or this program has a fault. */
  failed(error: ErrorInfo, exitCode: number): void {
    this.close();
    if (this.#options.mode === 'json') this.#printJson({ type: 'ended', exitCode, error });
    this.#showError(error);
  }

  /** Stops drawing. Idempotent. */
  close(): void {
    this.#redraw?.cancel();
    this.#redraw = null;
    this.#options.terminal.clear();
  }

  #show({ text, level }: ReportLine): void {
    const { mode, terminal, errors } = this.#options;
    if (level === 'error') terminal.warn(`${errors.style.bad('Error:')} ${text}`);
    else if (level === 'warning') terminal.warn(`${errors.style.warning('Warning:')} ${text}`);
    else if (mode !== 'quiet') terminal.print(text);
  }

  #printJson(facts: JsonFacts): void {
    const { type, ...rest } = facts;
    const time = new Date(this.#options.clock.wallTime()).toISOString();
    this.#options.terminal.print(JSON.stringify({ type, time, ...rest }));
  }

  #showError(error: ErrorInfo): void {
    for (const line of errorLines(error, this.#options.errors)) this.#options.terminal.warn(line);
  }

  #redrawLater(): void {
    this.#redraw = this.#options.clock.schedule(REDRAW_EVERY_MS, 'redraw progress', () => {
      this.#draw();
      this.#redrawLater();
    });
  }

  #draw(): void {
    const { terminal, clock, style } = this.#options;
    if (this.#progress.jobName === '') return;
    const { columns, rows } = terminal.out;
    terminal.show(liveBlock(this.#progress, { columns, rows, now: clock.now(), style }));
  }
}

/** Whether the block may look otherwise after this event. */
function isDrawn({ type }: RunEvent): boolean {
  return type !== 'log' && type !== 'printed';
}
