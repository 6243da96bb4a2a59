/**
 * Bucket assigners of the file sink: which sub-folder a record goes to. They run for every record,
 * so they are cheap and keep no state that matters.
 */
import { ConfigurationError, UserFunctionError } from '../../base/errors.ts';

/** What a bucket assigner learns beside the record. */
export interface BucketContext {
  /** Event time of the record in milliseconds, NaN when it has none. */
  readonly timestamp: number;
  readonly watermark: number;
  /** Milliseconds since the Unix epoch. */
  readonly wallTime: number;
}

/**
 * Names the sub-folder for a record, such as `2024-05-01` or `region=eu/day=3`; `''` is the sink's
 * folder itself. Called for every record.
 */
export type BucketAssigner<T> = (value: T, context: BucketContext) => string;

/** All records into the sink's folder itself. */
export function basePath(): BucketAssigner<unknown> {
  return () => '';
}

export interface DateTimeBucketOptions {
  /** IANA name such as `Europe/Berlin`. Default `UTC`. */
  readonly timeZone?: string;
  /** Which time decides. Default `processing`, the wall clock when the record is written. */
  readonly time?: 'processing' | 'event';
}

const UNITS = /yyyy|MM|dd|HH|mm|ss/g;

/**
 * A sub-folder per period, named by a pattern of `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss`; anything
 * else stands for itself. Default: an hour each, such as `2024-05-01--13`.
 * @throws ConfigurationError for an unknown time zone or a pattern without any unit.
 */
export function dateTimeBuckets(
  pattern = 'yyyy-MM-dd--HH',
  options: DateTimeBucketOptions = {},
): BucketAssigner<unknown> {
  if (pattern.match(UNITS) === null)
    throw new ConfigurationError(
      `dateTimeBuckets: the pattern ${JSON.stringify(pattern)} has none of ` +
        'yyyy, MM, dd, HH, mm, ss',
    );
  const format = formatOf(options.timeZone ?? 'UTC');
  // Names change with the second at most; within one, the last name is still right.
  let second = Number.NaN;
  let name = '';
  return (_value, context) => {
    const time = options.time === 'event' ? eventTime(context) : context.wallTime;
    if (Math.floor(time / 1000) !== second) {
      second = Math.floor(time / 1000);
      name = nameOf(pattern, format, time);
    }
    return name;
  };
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
  } catch (error) {
    throw new ConfigurationError(
      `dateTimeBuckets: ${JSON.stringify(timeZone)} is no time zone, give an IANA name such as ` +
        'UTC or Europe/Berlin',
      { cause: error },
    );
  }
}

function nameOf(pattern: string, format: Intl.DateTimeFormat, time: number): string {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of format.formatToParts(time)) parts[type] = value;
  const units: Readonly<Record<string, string | undefined>> = {
    yyyy: parts.year?.padStart(4, '0'),
    MM: parts.month,
    dd: parts.day,
    HH: parts.hour,
    mm: parts.minute,
    ss: parts.second,
  };
  return pattern.replaceAll(UNITS, (unit) => units[unit] ?? unit);
}

function eventTime(context: BucketContext): number {
  if (Number.isFinite(context.timestamp)) return context.timestamp;
  throw new UserFunctionError(
    'dateTimeBuckets: a record has no event time; assign timestamps before the sink, or use ' +
      "time: 'processing'",
  );
}
