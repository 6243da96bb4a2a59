/**
 * Copies rows within an open transaction. With a policy that passes bad rows over, each batch has a
 * savepoint, so that the rows around a bad one are kept: the server says which line it was, or the
 * batch is halved until that is clear. Without, a bad row ends the transaction, and the error names
 * it; where the server does not (a foreign key, a trigger behind the rows), the batch is halved in
 * another one.
 */
import type { Session } from '../client/session.ts';
import { NOT_NULL_VIOLATION, PostgresError } from '../client/postgres-errors.ts';
import type { BadRows } from '../table/bad-rows.ts';
import { fromLine } from '../table/copy-text.ts';
import type { BadRow, RowEncoder } from '../table/row-encoder.ts';
import { quoted, quotedTable } from '../table/sql-names.ts';
import type { TableLayout } from '../table/table-layout.ts';

export class RowCopier<T> {
  readonly #session: Session;
  readonly #layout: TableLayout;
  readonly #encoder: RowEncoder<T>;
  readonly #badRows: BadRows;
  readonly #what: string;
  readonly #statement: string;

  constructor(
    session: Session,
    {
      layout,
      encoder,
      badRows,
    }: {
      readonly layout: TableLayout;
      readonly encoder: RowEncoder<T>;
      readonly badRows: BadRows;
    },
  ) {
    this.#session = session;
    this.#layout = layout;
    this.#encoder = encoder;
    this.#badRows = badRows;
    this.#what = `writing to ${layout.table}`;
    const names = layout.columns.map(({ name }) => quoted(name)).join(', ');
    this.#statement = `copy ${quotedTable(layout.table)} (${names}) from stdin`;
  }

  /** The rows that were left out. Lines as `toLine` makes them. */
  async copy(lines: readonly string[]): Promise<readonly BadRow[]> {
    if (this.#badRows.mayPassOver) return this.#copyTolerantly(lines);
    try {
      await this.#copyAll(lines);
      return [];
    } catch (error) {
      if (!isDataError(error, this.#layout)) throw error;
      await this.#fail(lines, error);
      return [];
    }
  }

  /** Throws for the row at fault; the transaction is lost. */
  async #fail(lines: readonly string[], error: PostgresError): Promise<void> {
    const line = badLine(error, lines.length);
    if (line === null) {
      await this.#run('rollback; begin');
      await this.#copyTolerantly(lines);
    }
    // Each row alone is taken, so it is between two of them, or with one of an earlier batch.
    this.#badRows.passOver(this.#refused(lines, line, error));
  }

  async #copyTolerantly(lines: readonly string[]): Promise<readonly BadRow[]> {
    const bad: BadRow[] = [];
    const parts = [lines];
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      if (part.length === 0) continue;
      await this.#run('savepoint weir_batch');
      try {
        await this.#copyAll(part);
        await this.#run('release savepoint weir_batch');
      } catch (error) {
        if (!isDataError(error, this.#layout)) throw error;
        await this.#run('rollback to savepoint weir_batch; release savepoint weir_batch');
        const line = part.length === 1 ? 0 : badLine(error, part.length);
        if (line === null) {
          const middle = part.length >> 1;
          parts.push(part.slice(middle), part.slice(0, middle));
          continue;
        }
        const refused = this.#refused(part, line, error);
        this.#badRows.passOver(refused);
        bad.push(refused);
        // The last pushed comes first, so rows keep their order.
        parts.push(part.slice(line + 1), part.slice(0, line));
      }
    }
    return bad;
  }

  #copyAll(lines: readonly string[]): Promise<void> {
    return this.#session.copy(this.#what, this.#statement, Buffer.from(lines.join('')));
  }

  async #run(statement: string): Promise<void> {
    await this.#session.query(this.#what, statement);
  }

  #refused(lines: readonly string[], line: number | null, error: PostgresError): BadRow {
    const reason = reasonOf(error);
    const text = line === null ? undefined : lines[line];
    if (text !== undefined) return this.#encoder.refused(fromLine(text), reason);
    return { ...this.#encoder.refused([], reason), key: '(one of a batch)', row: '{}' };
  }
}

/**
 * States that mean another thing elsewhere, and in rows a value that its type does not take: an
 * unknown time zone, a text search vector that cannot be read.
 */
const IN_VALUES: readonly string[] = ['22023', '42601'];

/**
 * Whether a row is at fault, of those that a statement writes. None is where the table has got a
 * column that must have a value since the writer opened: it would take no row at all.
 */
export function isDataError(
  error: unknown,
  { columns }: Pick<TableLayout, 'columns'>,
): error is PostgresError {
  if (!(error instanceof PostgresError) || error.server === null) return false;
  const { sqlState, column } = error.server;
  if (sqlState === NOT_NULL_VIOLATION) return columns.some(({ name }) => name === column);
  return error.failure === 'data' || IN_VALUES.includes(sqlState);
}

/** The server's words, with what it says of key, constraint and column, on one line. */
export function reasonOf(
  { message, server }: PostgresError,
  columnAtFault: string | null = null,
): string {
  if (server === null) return message;
  const name = columnAtFault ?? server.column ?? COPY_PLACE.exec(server.where ?? '')?.[2];
  const column = name === undefined ? '' : ` (column ${quoted(name)})`;
  const detail = server.detail === null ? '' : `: ${server.detail.replace(/\.$/, '')}`;
  return `${server.message}${column}${detail}`.replaceAll(/\s*\n\s*/g, ' ');
}

/**
 * `COPY orders, line 3, column id: "x"`. Behind the number, or the column, stands what is in the
 * line, which may say `, line 1, column a` as well.
 */
const COPY_PLACE = /^COPY .*?, line (\d+)(?:, column ([^\n]+?))?(?::|$)/m;

/** The index of the line that COPY names; `null`: it names none, as where a trigger failed. */
function badLine({ server }: PostgresError, count: number): number | null {
  const index = Number(COPY_PLACE.exec(server?.where ?? '')?.[1]) - 1;
  return index >= 0 && index < count ? index : null;
}
