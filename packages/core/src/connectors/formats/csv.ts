import type { Format } from './format.ts';

export interface CsvColumn {
  readonly name: string;
  /** Default `string`. */
  readonly type?: 'string' | 'number' | 'boolean';
}

export interface CsvOptions {
  /**
   * Whether the first line of a file names the columns; written into every part file too.
   * Default true.
   */
  readonly header?: boolean;
  /** One character. Default `,`. */
  readonly delimiter?: string;
  /**
   * The columns. Without a header: all of them in order, required. With a header: those to be
   * read (default: all, as strings), and when writing those to be written, in this order
   * (default: the fields of a file's first record).
   */
  readonly columns?: readonly (string | CsvColumn)[];
}

/**
 * Comma-separated values, quoted with `"` where needed; a record is an object with a field per
 * column. Blank lines are ignored. A quoted field must end on its line.
 */
export function csv<T = Record<string, string>>(options: CsvOptions = {}): Format<T> {
  throw new Error(`csv ${options.delimiter}`);
}
