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
import type { Columns } from '../table/columns.ts';
import type { Field } from '../table/copy-text.ts';
import { isBadRow, RowEncoder } from '../table/row-encoder.ts';
import type { BadRow } from '../table/row-encoder.ts';
import { quoted, quotedTable } from '../table/sql-names.ts';
import { hasUniqueKey, readLayout, unfit } from '../table/table-layout.ts';
import type { TableLayout } from '../table/table-layout.ts';
import { quotedElement } from '../table/value-text.ts';

export interface UpsertOptions<T> {
  readonly table: string;
  readonly columns: Columns<T>;
  readonly key: readonly string[];
  readonly badRows: BadRowPolicy;
}

/** A row, or one that cannot be written and has to be kept as a dead letter. */
export type UpsertWrite =
  | { readonly key: string; readonly fields: readonly Field[] }
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
  #keyPlaces: readonly number[] = [];

  constructor(context: SinkWriterContext, database: Database, options: UpsertOptions<T>) {
    this.#context = context;
    this.#database = database;
    this.#options = options;
    this.#badRows = new BadRows(options.badRows, context.metrics);
  }

  async open(): Promise<void> {
    await this.#database.run(async () => {
      const { table, columns, key } = this.#options;
      const session = await this.#connected();
      const layout = { ...(await readLayout(session, table, columns)), keyColumns: key };
      if (!(await hasUniqueKey(session, table, key)))
        throw unfit(
          table,
          `rows are written by the key (${key.join(', ')}), and there is no unique index on just ` +
            `these columns; create one: create unique index on ${quotedTable(table)} ` +
            `(${key.map(quoted).join(', ')})`,
        );
      await this.#badRows.check(session);
      this.#encoder = new RowEncoder(layout, columns);
      this.#statement = upsertStatement(layout);
      this.#keyPlaces = key.map((name) => layout.columns.findIndex((it) => it.name === name));
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
    return { key: `=${key}`, fields };
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

  /** Halves a batch that the server refuses until the row at fault stands alone. */
  async #writeRows(session: Session, rows: readonly RowWrite[]): Promise<DeadLetter[]> {
    const letters: DeadLetter[] = [];
    const parts = [rows];
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      if (part.length === 0) continue;
      try {
        const what = `writing to ${this.#options.table}`;
        await session.query(what, this.#statement, columnsOf(part));
      } catch (error) {
        if (!isDataError(error)) throw error;
        const [first] = part;
        if (part.length === 1 && first !== undefined) letters.push(this.#refused(first, error));
        else parts.push(part.slice(part.length >> 1), part.slice(0, part.length >> 1));
      }
    }
    return letters;
  }

  #refused({ fields }: RowWrite, error: PostgresError): DeadLetter {
    const encoder = this.#encoder;
    if (encoder === null) throw new Error('postgresUpsertSink is not open');
    const bad = encoder.refused(fields, reasonOf(error));
    this.#badRows.passOver(bad);
    return letterOf(bad);
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
