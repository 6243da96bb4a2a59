/**
 * Writes rows by their key, in one statement a batch: a row that is there takes the new values, one
 * that is not is inserted. Columns go as arrays of texts, each cast to the type of its column.
 *
 * A session that broke may still be at work on the server, with values that are older by the time
 * it is done; so a new one is opened only when the old one has ended.
 */
import { createHash } from 'node:crypto';
import type { IdempotentOutput, SinkWriterContext } from '@weir/core';
import { endSessions, writerName } from '../application-name.ts';
import type { Database } from '../client/database.ts';
import { asSinkErrors } from '../client/postgres-errors.ts';
import type { PostgresError } from '../client/postgres-errors.ts';
import type { Session } from '../client/session.ts';
import { isDataError, reasonOf } from '../sink/row-copier.ts';
import { BadRows } from '../table/bad-rows.ts';
import type { BadRowPolicy, DeadLetter } from '../table/bad-rows.ts';
import type { Field } from '../table/copy-text.ts';
import { isBadRow, RowEncoder } from '../table/row-encoder.ts';
import type { BadRow } from '../table/row-encoder.ts';
import { quoted, quotedTable } from '../table/sql-names.ts';
import { readLayout } from '../table/table-layout.ts';
import type { TableLayout, Target } from '../table/table-layout.ts';
import { quotedElement } from '../table/value-text.ts';

export interface UpsertOptions<T> {
  readonly target: Target<T>;
  readonly badRows: BadRowPolicy;
}

/** A row, or one that cannot be written and has to be kept as a dead letter. */
export type UpsertWrite =
  | {
      readonly key: string;
      readonly fields: readonly Field[];
      /** Counts the rows: batches come in the order of their keys. */
      readonly number: number;
    }
  | { readonly key: string; readonly bad: BadRow };

type RowWrite = Extract<UpsertWrite, { readonly fields: unknown }>;

export class UpsertOutput<T> implements IdempotentOutput<T, UpsertWrite> {
  readonly #context: SinkWriterContext;
  readonly #database: Database;
  readonly #options: UpsertOptions<T>;
  readonly #badRows: BadRows;
  #session: Session | null = null;
  #encoder: RowEncoder<T> | null = null;
  #statement = '';
  #columns: TableLayout['columns'] = [];
  #keyPlaces: readonly number[] = [];
  #count = 0;

  constructor(context: SinkWriterContext, database: Database, options: UpsertOptions<T>) {
    this.#context = context;
    this.#database = database;
    this.#options = options;
    this.#badRows = new BadRows(options.badRows, context);
  }

  async open(): Promise<void> {
    await this.#database.run(async () => {
      const { target } = this.#options;
      const session = await this.#connected();
      const layout = await readLayout(session, this.#database.place, target);
      this.#encoder = new RowEncoder(layout, target.columns);
      this.#statement = upsertStatement(layout);
      this.#columns = layout.columns;
      this.#keyPlaces = layout.keyColumns.map((name) =>
        layout.columns.findIndex((it) => it.name === name),
      );
    });
  }

  prepare(value: T): UpsertWrite | null {
    const encoder = this.#encoder;
    if (encoder === null) throw new Error('postgresUpsertSink is written to before it is open');
    const fields = encoder.encode(value);
    if (isBadRow(fields)) return this.#bad(fields);
    let key = '';
    for (const place of this.#keyPlaces) {
      const field = fields[place];
      if (field === null || field === undefined)
        return this.#bad(encoder.refused(fields, 'a column of the key has no value'));
      key = key === '' && this.#keyPlaces.length === 1 ? field : `${key}${field.length}:${field}`;
    }
    return { key: `=${key}`, fields, number: this.#count++ };
  }

  keyOf(write: UpsertWrite): string {
    return write.key;
  }

  async writeBatch(writes: readonly UpsertWrite[]): Promise<void> {
    await asSinkErrors(async () => {
      const session = await this.#connected();
      const rows = writes.filter((write): write is RowWrite => 'fields' in write);
      const letters = writes.flatMap((write) => ('bad' in write ? [letterOf(write.bad)] : []));
      letters.push(...(await this.#writeRows(session, rows)));
      const statement = this.#badRows.deadLetters(letters);
      if (statement !== null) await session.query(statement.what, statement.text, statement.values);
    });
  }

  async close(): Promise<void> {
    await this.#session?.close();
    await this.#database.close();
  }

  /**
   * Halves a batch that the server refuses until the row at fault stands alone. From then on rows
   * go in the order in which they came: for the server two keys may be one that differ as texts
   * (`1` and `1.0`), and the last of them counts.
   */
  async #writeRows(session: Session, rows: readonly RowWrite[]): Promise<DeadLetter[]> {
    const letters: DeadLetter[] = [];
    const parts = [rows];
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const [first] = part;
      if (first === undefined) continue;
      try {
        await session.query(this.#what, this.#statement, columnsOf(part));
      } catch (error) {
        if (!isDataError(error, { columns: this.#columns })) throw error;
        if (part.length === 1) {
          letters.push(await this.#refused(session, first, error));
          continue;
        }
        const ordered = part.toSorted((a, b) => a.number - b.number);
        const middle = part.length >> 1;
        parts.push(ordered.slice(middle), ordered.slice(0, middle));
      }
    }
    return letters;
  }

  async #refused(
    session: Session,
    { fields }: RowWrite,
    error: PostgresError,
  ): Promise<DeadLetter> {
    const encoder = this.#encoder;
    if (encoder === null) throw new Error('postgresUpsertSink is not open');
    const column = await this.#columnAtFault(session, fields, error);
    const bad = encoder.refused(fields, reasonOf(error, column));
    this.#badRows.passOver(bad);
    return letterOf(bad);
  }

  /** Of a value that is none of its type the server says the type, and not the column. */
  async #columnAtFault(
    session: Session,
    fields: readonly Field[],
    { server }: PostgresError,
  ): Promise<string | null> {
    if (server === null || server.column !== null) return null;
    if (!/^22|^42601/.test(server.sqlState) && server.dataType === null) return null;
    for (const [i, { name, shownType }] of this.#columns.entries()) {
      try {
        await session.query(this.#what, `select $1::text::${shownType}`, [fields[i]]);
      } catch (error) {
        if (!isDataError(error, { columns: this.#columns })) throw error;
        return name;
      }
    }
    return null;
  }

  get #what(): string {
    return `writing to ${this.#options.target.table}`;
  }

  #bad(bad: BadRow): UpsertWrite | null {
    this.#badRows.passOver(bad);
    return { key: `!${letterOf(bad).id}`, bad };
  }

  async #connected(): Promise<Session> {
    if (this.#session !== null && !this.#session.isBroken) return this.#session;
    this.#session?.destroy();
    const { subtask, attempt } = this.#context;
    await endSessions(this.#database, this.#context, {
      sink: this.#context,
      subtasks: [subtask],
      attempt,
      includingOwn: true,
    });
    this.#session = await this.#database.openSession(writerName(this.#context, this.#context));
    return this.#session;
  }
}

/** The same bad row has the same id, whenever it comes. */
function letterOf(bad: BadRow): DeadLetter {
  const id = createHash('sha256').update(`${bad.table}\0${bad.reason}\0${bad.row}`).digest('hex');
  return { id, bad };
}

function upsertStatement({ table, columns, keyColumns }: TableLayout): string {
  const names = columns.map(({ name }) => quoted(name));
  const values = columns.map(({ castType }, i) => `it.c${i}::${castType}`);
  const parameters = columns.map((_, i) => `$${i + 1}::text[]`);
  const aliases = columns.map((_, i) => `c${i}`);
  const updates = columns
    .filter(({ name }) => !keyColumns.includes(name))
    .map(({ name }) => `${quoted(name)} = excluded.${quoted(name)}`);
  const action = updates.length === 0 ? 'nothing' : `update set ${updates.join(', ')}`;
  return (
    `insert into ${quotedTable(table)} (${names.join(', ')}) select ${values.join(', ')} ` +
    `from unnest(${parameters.join(', ')}) as it(${aliases.join(', ')}) ` +
    `on conflict (${keyColumns.map(quoted).join(', ')}) do ${action}`
  );
}

/** The rows turned round: for each column the literal of an array of its texts. */
function columnsOf(rows: readonly RowWrite[]): string[] {
  const count = rows[0]?.fields.length ?? 0;
  return Array.from({ length: count }, (_, i) => {
    let text = '{';
    for (const [index, { fields }] of rows.entries()) {
      const field = fields[i];
      if (index > 0) text += ',';
      text += field === null || field === undefined ? 'NULL' : quotedElement(field);
    }
    return `${text}}`;
  });
}
