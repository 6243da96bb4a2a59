/**
 * Watermark strategies: how event time is read from records, and how long a record may be overtaken
 * by younger ones before it counts as late.
 */
import { parseDuration } from '../base/duration.ts';
import type { Duration } from '../base/duration.ts';
import type { WatermarkStrategy } from './functions.ts';

/** Event time of a record in milliseconds since the epoch. */
export type TimestampOf<T> = (value: T, sourceTimestamp: number) => number;

export interface WatermarkOptions {
  /** A split (or input) without records for so long does not hold back the others. */
  readonly idleness?: Duration;
}

/**
 * Records may be up to `outOfOrderness` older than the newest seen. Without `timestampOf` the
 * timestamps of the source are used.
 */
export function boundedOutOfOrderness<T>(
  outOfOrderness: Duration,
  timestampOf?: TimestampOf<T>,
  options?: WatermarkOptions,
): WatermarkStrategy<T> {
  return {
    kind: 'boundedOutOfOrderness',
    outOfOrdernessMs: parseDuration(outOfOrderness),
    ...timestampsAndIdleness(timestampOf, options),
  };
}

/** Timestamps never fall within a split. */
export function monotonousTimestamps<T>(
  timestampOf?: TimestampOf<T>,
  options?: WatermarkOptions,
): WatermarkStrategy<T> {
  return {
    kind: 'monotonous',
    outOfOrdernessMs: 0,
    ...timestampsAndIdleness(timestampOf, options),
  };
}

/** No event time: the only watermark is the one at the end of the input. */
export function noWatermarks(): WatermarkStrategy<unknown> {
  return { kind: 'none', outOfOrdernessMs: 0, idlenessMs: null };
}

/** The same strategy; a split without records for `idleness` does not hold back the others. */
export function withIdleness<T>(
  strategy: WatermarkStrategy<T>,
  idleness: Duration,
): WatermarkStrategy<T> {
  return { ...strategy, idlenessMs: parseDuration(idleness) };
}

function timestampsAndIdleness<T>(
  timestampOf: TimestampOf<T> | undefined,
  options: WatermarkOptions | undefined,
): Pick<WatermarkStrategy<T>, 'timestampOf' | 'idlenessMs'> {
  const idleness = options?.idleness;
  return {
    ...(timestampOf === undefined ? {} : { timestampOf }),
    idlenessMs: idleness === undefined ? null : parseDuration(idleness),
  };
}
