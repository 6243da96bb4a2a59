/**
 * Copies rows within an open transaction. With a policy that passes bad rows over, each batch has a
 * savepoint, so that the rows around a bad one are kept: the server says which line it was, or the
 * batch is halved until that is clear. Without, a bad row ends the transaction, and the error names
 * it.
 */
import type { Session } from '../client/session.ts';
import { PostgresError } from '../client/postgres-errors.ts';
import { badRowError } from '../table/bad-rows.ts';
import type { BadRows } from '../table/bad-rows.ts';
import { fromLine } from '../table/copy-text.ts';
import type { BadRow, RowEncoder } from '../table/row-encoder.ts';
import { quoted, quotedTable } from '../table/sql-names.ts';
import type { TableLayout } from '../table/table-layout.ts';

export class RowCopier<T> {
  readonly #session: Session;
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
      if (!isDataError(error)) throw error;
      throw badRowError(this.#refused(lines, badLine(error, lines.length), error));
    }
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
        if (!isDataError(error)) throw error;
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
    return { ...this.#encoder.refused([], reason), key: `among ${lines.length} rows`, row: '{}' };
  }
}

export function isDataError(error: unknown): error is PostgresError {
  return error instanceof PostgresError && error.failure === 'data';
}

/** The server's words, with what it says of key and constraint. */
export function reasonOf({ message, server }: PostgresError): string {
  if (server === null) return message;
  const detail = server.detail === null ? '' : ` ${server.detail}`;
  const column = server.column === null ? '' : ` (column ${quoted(server.column)})`;
  return `${server.message}${column}.${detail}`;
}

/** The index of the line that COPY names; `null`: it names none, as where a trigger failed. */
function badLine({ server }: PostgresError, count: number): number | null {
  const match = /^COPY [^\n]*, line (\d+)/m.exec(server?.where ?? '');
  const index = Number(match?.[1]) - 1;
  return index >= 0 && index < count ? index : null;
}
