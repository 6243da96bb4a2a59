/**
 * What the catalogue says of the tables of a sink, compared with what the job wants to write: all
 * that does not fit is found before the first record, and told at once. Called by `weir explain`,
 * by the start of a run, and by every writer that opens. Changes nothing.
 */
import { WeirError } from '@weir/core';
import type { Row, Session } from '../client/session.ts';
import { checkColumns, toColumn } from './check-columns.ts';
import type { TableColumn } from './check-columns.ts';
import { CATALOGUE_NAMES } from './columns.ts';
import type { Columns } from './columns.ts';
import { quoted, quotedTable, schemaAndName } from './sql-names.ts';
import { COLUMNS, PRIMARY_KEY, SIMILAR_TABLES, TABLE, UNIQUE_KEYS } from './table-queries.ts';

/** The tables of a sink, as the user gave them. */
export interface Target<T> {
  readonly table: string;
  readonly columns: Columns<T>;
  /** By which rows are upserted; `null`: they are copied, in transactions that are prepared. */
  readonly key: readonly string[] | null;
  readonly deadLetterTable: string | null;
}

export interface TableLayout {
  /** As the user gave it. */
  readonly table: string;
  /** `PostgreSQL at host:5432/shop, table sales.orders`: for messages. */
  readonly where: string;
  /** The columns to be written, in the order of the mapping. */
  readonly columns: readonly TableColumn[];
  /** Of these, those that tell rows apart; empty if there are none. */
  readonly keyColumns: readonly string[];
}

export interface Inspection {
  readonly layout: TableLayout;
  /** Everything that does not fit: where, what, and what to do. */
  readonly problems: readonly string[];
  /** What makes less of the guarantee. */
  readonly warnings: readonly string[];
}

/** @throws WeirError of kind `user` with everything that does not fit. */
export async function readLayout<T>(
  session: Session,
  place: string,
  target: Target<T>,
): Promise<TableLayout> {
  const { layout, problems } = await inspectTables(session, place, target);
  if (problems.length === 0) return layout;
  throw new WeirError('user', problems.join('\n'), {
    code: 'SINK_REFUSED',
    details: { table: target.table },
  });
}

/** `place`: `host:port/database`. */
export async function inspectTables<T>(
  session: Session,
  place: string,
  target: Target<T>,
): Promise<Inspection> {
  const own = await inspectTable(session, place, target);
  if (target.deadLetterTable === null) return own;
  return {
    ...own,
    problems: [
      ...own.problems,
      ...(await checkDeadLetterTable(session, place, target.deadLetterTable)),
    ],
  };
}

async function inspectTable<T>(
  session: Session,
  place: string,
  { table, columns: mapping, key }: Target<T>,
): Promise<Inspection> {
  const facts = await factsOf(session, table);
  const where = whereIs(place, facts === null ? table : String(facts['name']));
  const all = facts === null ? [] : await columnsOf(session, table);
  const names = Object.keys(mapping);
  const columns = names.flatMap((name) => all.filter((column) => column.name === name));
  const layout = {
    table,
    where,
    columns,
    keyColumns: key ?? (await primaryKey(session, table, mapping)),
  };
  const role = String(facts?.['role']);
  const problems =
    facts === null
      ? [await missingTable(session, table)]
      : [
          ...checkKind(facts, key),
          ...checkColumns(all, {
            mapping,
            uses: usesOf(names, key),
            role,
            table: quotedTable(table),
          }),
          ...(await checkKey(session, table, key)),
        ];
  return {
    layout,
    problems: problems.map((problem) => `${where}: ${problem}`),
    warnings:
      facts?.['is_unlogged'] === true
        ? [
            `${where} is unlogged: the server empties it when it crashes; make it durable: ` +
              `alter table ${quotedTable(table)} set logged`,
          ]
        : [],
  };
}

function usesOf(
  names: readonly string[],
  key: readonly string[] | null,
): readonly (readonly [string, readonly string[]])[] {
  if (key === null) return [['insert', names]];
  return [
    ['insert', names],
    ['update', names.filter((name) => !key.includes(name))],
    // The new values of a conflict count as read.
    ['select', names],
  ];
}

function whereIs(place: string, table: string): string {
  return `PostgreSQL at ${place}, table ${table}`;
}

async function factsOf(session: Session, table: string): Promise<Row | null> {
  const [row] = await session.query(`to tell what ${table} is`, TABLE, [quotedTable(table)]);
  return row ?? null;
}

async function columnsOf(session: Session, table: string): Promise<readonly TableColumn[]> {
  const what = `to tell the columns of ${table}`;
  return (await session.query(what, COLUMNS, [quotedTable(table)])).map(toColumn);
}

/** Empty unless all of it is written. */
async function primaryKey<T>(
  session: Session,
  table: string,
  mapping: Columns<T>,
): Promise<readonly string[]> {
  const what = `to tell the key of ${table}`;
  const rows = await session.query(what, PRIMARY_KEY, [quotedTable(table)]);
  const names = rows.map((row) => String(row['name']));
  return names.every((name) => name in mapping) ? names : [];
}

async function missingTable(session: Session, table: string): Promise<string> {
  const [schema, name] = schemaAndName(table);
  const [row] = await session.query(`to look for ${table}`, SIMILAR_TABLES, [name]);
  const similar = (row?.['similar_names'] ?? []) as readonly string[];
  const searched = schema === null ? ` in the schemas searched (${String(row?.['searched'])})` : '';
  const others = similar.length === 0 ? '' : `: there is ${similar.join(', ')}`;
  return `there is no such table${searched}; create it, or correct the name (${table})${others}`;
}

const OTHER_KINDS: Readonly<Record<string, string>> = {
  m: 'a materialized view',
  S: 'a sequence',
  i: 'an index',
  I: 'an index',
  c: 'a type',
  t: 'a part of another table',
};

function checkKind(facts: Row, key: readonly string[] | null): readonly string[] {
  const kind = String(facts['kind']);
  const other = OTHER_KINDS[kind];
  if (other !== undefined) return [`it is ${other}, into which no rows are written; give a table`];
  if (kind === 'f')
    return [
      'it is a foreign table, which takes neither prepared transactions nor upserts; give a ' +
        'table of this server',
    ];
  if (kind === 'v' && key !== null)
    return ['it is a view, and rows are written by key only into tables; give the one behind it'];
  if (kind === 'v' && facts['has_instead_of_insert'] !== true)
    return [
      'it is a view, into which no rows are copied; give the table behind it, or create an ' +
        'INSTEAD OF INSERT trigger',
    ];
  if (facts['has_row_security'] === true && key === null)
    return [
      `row-level security holds for the role ${String(facts['role'])}, and PostgreSQL copies no ` +
        'rows under it; give a role with BYPASSRLS, or use postgresUpsertSink',
    ];
  return [];
}

async function checkKey(
  session: Session,
  table: string,
  key: readonly string[] | null,
): Promise<readonly string[]> {
  if (key === null || (await hasUniqueKey(session, table, key))) return [];
  return [
    `rows are written by the key (${key.join(', ')}), and there is no unique index on just these ` +
      `columns; create one: create unique index on ${quotedTable(table)} ` +
      `(${key.map(quoted).join(', ')})`,
  ];
}

/** Whether rows can be told apart by these columns: a whole unique index has exactly them. */
async function hasUniqueKey(
  session: Session,
  table: string,
  key: readonly string[],
): Promise<boolean> {
  const what = `to tell the unique keys of ${table}`;
  const rows = await session.query(what, UNIQUE_KEYS, [quotedTable(table)]);
  const wanted = [...key].toSorted().join('\0');
  return rows.some(({ names }) => (names as string[]).toSorted().join('\0') === wanted);
}

const LETTER_TYPES = { id: 'text', target: 'text', reason: 'text', row: 'jsonb' } as const;

async function checkDeadLetterTable(
  session: Session,
  place: string,
  table: string,
): Promise<readonly string[]> {
  const name = quotedTable(table);
  const facts = await factsOf(session, table);
  const all = facts === null ? [] : await columnsOf(session, table);
  const columns = Object.keys(LETTER_TYPES);
  const wanted = {
    mapping: Object.fromEntries(columns.map((column) => [column, () => null])),
    uses: [['insert', columns] as const, ['select', ['id']] as const],
    role: String(facts?.['role']),
    table: name,
  };
  const misfits = Object.entries(LETTER_TYPES).flatMap(([column, type]) => {
    const found = all.find((it) => it.name === column);
    const isFit = found === undefined || CATALOGUE_NAMES[type].includes(found.typeName);
    return isFit ? [] : [`column ${quoted(column)} is ${found.shownType} and must be ${type}`];
  });
  const problems =
    facts === null
      ? ['there is no such table']
      : [
          ...misfits,
          ...checkColumns(all, wanted),
          ...((await hasUniqueKey(session, table, ['id']))
            ? []
            : ['its column "id" is not unique']),
        ];
  return problems.map(
    (problem) =>
      `${whereIs(place, table)}: ${problem}; rows that cannot be written are kept in it, so it ` +
      `should be: create table ${name} (id text primary key, target text, reason text, row jsonb)`,
  );
}
