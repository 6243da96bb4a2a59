/**
 * What part of which file is read, and how far: the unit that the enumerator hands out, that moves
 * between subtasks, and that checkpoints store. All of it is plain data.
 */
import { baseName } from '../../storage/paths.ts';
import type { FoundFile } from './find-files.ts';

/** A piece of a file: the lines that START in [start, end). */
export interface FileSplit {
  readonly id: string;
  /** Absolute. */
  readonly path: string;
  readonly start: number;
  /** `null`: to the end of the file, wherever that is when it is reached. */
  readonly end: number | null;
  /** Size on disk when the file was found: it must not have shrunk since. */
  readonly sizeBytes: number;
  readonly gzip: boolean;
  /** Next byte to read: the start of a line. `null` before the first. */
  readonly position: number | null;
  /** Malformed records whose dead-letter file is not complete on disk yet. */
  readonly deadLetters: readonly DeadLetterSegment[];
}

/** Content of one dead-letter file of a split: the next few malformed records of that split. */
export interface DeadLetterSegment {
  /** Of its first record: it names the file. */
  readonly position: number;
  readonly lines: readonly string[];
}

export interface FileEnumeratorState {
  /** Not assigned to a reader. */
  readonly pending: readonly FileSplit[];
  /** Paths found so far; kept only when watching. */
  readonly found: readonly string[];
}

export interface SplittingOptions {
  /** `null`: by the number of subtasks. */
  readonly splitSizeBytes: number | null;
  readonly parallelism: number;
  readonly compression: 'auto' | 'none' | 'gzip';
}

/** Flink's size of a split: the cost of opening one is small against reading it. */
const SPLIT_SIZE_BYTES = 64 * 1024 ** 2;
/** Below this, a split is not worth its round trip to the JobManager. */
const SMALLEST_SPLIT_BYTES = 1024 ** 2;

/** A byte order mark and the start of the first line stand in one split. */
const SPLIT_BYTES_MIN = 4;

/** Cuts a file into splits of about equal size; a compressed one cannot be cut. */
export function splitFile(file: FoundFile, options: SplittingOptions): readonly FileSplit[] {
  const { path, sizeBytes } = file;
  const gzip =
    options.compression === 'gzip' ||
    (options.compression === 'auto' && baseName(path).endsWith('.gz'));
  const pieces = gzip ? 1 : Math.max(1, Math.ceil(sizeBytes / splitSizeFor(sizeBytes, options)));
  const step = Math.max(SPLIT_BYTES_MIN, Math.ceil(sizeBytes / pieces));
  const count = Math.max(1, Math.ceil(sizeBytes / step));
  return Array.from({ length: count }, (_, index) => ({
    id: index === 0 ? path : `${path}#${index * step}`,
    path,
    start: index * step,
    end: index === count - 1 ? null : (index + 1) * step,
    sizeBytes,
    gzip,
    position: null,
    deadLetters: [],
  }));
}

function splitSizeFor(sizeBytes: number, options: SplittingOptions): number {
  if (options.splitSizeBytes !== null) return options.splitSizeBytes;
  const share = Math.max(SMALLEST_SPLIT_BYTES, Math.ceil(sizeBytes / options.parallelism));
  return Math.min(SPLIT_SIZE_BYTES, share);
}

export function describeFileSplit(split: FileSplit): string {
  const unpacked = split.gzip ? ' of the uncompressed text' : '';
  return `${split.path} at byte ${split.position ?? split.start}${unpacked}`;
}
