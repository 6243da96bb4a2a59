import type { Source } from '../api/source.ts';
import type { FileEnumeratorState, FileSplit } from './files/file-split.ts';
import type { Format } from './formats/format.ts';

/**
 * What to do with a line that the format cannot read. `fail` throws `RECORD_MALFORMED`; `skip`
 * counts it (`malformedRecords`) and goes on; `deadLetter` counts it and writes it, with file,
 * position and reason, into ndjson files of that folder, each record once, whatever is replayed.
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
  /** Records per second, over all subtasks together: each gets an equal share. Default: no limit. */
  readonly rate?: number;
}

/**
 * Reads records from text files. Replayable: the position is the next byte to read (of the
 * uncompressed text), so after a failure every line is read exactly once.
 */
export function fileSource<T>(
  options: FileSourceOptions<T>,
): Source<T, FileSplit, FileEnumeratorState> {
  throw new Error(`fileSource ${options.path}`);
}
