/**
 * Steps against a system that may be away. Each is tried again, with growing delays, for as long as
 * the user allows, and the log says so: a job that waits looks like one that hangs. Only steps that
 * may be carried out twice belong here. For the connectors of Weir, and for those of others.
 *
 * When the task ends nothing is waited for any more: a step that would be tried again fails with
 * what it failed with last, at once. One that is on its way is given two seconds, then `cut` says
 * to break it off. What it did is for the next attempt to find out, as after a crash.
 */
import type { ConnectorEnvironment } from '../api/source.ts';
import type { Timer } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import {
  CancelledError,
  errorKind,
  isWeirError,
  messageOf,
  StorageUnavailableError,
} from '../base/errors.ts';

export interface RetriesOptions {
  /** Whose steps these are, for log and errors: `postgresSink orders`. */
  readonly name: string;
  /** How long a step is tried; the user's option of this name. 0: once. */
  readonly retryForMs: number;
  /** Of the error when that is over. Default `SINK_UNAVAILABLE`. */
  readonly code?: 'SINK_UNAVAILABLE' | 'SOURCE_UNAVAILABLE';
  /** Each delay is twice the one before. Default 50 ms. */
  readonly firstDelayMs?: number;
  /** Default 2 s. */
  readonly maxDelayMs?: number;
}

/** A step that has failed for so long is told of; beyond, each minute. */
const WARNED_AFTER_MS = [5000, 30_000];
const MINUTE_MS = 60_000;
const GRACE_MS = 2000;
/** A system that asks to be left alone for longer is tried again all the same. */
const ASKED_MAX_MS = 600_000;
/** Errors after which nobody further out tries again: all the time has been used. */
const GIVEN_UP = new WeakSet<Error>();

export class Retries {
  /** Aborted when what is still on its way has to be broken off, since the task ends. */
  readonly cut: AbortSignal;
  readonly #environment: Pick<ConnectorEnvironment, 'clock' | 'logger' | 'signal'>;
  readonly #options: RetriesOptions;
  readonly #cutting = new AbortController();
  /** Ends the waits between two tries. */
  readonly #waits = new Set<() => void>();
  #grace: Timer | null = null;
  #hasEnded = false;

  /** `environment`: what a sink gets as the context of its writer or committer. */
  constructor(
    environment: Pick<ConnectorEnvironment, 'clock' | 'logger' | 'signal'>,
    options: RetriesOptions,
  ) {
    this.#environment = environment;
    this.#options = options;
    this.cut = this.#cutting.signal;
    const { signal } = environment;
    if (signal?.aborted === true) this.#taskEnds();
    else signal?.addEventListener('abort', this.#taskEnds, { once: true });
  }

  /**
   * Carries a step out, again while it fails with an error of kind `transient`. `delayOf`: how long
   * the system asks to be left alone after such an error, in milliseconds; it is, up to ten
   * minutes, also where that is longer than the step is tried.
   * @throws StorageUnavailableError when it has been tried for long enough, here or by other
   * `Retries` within the step.
   */
  async run<R>(step: () => Promise<R>, delayOf?: (error: unknown) => number): Promise<R> {
    const { clock } = this.#environment;
    const { name, retryForMs, firstDelayMs = 50, maxDelayMs = 2000 } = this.#options;
    const startedAt = clock.now();
    let warnedMs = 0;
    for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, maxDelayMs)) {
      if (this.cut.aborted) throw new CancelledError(`${name} is ended by its task`);
      try {
        const result = await step();
        if (warnedMs > 0) this.#tellSuccess(clock.now() - startedAt);
        return result;
      } catch (error) {
        if (errorKind(error) !== 'transient' || this.#hasEnded || GIVEN_UP.has(error as Error))
          throw error;
        const triedMs = clock.now() - startedAt;
        if (triedMs + delayMs > retryForMs) throw this.#givenUp(error, triedMs);
        if (triedMs >= nextWarning(warnedMs)) {
          this.#warn(error, triedMs);
          warnedMs = triedMs;
        }
        const askedMs = Math.min(delayOf?.(error) ?? 0, ASKED_MAX_MS);
        await this.#wait(Math.max(delayMs, askedMs));
        if (this.#hasEnded) throw error;
      }
    }
  }

  /** Nothing is tried again from here on. What is on its way is not broken off. */
  close(): void {
    this.#environment.signal?.removeEventListener('abort', this.#taskEnds);
    this.#grace?.cancel();
    this.#end();
  }

  readonly #taskEnds = (): void => {
    const { clock } = this.#environment;
    this.#grace = clock.schedule(GRACE_MS, 'retries-cut', () => this.#cutting.abort());
    this.#end();
  };

  #end(): void {
    this.#hasEnded = true;
    for (const endWait of this.#waits) endWait();
  }

  async #wait(ms: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    const timer = this.#environment.clock.schedule(ms, 'retries-wait', over.resolve);
    this.#waits.add(over.resolve);
    await over.promise;
    timer.cancel();
    this.#waits.delete(over.resolve);
  }

  #warn(error: unknown, triedMs: number): void {
    const { name, retryForMs } = this.#options;
    this.#environment.logger.log(
      'warn',
      `${name} has not got through for ${shown(triedMs)}: ${messageOf(error)}; trying again, ` +
        `until retryForMs of ${shown(retryForMs)} is over`,
    );
  }

  #tellSuccess(triedMs: number): void {
    const text = `${this.#options.name} gets through again, after ${shown(triedMs)}`;
    this.#environment.logger.log('info', text);
  }

  #givenUp(error: unknown, triedMs: number): unknown {
    const { name, retryForMs, code = 'SINK_UNAVAILABLE' } = this.#options;
    if (retryForMs === 0) return error;
    const givenUp = new StorageUnavailableError(
      `${name} has not got through for ${shown(triedMs)}: ${messageOf(error)}; a larger ` +
        'retryForMs waits longer',
      { code, cause: error, details: isWeirError(error) ? error.details : {} },
    );
    GIVEN_UP.add(givenUp);
    return givenUp;
  }
}

/** When a step that was last told of after so long is told of again. */
function nextWarning(warnedMs: number): number {
  const later = WARNED_AFTER_MS.find((ms) => ms > warnedMs);
  return later ?? (Math.floor(warnedMs / MINUTE_MS) + 1) * MINUTE_MS;
}

/** Whole seconds, if it took that long. */
function shown(ms: number): string {
  return formatDuration(ms < 1000 ? Math.round(ms) : Math.round(ms / 1000) * 1000);
}
