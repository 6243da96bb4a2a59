/**
 * Records as rows of text fields, by the mapping of the user and the layout of the table. A record
 * that cannot be a row is a `BadRow`: what happens to it is decided by the sink's policy.
 */
import { inspect } from 'node:util';
import { valueOf } from './columns.ts';
import type { Columns } from './columns.ts';
import type { Field } from './copy-text.ts';
import { quoted } from './sql-names.ts';
import type { TableLayout } from './table-layout.ts';
import { toTextOf } from './value-text.ts';

/** A row that the table does not take, with everything that is known about it. */
export interface BadRow {
  readonly table: string;
  /** `PostgreSQL at host:5432/shop, table sales.orders`. */
  readonly where: string;
  /** `(id)=(5)`; the whole row where the table has no key. */
  readonly key: string;
  readonly reason: string;
  /** The row as JSON, columns by name. */
  readonly row: string;
}

interface EncodedColumn<T> {
  readonly name: string;
  readonly valueOf: (record: T) => unknown;
  readonly toText: (value: unknown) => string;
  readonly isRequired: boolean;
}

export class RowEncoder<T> {
  readonly #layout: TableLayout;
  readonly #columns: readonly EncodedColumn<T>[];

  constructor(layout: TableLayout, mapping: Columns<T>) {
    this.#layout = layout;
    this.#columns = layout.columns.map((column) => {
      const { name, isRequired } = column;
      const from = mapping[name];
      if (from === undefined) throw new Error(`no mapping for ${name}`);
      return { name, valueOf: valueOf(from), toText: toTextOf(column), isRequired };
    });
  }

  /** The fields of a row, or why the record is none. Throws what a function of the user throws. */
  encode(record: T): Field[] | BadRow {
    const columns = this.#columns;
    const fields: Field[] = Array.from({ length: columns.length });
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i];
      if (column === undefined) continue;
      const value = column.valueOf(record);
      if (value === null || value === undefined) {
        if (column.isRequired) return this.#bad(record, column.name, 'it must have a value');
        fields[i] = null;
        continue;
      }
      try {
        fields[i] = column.toText(value);
      } catch (error) {
        return this.#bad(record, column.name, error instanceof Error ? error.message : 'unfit');
      }
    }
    return fields;
  }

  /** A row that the server refused. */
  refused(fields: readonly Field[], reason: string): BadRow {
    const entries = this.#columns.map(({ name }, i) => [name, fields[i] ?? null] as const);
    return this.#describe(Object.fromEntries(entries), reason);
  }

  #bad(record: T, column: string, problem: string): BadRow {
    const { shownType } = this.#layout.columns.find((it) => it.name === column) ?? {};
    const entries = this.#columns.map(({ name, valueOf: value }) => [name, value(record)] as const);
    return this.#describe(
      Object.fromEntries(entries),
      `column ${quoted(column)} (${shownType}): ${problem.replaceAll(/\s*\n\s*/g, ' ')}`,
    );
  }

  #describe(row: Readonly<Record<string, unknown>>, reason: string): BadRow {
    const { table, where, keyColumns } = this.#layout;
    const names = keyColumns.length > 0 ? keyColumns : Object.keys(row);
    const values = names.map((name) => shown(row[name]));
    const fields = Object.entries(row).map(([name, it]) => `${asJson(name)}:${asJson(it)}`);
    return {
      table,
      where,
      key: `(${names.join(', ')})=(${values.join(', ')})`,
      reason,
      row: `{${fields.join(',')}}`,
    };
  }
}

export function isBadRow(row: Field[] | BadRow): row is BadRow {
  return !Array.isArray(row);
}

const SHOWN_LENGTH = 60;

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : asJson(value);
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}…`;
}

/** What `jsonb` takes, whatever the value is. */
function asJson(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value, withEveryNumber) ?? 'null';
  } catch {
    // A ring of objects, or a `toJSON` that throws.
    text = JSON.stringify(inspect(value, { depth: 3 }));
  }
  // It keeps neither U+0000 nor halves of characters: their escapes are kept as texts.
  return text.replaceAll(/\\(?:u0000|ud[89a-f]..|.)/gs, (escape) =>
    escape.length === 2 ? escape : `\\${escape}`,
  );
}

function withEveryNumber(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}
