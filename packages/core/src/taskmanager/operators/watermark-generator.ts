/**
 * Makes watermarks from the timestamps of records, for one stream of records (a split, or the input
 * of `assignTimestampsAndWatermarks`), and combines those of several splits.
 *
 * Rules (Flink): the watermark is the highest timestamp − out-of-orderness − 1; it never goes back.
 * Idleness begins at the first probe that finds no new record, and is declared when the time-out
 * has passed since; time in which the operator could not run (back-pressure) does not count.
 */
import type { WatermarkStrategy } from '../../api/functions.ts';
import { MIN_WATERMARK } from '../../base/records.ts';

/** Event time of one stream of records. */
export class WatermarkTracker {
  readonly #delayMs: number;
  readonly #idlenessMs: number | null;
  #highest: number = MIN_WATERMARK;
  #events = 0;
  #probedEvents = 0;
  #inactiveSince: number | null = null;

  constructor(strategy: WatermarkStrategy<unknown>) {
    this.#delayMs = strategy.outOfOrdernessMs + 1;
    this.#idlenessMs = strategy.idlenessMs;
  }

  onEvent(timestamp: number): void {
    if (timestamp > this.#highest) this.#highest = timestamp;
    this.#events++;
  }

  get watermark(): number {
    return this.#highest - this.#delayMs;
  }

  /** Whether no record came for longer than the time-out; call it periodically. */
  probeIdle(now: number): boolean {
    if (this.#idlenessMs === null) return false;
    if (this.#events !== this.#probedEvents) {
      this.#probedEvents = this.#events;
      this.#inactiveSince = null;
      return false;
    }
    this.#inactiveSince ??= now;
    return now - this.#inactiveSince > this.#idlenessMs;
  }

  /** Time passed in which no record could come: it is no sign of idleness. */
  pausedFor(ms: number): void {
    if (this.#inactiveSince !== null) this.#inactiveSince += ms;
  }
}

/** How often idleness is looked for where watermarks need no timer. */
const IDLE_PROBE_MS = 200;

/** Time between two probes that no record asks for; null: none are needed. */
export function probeIntervalMs(
  strategy: WatermarkStrategy<unknown>,
  autoWatermarkIntervalMs: number,
): number | null {
  if (strategy.kind === 'none') return null;
  if (autoWatermarkIntervalMs > 0) return autoWatermarkIntervalMs;
  return strategy.idlenessMs === null ? null : IDLE_PROBE_MS;
}

/** What the trackers amount to at a probe. */
export interface CombinedTime {
  readonly watermark: number;
  readonly idle: boolean;
}

/** Minimum over the active trackers; all idle: the maximum they reached. */
export function combineTrackers(trackers: Iterable<WatermarkTracker>, now: number): CombinedTime {
  let minimum = Infinity;
  let maximum = MIN_WATERMARK;
  let active = 0;
  let total = 0;
  for (const tracker of trackers) {
    total++;
    maximum = Math.max(maximum, tracker.watermark);
    if (tracker.probeIdle(now)) continue;
    active++;
    minimum = Math.min(minimum, tracker.watermark);
  }
  if (active > 0) return { watermark: minimum, idle: false };
  return { watermark: maximum, idle: total > 0 };
}
