/** `@weir/postgres`: sinks for PostgreSQL, exactly once by transactions or by key. */
export { postgresSink } from './postgres-sink.ts';
export type { PostgresSinkOptions } from './postgres-sink.ts';
export { postgresUpsertSink } from './postgres-upsert-sink.ts';
export type { PostgresUpsertSinkOptions } from './postgres-upsert-sink.ts';
export type { PostgresAddress } from './address.ts';
export type { PostgresConnectionOptions } from './connection-options.ts';
export type { Column, Columns, ColumnType, ColumnTypes, TypedColumn } from './table/columns.ts';
export type { BadRowPolicy } from './table/bad-rows.ts';
export type { PostgresCommittable } from './sink/committable.ts';
export type { UpsertWrite } from './upsert/upsert-output.ts';
