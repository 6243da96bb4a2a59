/**
 * How a record becomes a row, as the user says it: for each column a field of the record, or a
 * function. With `type` the value is checked by the compiler, and the table's column by the start.
 */

/** What a value of a column type may be in TypeScript. `null` and `undefined` are NULL. */
export interface ColumnTypes {
  readonly smallint: number;
  readonly integer: number;
  readonly bigint: number | bigint;
  readonly real: number;
  readonly 'double precision': number;
  /** A string keeps every digit. */
  readonly numeric: number | bigint | string;
  readonly boolean: boolean;
  readonly text: string;
  readonly uuid: string;
  readonly date: Date | string;
  /** A Date is written in UTC. */
  readonly timestamp: Date | string;
  readonly timestamptz: Date | string;
  /** Anything that `JSON.stringify` takes. */
  readonly json: unknown;
  readonly jsonb: unknown;
  readonly bytea: Uint8Array;
}

export type ColumnType = keyof ColumnTypes;

/** A column with its type; the compiler checks what `value` returns. */
export type TypedColumn<T> = {
  readonly [K in ColumnType]: {
    readonly type: K;
    readonly value: (record: T) => ColumnTypes[K] | null | undefined;
  };
}[ColumnType];

/**
 * - a name of a field: `'amount'`;
 * - a function: `(order) => order.lines.length`;
 * - both with the type that the column must have: `{ type: 'bigint', value: (o) => o.id }`.
 */
export type Column<T> = (keyof T & string) | ((record: T) => unknown) | TypedColumn<T>;

/** Columns of the table by name. Columns left out get their default. */
export type Columns<T> = Readonly<Record<string, Column<T>>>;

/** The names by which the catalogue lists the types above. */
export const CATALOGUE_NAMES: Readonly<Record<ColumnType, readonly string[]>> = {
  smallint: ['int2'],
  integer: ['int4'],
  bigint: ['int8'],
  real: ['float4'],
  'double precision': ['float8'],
  numeric: ['numeric'],
  boolean: ['bool'],
  text: ['text', 'varchar', 'bpchar'],
  uuid: ['uuid'],
  date: ['date'],
  timestamp: ['timestamp'],
  timestamptz: ['timestamptz'],
  json: ['json'],
  jsonb: ['jsonb'],
  bytea: ['bytea'],
};

export function valueOf<T>(column: Column<T>): (record: T) => unknown {
  if (typeof column === 'function') return column;
  if (typeof column === 'string') return (record) => record[column];
  return column.value;
}

export function declaredType<T>(column: Column<T>): ColumnType | null {
  return typeof column === 'object' ? column.type : null;
}
