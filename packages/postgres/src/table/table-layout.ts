/**
 * What the catalogue says of a table, compared with what the job wants to write: a missing column,
 * one of another type, one that must have a value and gets none are refused before the first
 * record, by name.
 */
import { WeirError } from '@weir/core';
import type { Session, Row } from '../client/session.ts';
import { CATALOGUE_NAMES, declaredType } from './columns.ts';
import type { Columns } from './columns.ts';
import { quoted, quotedTable } from './sql-names.ts';

export interface TableColumn {
  readonly name: string;
  /** As users write it: `numeric(10,2)`. */
  readonly shownType: string;
  /** Name of the type in SQL text, without length or precision: a cast to it cuts nothing off. */
  readonly castType: string;
  /** Name in pg_type; of an array that of its elements, of a domain that of its base. */
  readonly typeName: string;
  readonly isArray: boolean;
  readonly isRequired: boolean;
  readonly hasDefault: boolean;
  readonly isGenerated: boolean;
}

export interface TableLayout {
  /** As the user gave it. */
  readonly table: string;
  /** The columns to be written, in the order of the mapping. */
  readonly columns: readonly TableColumn[];
  /** Of these, the columns of the primary key; empty if it is not written. */
  readonly keyColumns: readonly string[];
}

/** @throws WeirError of kind `user` when the table does not fit the mapping. */
export async function readLayout<T>(
  session: Session,
  table: string,
  mapping: Columns<T>,
): Promise<TableLayout> {
  const all = (
    await session.query(`reading the layout of ${table}`, LAYOUT, [quotedTable(table)])
  ).map(toColumn);
  if (all.length === 0)
    throw unfit(table, `there is no such table; create it, or correct the name (${table})`);
  const columns = Object.keys(mapping).map((name) => {
    const found = all.find((it) => it.name === name);
    if (found === undefined) {
      const names = all.map((it) => it.name).join(', ');
      throw unfit(table, `it has no column ${quoted(name)}; its columns are ${names}`);
    }
    checkColumn(table, found, mapping);
    return found;
  });
  for (const column of all)
    if (column.isRequired && !column.hasDefault && !(column.name in mapping))
      throw unfit(
        table,
        `column ${quoted(column.name)} must have a value, has no default and is not among the ` +
          'columns that are written',
      );
  const keys = await session.query(`reading the key of ${table}`, PRIMARY_KEY, [
    quotedTable(table),
  ]);
  const keyColumns = keys.map((row) => String(row['name']));
  return { table, columns, keyColumns: keyColumns.every((it) => it in mapping) ? keyColumns : [] };
}

/** Whether rows can be told apart by these columns: a whole unique index has exactly them. */
export async function hasUniqueKey(
  session: Session,
  table: string,
  key: readonly string[],
): Promise<boolean> {
  const rows = await session.query(`reading the keys of ${table}`, UNIQUE_KEYS, [
    quotedTable(table),
  ]);
  const wanted = [...key].toSorted().join('\0');
  return rows.some(({ names }) => (names as string[]).toSorted().join('\0') === wanted);
}

function checkColumn<T>(table: string, column: TableColumn, mapping: Columns<T>): void {
  if (column.isGenerated)
    throw unfit(table, `column ${quoted(column.name)} is generated: leave it out of the columns`);
  const spec = mapping[column.name];
  const declared = spec === undefined ? null : declaredType(spec);
  if (declared === null) return;
  if (!column.isArray && CATALOGUE_NAMES[declared].includes(column.typeName)) return;
  throw unfit(
    table,
    `column ${quoted(column.name)} is ${column.shownType}, and the job writes ${declared}`,
  );
}

function toColumn(row: Row): TableColumn {
  const text = (name: string): string => String(row[name]);
  return {
    name: text('name'),
    shownType: text('shown_type'),
    castType: text('cast_type'),
    typeName: text('type_name'),
    isArray: row['is_array'] === true,
    isRequired: row['is_required'] === true,
    hasDefault: row['has_default'] === true,
    isGenerated: row['is_generated'] === true,
  };
}

export function unfit(table: string, problem: string): WeirError {
  return new WeirError('user', `table ${table} does not fit the job: ${problem}`, {
    code: 'SINK_UNAVAILABLE',
    details: { table },
  });
}

const LAYOUT = `
select a.attname as name, format_type(a.atttypid, a.atttypmod) as shown_type,
  quote_ident(n.nspname) || '.' || quote_ident(t.typname) as cast_type,
  coalesce(e.typname, b.typname, t.typname) as type_name,
  t.typcategory = 'A' and t.typelem <> 0 as is_array,
  a.attnotnull as is_required,
  a.atthasdef or a.attidentity <> '' as has_default,
  a.attgenerated <> '' or a.attidentity = 'a' as is_generated
from pg_attribute a
join pg_type t on t.oid = a.atttypid
join pg_namespace n on n.oid = t.typnamespace
left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
left join pg_type b on b.oid = t.typbasetype and t.typtype = 'd'
where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped
order by a.attnum`;

const PRIMARY_KEY = `
select a.attname as name
from pg_index i
join unnest(i.indkey) with ordinality as k(attnum, place) on true
join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
where i.indrelid = to_regclass($1) and i.indisprimary
order by k.place`;

const UNIQUE_KEYS = `
select array_agg(a.attname::text) as names
from pg_index i
join unnest(i.indkey) as k(attnum) on true
left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
where i.indrelid = to_regclass($1) and i.indisunique and i.indisvalid and i.indimmediate
  and i.indpred is null and i.indexprs is null
group by i.indexrelid`;
