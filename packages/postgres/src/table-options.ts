/**
 * What both sinks are told of their tables, checked while the graph is built. Options may come from
 * configuration or JavaScript, where no compiler sees them: a word that is none of those known must
 * not pass for one that leaves rows out.
 */
import { ConfigurationError } from '@weir/core';
import type { BadRowPolicy } from './table/bad-rows.ts';
import { CATALOGUE_NAMES } from './table/columns.ts';
import type { Columns } from './table/columns.ts';

export interface TableOptions<T> {
  readonly table: string;
  readonly columns: Columns<T>;
  readonly onBadRow?: BadRowPolicy;
}

const TABLE = /^[^.]+(\.[^.]+)?$/;

/** @throws ConfigurationError. `option` names the sink. */
export function checkTable<T>(option: string, options: TableOptions<T>): void {
  const { table, columns, onBadRow = 'fail' } = options;
  requireTable(`${option} table`, table);
  if (Object.keys(columns).length === 0)
    throw new ConfigurationError(`${option} columns: give at least one column`);
  for (const [name, column] of Object.entries(columns))
    checkColumn(`${option} columns.${name}`, column);
  if (typeof onBadRow === 'object') requireTable(`${option} onBadRow`, onBadRow.deadLetterTable);
  else checkOneOf(`${option} onBadRow`, onBadRow, ['fail', 'skip']);
}

export function checkOneOf(
  name: string,
  value: string | undefined,
  allowed: readonly string[],
): void {
  if (value === undefined || allowed.includes(value)) return;
  throw new ConfigurationError(
    `${name}: ${JSON.stringify(value)} is not allowed, give ${allowed.join(' or ')}`,
  );
}

function requireTable(name: string, table: unknown): void {
  if (typeof table === 'string' && TABLE.test(table)) return;
  throw new ConfigurationError(
    `${name}: ${JSON.stringify(table)} is not allowed, give table or schema.table`,
  );
}

function checkColumn(name: string, column: unknown): void {
  if (typeof column === 'string' || typeof column === 'function') return;
  const { type, value } = (column ?? {}) as { readonly type?: unknown; readonly value?: unknown };
  if (typeof value !== 'function')
    throw new ConfigurationError(
      `${name}: give the name of a field, a function, or an object of type and value`,
    );
  checkOneOf(`${name}.type`, String(type), Object.keys(CATALOGUE_NAMES));
}
