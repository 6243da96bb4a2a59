/**
 * The file source as jobs see it: its options, their defaults and what is refused. How it reads
 * is in `files/`.
 */
import type { Source } from '../api/source.ts';
import { ConfigurationError } from '../base/errors.ts';
import { checkPositive, checkWhole } from './check-options.ts';
import { FileEnumerator } from './files/file-enumerator.ts';
import { describeFileSplit } from './files/file-split.ts';
import type { FileEnumeratorState, FileSplit } from './files/file-split.ts';
import { FileSourceReader } from './files/file-source-reader.ts';
import type { FileSourceReaderOptions } from './files/file-source-reader.ts';
import type { Format } from './formats/format.ts';
import { resolveUserPath } from './user-path.ts';

/**
 * What to do with a line that the format cannot read.
 *
 * - `fail` throws `RECORD_MALFORMED` with file and byte position.
 * - `skip` counts it in the metric `malformedRecords` and goes on.
 * - `deadLetter` counts it, and writes it with file, position and reason into ndjson files of that
 *   folder. Each record stands there once, whatever is replayed. Files that begin with `.` are
 *   unfinished; a file may grow until its part of the input is read. Begin a run from scratch with
 *   an empty folder.
 */
export type MalformedPolicy = 'fail' | 'skip' | { readonly deadLetter: string };

export interface FileSourceOptions<T> {
  /**
   * A file, a folder (with its sub-folders), or a pattern with `*`, `**`, `?`, `[…]`, `{…,…}`; may
   * be a `file:` URI. A relative path starts at the current folder. In folders and patterns, names
   * that begin with `.` or `_` are ignored: they are unfinished or not data.
   */
  readonly path: string;
  readonly format: Format<T>;
  /**
   * Go on looking for new files, every second or every `intervalMs`; the source never ends then.
   * A file is read once, as it is when first seen: move finished files into the folder.
   */
  readonly watch?: boolean | { readonly intervalMs: number };
  /** Default `fail`. */
  readonly onMalformed?: MalformedPolicy;
  /**
   * Plain files longer than this are split. Default 64 MiB, or less when a file would leave some
   * of the subtasks without work.
   */
  readonly splitSizeBytes?: number;
  /** Default `auto`: gzip when the name ends in `.gz`. A compressed file cannot be split. */
  readonly compression?: 'auto' | 'none' | 'gzip';
  /** Encoding of the text. Default `utf-8`, where bytes that are not UTF-8 are malformed. */
  readonly encoding?: 'utf-8' | 'latin1';
  /** A longer line is malformed. Default 16 MiB. */
  readonly maxLineBytes?: number;
  /** Records per second of all subtasks together; each gets an equal share. Default: no limit. */
  readonly rate?: number;
}

/** Read at once; two of them are kept ready. */
const CHUNK_BYTES = 256 * 1024;
const WATCH_INTERVAL_MS = 1000;
const MAX_LINE_BYTES = 16 * 1024 ** 2;

/**
 * Reads records from text files. Replayable: the position is the next byte to read (of the
 * uncompressed text), so after a failure every line is read exactly once. Fails with
 * `SOURCE_UNAVAILABLE` when the input is missing, cannot be read, or has shrunk since it was
 * listed.
 * @throws ConfigurationError when an option is not allowed.
 */
export function fileSource<T>(
  options: FileSourceOptions<T>,
): Source<T, FileSplit, FileEnumeratorState> {
  const { watch } = options;
  const path = resolveUserPath(options.path, 'fileSource path');
  const intervalMs = typeof watch === 'object' ? watch.intervalMs : WATCH_INTERVAL_MS;
  const isWatching = watch !== undefined && watch !== false;
  checkPositive(intervalMs, 'fileSource watch.intervalMs');
  checkPositive(options.rate, 'fileSource rate');
  checkWhole(options.splitSizeBytes, 1, 'fileSource splitSizeBytes');
  checkWhole(options.maxLineBytes, 1, 'fileSource maxLineBytes');
  const readerOptions = readerOptionsOf(path, options);
  const enumeratorOptions = {
    path,
    watchIntervalMs: isWatching ? intervalMs : null,
    splitSizeBytes: options.splitSizeBytes ?? null,
    compression: options.compression ?? 'auto',
  };
  return {
    name: 'files',
    boundedness: isWatching ? 'unbounded' : 'bounded',
    replay: 'offsets',
    createEnumerator: (context, restored) =>
      new FileEnumerator(context, enumeratorOptions, restored),
    createReader: (context) => new FileSourceReader(context, readerOptions),
    describeSplit: describeFileSplit,
    splitId: (split) => split.id,
  };
}

function readerOptionsOf<T>(
  path: string,
  options: FileSourceOptions<T>,
): FileSourceReaderOptions<T> {
  return {
    format: options.format,
    encoding: options.encoding ?? 'utf-8',
    maxLineBytes: options.maxLineBytes ?? MAX_LINE_BYTES,
    chunkBytes: CHUNK_BYTES,
    rate: options.rate ?? null,
    onMalformed: policyOf(path, options.onMalformed ?? 'fail'),
  };
}

function policyOf(path: string, policy: MalformedPolicy): MalformedPolicy {
  if (typeof policy === 'string') return policy;
  const folder = resolveUserPath(policy.deadLetter, 'fileSource onMalformed.deadLetter');
  if (!`${folder}/`.startsWith(`${path}/`)) return { deadLetter: folder };
  throw new ConfigurationError(
    `fileSource onMalformed.deadLetter: ${folder} lies in the input folder ${path} and would be ` +
      'read as input; choose another folder',
    { details: { path, deadLetter: folder } },
  );
}
