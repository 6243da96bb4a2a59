/**
 * Comma-separated values. A record is an object with a field per column; columns without a type
 * are strings. The header stands in the file's first line and is handed in by the source, so that
 * a split from the middle of a file is read like any other.
 */
import { ConfigurationError, SerializationError } from '../../base/errors.ts';
import type { Format, LineDecoder, LineEncoder } from './format.ts';

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

/** A column to read: at which place of the line it stands. */
interface Field extends Required<CsvColumn> {
  readonly index: number;
}

/**
 * Comma-separated values, quoted with `"` where needed; a record is an object with a field per
 * column. Blank lines are ignored. A quoted field must end on its line.
 * @throws ConfigurationError when the options contradict each other.
 */
export function csv<T = Record<string, string>>(options: CsvOptions = {}): Format<T> {
  const delimiter = options.delimiter ?? ',';
  const hasHeader = options.header ?? true;
  const columns = options.columns?.map(toColumn);
  if (delimiter.length !== 1 || '"\r\n'.includes(delimiter))
    throw new ConfigurationError(
      `csv: the delimiter ${JSON.stringify(delimiter)} is not allowed: give one character ` +
        'other than a quote or a line end',
    );
  if (!hasHeader && columns === undefined)
    throw new ConfigurationError('csv: without a header the columns must be given: add `columns`');
  return {
    name: 'csv',
    suffix: '.csv',
    hasHeader,
    skipsBlankLines: true,
    createDecoder: (header) => decoderOf<T>(header, columns, delimiter),
    createEncoder: () => encoderOf<T>(columns, delimiter, hasHeader),
  };
}

function toColumn(column: string | CsvColumn): Required<CsvColumn> {
  return typeof column === 'string'
    ? { name: column, type: 'string' }
    : { name: column.name, type: column.type ?? 'string' };
}

function decoderOf<T>(
  header: string | null,
  columns: readonly Required<CsvColumn>[] | undefined,
  delimiter: string,
): LineDecoder<T> {
  const names = header === null ? (columns ?? []).map(({ name }) => name) : cut(header, delimiter);
  const fields = fieldsOf(names, columns);
  return (line) => {
    const cells = cut(line, delimiter);
    if (cells.length !== names.length)
      throw new SerializationError(
        `the line has ${cells.length} fields, and there are ${names.length} columns`,
      );
    const record: Record<string, unknown> = {};
    for (const field of fields) record[field.name] = valueOf(cells[field.index]!, field);
    // The type parameter is the user's promise about the file.
    return record as T;
  };
}

function fieldsOf(
  names: readonly string[],
  columns: readonly Required<CsvColumn>[] | undefined,
): readonly Field[] {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new SerializationError(`there are two columns named ${JSON.stringify(twice)}`);
  const wanted = columns ?? names.map(toColumn);
  return wanted.map((column) => {
    const index = names.indexOf(column.name);
    if (index >= 0) return { ...column, index };
    throw new SerializationError(
      `there is no column ${JSON.stringify(column.name)} among ${JSON.stringify(names)}`,
    );
  });
}

function valueOf(cell: string, column: Required<CsvColumn>): string | number | boolean {
  if (column.type === 'string') return cell;
  if (column.type === 'number') {
    const number = Number(cell);
    if (cell.trim() !== '' && !Number.isNaN(number)) return number;
  } else if (cell === 'true' || cell === 'false') {
    return cell === 'true';
  }
  throw new SerializationError(
    `column ${JSON.stringify(column.name)}: ${JSON.stringify(cell)} is not a ${column.type}`,
  );
}

/** The fields of a line, without their quotes. */
function cut(line: string, delimiter: string): string[] {
  if (!line.includes('"')) return line.split(delimiter);
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    const end = line[at] === '"' ? endOfQuoted(line, at) : endOfPlain(line, at, delimiter);
    if (end < line.length && line[end] !== delimiter)
      throw new SerializationError(`text follows a closing quote at character ${end + 1}`);
    const cell = line.slice(at, end);
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end >= line.length) return cells;
    at = end + 1;
  }
}

function endOfPlain(line: string, at: number, delimiter: string): number {
  const end = line.indexOf(delimiter, at);
  return end < 0 ? line.length : end;
}

function endOfQuoted(line: string, at: number): number {
  for (let quote = line.indexOf('"', at + 1); quote >= 0; quote = line.indexOf('"', quote + 2))
    if (line[quote + 1] !== '"') return quote + 1;
  throw new SerializationError(
    `the quote opened at character ${at + 1} does not end on its line ` +
      '(line ends within quotes cannot be read)',
  );
}

function encoderOf<T>(
  columns: readonly Required<CsvColumn>[] | undefined,
  delimiter: string,
  hasHeader: boolean,
): LineEncoder<T> {
  let names = columns?.map(({ name }) => name);
  const namesFor = (value: unknown): readonly string[] => {
    if (typeof value !== 'object' || value === null)
      throw new SerializationError(`csv writes objects, and got ${typeof value}`);
    names ??= Object.keys(value);
    return names;
  };
  const join = (cells: readonly string[]): string =>
    // A lone empty field would be a blank line, which readers ignore.
    cells.length === 1 && cells[0] === '' ? '""' : cells.join(delimiter);
  const encode = (value: T): string => {
    const record = value as Readonly<Record<string, unknown>>;
    return join(namesFor(value).map((name) => cellOf(record[name], name, delimiter)));
  };
  if (!hasHeader) return { encode };
  return {
    header: (first) => join(namesFor(first).map((name) => cellOf(name, name, delimiter))),
    encode,
  };
}

function cellOf(value: unknown, name: string, delimiter: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value);
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'string')
    throw new SerializationError(
      `column ${JSON.stringify(name)}: a value of type ${typeof value} cannot be written as CSV`,
    );
  const isPlain = !value.includes(delimiter) && !/["\r\n]/.test(value);
  return isPlain ? value : `"${value.replaceAll('"', '""')}"`;
}
