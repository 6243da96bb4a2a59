/**
 * The file sink as jobs see it: its options, their defaults and what is refused. How it writes and
 * commits is in `parts/`.
 */
import type { SinkGuaranteeFacts } from '../api/guarantee-facts.ts';
import type { Sink } from '../api/sink.ts';
import { formatDuration } from '../base/duration.ts';
import { ConfigurationError } from '../base/errors.ts';
import { checkPositive } from './check-options.ts';
import type { Format } from './formats/format.ts';
import { dateTimeBuckets } from './parts/buckets.ts';
import type { BucketAssigner } from './parts/buckets.ts';
import { FileCommitter } from './parts/file-committer.ts';
import { FileSinkWriter } from './parts/file-writer.ts';
import type { FileCommittable, FileWriterState } from './parts/part-names.ts';
import { resolveUserPath } from './user-path.ts';

/** When a part file is closed and a new one begun. `Infinity` switches a limit off. */
export interface RollingPolicy {
  /** Default 128 MiB. */
  readonly maxSizeBytes?: number;
  /** Age at which a file is closed, looked at every minute or more often. Default 60 s. */
  readonly maxAgeMs?: number;
  /** Time without a record after which a file is closed, looked at likewise. Default 60 s. */
  readonly maxIdleMs?: number;
  /** Close every file at every checkpoint, so that results appear with it. Default false. */
  readonly onCheckpoint?: boolean;
}

export interface FileSinkOptions<T> {
  /** Folder, created when missing; may be a `file:` URI. */
  readonly path: string;
  readonly format: Format<T>;
  readonly rolling?: RollingPolicy;
  /** Sub-folder of a record. Default `dateTimeBuckets()`, an hour of wall-clock time each. */
  readonly bucket?: BucketAssigner<T>;
  /** End of the names of finished files, such as `.ndjson`. Default: none. */
  readonly suffix?: string;
}

const MAX_SIZE_BYTES = 128 * 1024 ** 2;
const MAX_AGE_MS = 60_000;
const MAX_IDLE_MS = 60_000;

/**
 * Writes records into part files, exactly once. A finished file is named `part-…` and never
 * changes; files that begin with `.` are unfinished and must not be read. A file is finished when
 * the first checkpoint after its closing completes, or when the job is restored from one at which
 * it was open. Fails with `SINK_UNAVAILABLE` when the folder cannot be written or files of a
 * checkpoint are gone, and with `SINK_AHEAD` when an older snapshot than what was published is
 * restored.
 * @throws ConfigurationError when an option is not allowed.
 */
export function fileSink<T>(
  options: FileSinkOptions<T>,
): Sink<T, FileWriterState, FileCommittable> & SinkGuaranteeFacts {
  const folder = resolveUserPath(options.path, 'fileSink path');
  const { rolling = {}, suffix = '' } = options;
  checkPositive(rolling.maxSizeBytes, 'fileSink rolling.maxSizeBytes');
  checkPositive(rolling.maxAgeMs, 'fileSink rolling.maxAgeMs');
  checkPositive(rolling.maxIdleMs, 'fileSink rolling.maxIdleMs');
  if (suffix.includes('/') || suffix.includes('.inprogress.'))
    throw new ConfigurationError(
      `fileSink suffix: ${JSON.stringify(suffix)} is not allowed, give the end of a file name`,
    );
  const writerOptions = {
    folder,
    format: options.format,
    bucket: options.bucket ?? dateTimeBuckets(),
    suffix,
    maxSizeBytes: rolling.maxSizeBytes ?? MAX_SIZE_BYTES,
    maxAgeMs: rolling.maxAgeMs ?? MAX_AGE_MS,
    maxIdleMs: rolling.maxIdleMs ?? MAX_IDLE_MS,
    onCheckpoint: rolling.onCheckpoint ?? false,
  };
  return {
    name: 'files',
    write: 'two-phase-commit',
    readersDuty: 'read only files that begin with part-; a leading dot marks unfinished ones',
    // Restored states need nothing from a writer: recovery has finished what they name.
    createWriter: (context) => new FileSinkWriter(context, writerOptions),
    createCommitter: (context) => new FileCommitter(context, folder),
    ...(writerOptions.onCheckpoint ? {} : { resultsAppear: appearance(writerOptions.maxAgeMs) }),
    outputLocations: () => [folder],
  };
}

/** A file is looked at once a minute and published by the checkpoint after it was closed. */
function appearance(maxAgeMs: number): string {
  const age = formatDuration(maxAgeMs);
  return `when their part file is closed (about ${age}; sooner with rolling.onCheckpoint)`;
}
