/** What a bucket assigner learns beside the record. */
export interface BucketContext {
  /** Event time of the record in milliseconds, NaN when it has none. */
  readonly timestamp: number;
  readonly watermark: number;
  /** Milliseconds since the Unix epoch. */
  readonly wallTime: number;
}

/** Names the sub-folder for a record; `''` is the sink's folder itself. */
export type BucketAssigner<T> = (value: T, context: BucketContext) => string;

/** All records into the sink's folder itself. */
export function basePath(): BucketAssigner<unknown> {
  return () => '';
}

export interface DateTimeBucketOptions {
  /** IANA name. Default `UTC`. */
  readonly timeZone?: string;
  /** Which time decides. Default `processing`, the wall clock. */
  readonly time?: 'processing' | 'event';
}

/** A sub-folder per period, named by a pattern of `yyyy MM dd HH mm ss`. */
export function dateTimeBuckets(
  pattern = 'yyyy-MM-dd--HH',
  options: DateTimeBucketOptions = {},
): BucketAssigner<unknown> {
  throw new Error(`${pattern} ${options.timeZone}`);
}
