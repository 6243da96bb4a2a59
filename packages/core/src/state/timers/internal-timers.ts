/** Timers of one keyed operator: event time and processing time, at most one per key and time. */
import type { KeyValue, TimerService } from '../../api/functions.ts';
import type { Clock } from '../../base/clock.ts';
import { unreachable } from '../../base/assert.ts';
import type { KeyedSnapshotCursor, SectionOutput } from '../keyed-state-backend.ts';

export type TimeDomain = 'event' | 'processing';

/** Runs one timer; `false` asks to stop after it and to be called again later. */
export type FireTimer = (key: KeyValue, timestamp: number) => boolean | void;

export interface InternalTimersOptions {
  readonly maxParallelism: number;
  readonly keyGroups: readonly [number, number];
}

export class InternalTimers {
  constructor(_options: InternalTimersOptions) {}

  get currentWatermark(): number {
    return -Infinity;
  }

  /** Timers pending, of both kinds. */
  get size(): number {
    return 0;
  }

  register(_domain: TimeDomain, _key: KeyValue, _timestamp: number): void {}

  delete(_domain: TimeDomain, _key: KeyValue, _timestamp: number): void {}

  /**
   * Raises event time and fires what is due, in order of time. `false` when `fire` asked to stop:
   * call again with the same watermark, and forward the watermark only after `true`.
   */
  advanceWatermark(_watermark: number, _fire: FireTimer): boolean {
    return true;
  }

  /** Fires processing-time timers due at `now` (wall-clock milliseconds); as `advanceWatermark`. */
  advanceProcessingTime(_now: number, _fire: FireTimer): boolean {
    return true;
  }

  /** When the earliest processing-time timer is due, or `null`. */
  nextProcessingTime(): number | null {
    return null;
  }

  /** The service that user functions see; it works on the current key of `keys`. */
  serviceFor(_keys: { readonly currentKey: KeyValue }, _clock: Clock): TimerService {
    return unreachable(_clock as never);
  }

  startSnapshot(_output: SectionOutput): KeyedSnapshotCursor {
    return unreachable(_output as never);
  }
}
