/**
 * How records stand in a text file or on a socket: one record a line. The source cuts the bytes
 * into lines and the text out of the bytes; a format only turns a line into a record and back. So
 * every format is split, resumed and reported (file and byte position) in the same way.
 */

/**
 * Turns one line, given without its line end, into a record. Throws when it cannot: the record is
 * then malformed. Must depend on nothing but the line, so that a replay gives the same.
 */
export type LineDecoder<T> = (line: string) => T;

/** Turns records into lines. A new one is created for every part file. */
export interface LineEncoder<T> {
  /** First line of a file, without line end; `first` is the record that follows. Absent: none. */
  header?(first: T): string;
  /** The line of a record, without line end. Throws when the record cannot be written. */
  encode(value: T): string;
}

export interface Format<T> {
  /** Shown in messages: `ndjson`. */
  readonly name: string;
  /** Usual end of a file name: `.ndjson`. */
  readonly suffix: string;
  /** Whether the first line of a file is a header and no record. */
  readonly hasHeader: boolean;
  /** Whether lines without any character are no records. */
  readonly skipsBlankLines: boolean;
  /** `header` is the first line of the file the lines come from, when `hasHeader`. */
  createDecoder(header: string | null): LineDecoder<T>;
  createEncoder(): LineEncoder<T>;
}
