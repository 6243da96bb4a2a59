/** A piece of a file: the lines that START in [start, end). Plain data, stored in checkpoints. */
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
  /** Malformed records whose dead-letter file is not known to be complete and on disk. */
  readonly deadLetters: readonly DeadLetterSegment[];
}

/** Content of one dead-letter file of a split: the next few malformed records of that split. */
export interface DeadLetterSegment {
  readonly index: number;
  readonly lines: readonly string[];
}

export interface FileEnumeratorState {
  /** Not assigned to a reader. */
  readonly pending: readonly FileSplit[];
  /** Files found so far; kept when watching. */
  readonly found: readonly string[];
}
