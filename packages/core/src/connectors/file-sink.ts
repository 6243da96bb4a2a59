import type { Sink } from '../api/sink.ts';
import type { Format } from './formats/format.ts';
import type { BucketAssigner } from './parts/buckets.ts';
import type { FileCommittable, FileWriterState } from './parts/part-names.ts';

/** When a part file is closed and a new one begun. */
export interface RollingPolicy {
  /** Default 128 MiB. */
  readonly maxSizeBytes?: number;
  /** Age at which a file is closed. Default 60 s; looked at every 60 s. */
  readonly maxAgeMs?: number;
  /** Time without a record after which a file is closed. Default 60 s; looked at every 60 s. */
  readonly maxIdleMs?: number;
  /** Close every file at every checkpoint, so that results appear at once. Default false. */
  readonly onCheckpoint?: boolean;
}

export interface FileSinkOptions<T> {
  /** Folder; may be a `file:` URI; created when missing. */
  readonly path: string;
  readonly format: Format<T>;
  readonly rolling?: RollingPolicy;
  /** Sub-folder of a record. Default `dateTimeBuckets()`, an hour of wall-clock time each. */
  readonly bucket?: BucketAssigner<T>;
  /** End of the names of finished files, such as `.ndjson`. Default: none. */
  readonly suffix?: string;
}

/**
 * Writes records into part files, exactly once. A finished file is named `part-…` and never
 * changes; files that begin with `.` are unfinished and must not be read. A file is finished when
 * the checkpoint after its closing completes.
 */
export function fileSink<T>(
  options: FileSinkOptions<T>,
): Sink<T, FileWriterState, FileCommittable> {
  throw new Error(`fileSink ${options.path}`);
}
