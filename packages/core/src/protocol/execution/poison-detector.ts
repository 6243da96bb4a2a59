/**
 * Finds failures that no restart can cure: the same position, or else the same cause, failing again
 * and again ends the job, whatever the restart strategy says. Only faults of user code count, and
 * what names a position or a place; a network may well come back.
 *
 * Failures in between do not interrupt a row: two bad records in two subtasks take turns. A cause
 * without a position is forgotten after a while, since the same message weeks apart proves nothing.
 */
import type { ErrorInfo } from '../../base/errors.ts';

/** Often enough to rule out chance, seldom enough not to hold up a job for minutes. */
const REPEATED_FAILURES_MAX = 3;
/** Well above the restart delays of a job that keeps failing at once. */
const CAUSE_MEMORY_MS = 600_000;
/** Bounds the memory of a job that fails in ever new ways. */
const STREAKS_MAX = 100;

export interface Poison {
  /** Where the record stands that failed again and again; `null`: only the cause is known. */
  readonly position: string | null;
  readonly failures: number;
}

interface Streak {
  readonly failures: number;
  readonly round: number;
  readonly at: number;
}

export class PoisonDetector {
  readonly #limit: number;
  readonly #streaks = new Map<string, Streak>();

  /** `limit`: failures at one place, or for one cause, that end the job. */
  constructor(limit: number = REPEATED_FAILURES_MAX) {
    this.#limit = limit;
  }

  /**
   * Takes note of a failure; answers when it is one too many. `round` counts restarts: the same
   * failure of several subtasks in one round counts once.
   */
  failed(error: ErrorInfo, round: number, now: number): Poison | null {
    const position = positionOf(error);
    const cause = causeOf(error);
    if (position === null && cause === null) return null;
    const key = position === null ? `cause ${cause}` : `at ${position}`;
    const failures = this.#count(key, { round, now, memoryMs: memoryOf(position) });
    return failures < this.#limit ? null : { position, failures };
  }

  #count(
    key: string,
    { round, now, memoryMs }: { round: number; now: number; memoryMs: number },
  ): number {
    const before = this.#streaks.get(key);
    if (before?.round === round) return before.failures;
    const goesOn = before !== undefined && now - before.at <= memoryMs;
    const failures = goesOn ? before.failures + 1 : 1;
    // Deleted first, so that the map stays in the order of the last failure.
    this.#streaks.delete(key);
    this.#streaks.set(key, { failures, round, at: now });
    if (this.#streaks.size > STREAKS_MAX) {
      for (const oldest of this.#streaks.keys()) {
        this.#streaks.delete(oldest);
        break;
      }
    }
    return failures;
  }
}

function memoryOf(position: string | null): number {
  return position === null ? CAUSE_MEMORY_MS : Infinity;
}

/** What failed, if it is the fault of user code, or a place that the error names. */
function causeOf(error: ErrorInfo): string | null {
  const { storagePlace } = error.details;
  if (typeof storagePlace === 'string') return storagePlace;
  if (error.kind !== 'function') return null;
  // The innermost error of ours: what wraps it may hold numbers that change, such as ids.
  let innermost = error;
  for (let cause = error.causes[0]; cause !== undefined; cause = cause.causes[0])
    if (cause.code !== null) innermost = cause;
  return `${innermost.code} ${innermost.message}`;
}

/** The position in the input that an error, or one of its causes, names in its details. */
function positionOf(error: ErrorInfo): string | null {
  const { file, position } = error.details;
  if (typeof position === 'string') return position;
  // The same byte of another file is another record.
  if (typeof file === 'string' && typeof position === 'number')
    return `byte ${position} of ${file}`;
  if (position !== undefined && position !== null) return JSON.stringify(position);
  for (const cause of error.causes) {
    const found = positionOf(cause);
    if (found !== null) return found;
  }
  return null;
}
