/**
 * A batch of records, the unit in which data moves. Timestamps stand in an array of their own; NaN
 * means that a record has none, `null` that none of the batch has. A batch that has been handed
 * over is immutable.
 */
export interface RecordBatch {
  readonly values: readonly unknown[];
  readonly timestamps: Float64Array | null;
}

/**
 * Records in a full batch: large enough that per-batch costs vanish, small enough to stay in
 * cache.
 */
export const BATCH_SIZE = 1000;

/** Watermark before any was seen; event time lies above it. */
export const MIN_WATERMARK: number = -Infinity;
/** Watermark after the last record: nothing more will come. */
export const MAX_WATERMARK: number = Infinity;
/** Timestamp of a record that has none. */
export const NO_TIMESTAMP: number = Number.NaN;
