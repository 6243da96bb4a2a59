/**
 * `postgresUpsertSink`: the options of the sink that writes rows by their key. Called by users
 * while they build the graph; opens no connection.
 */
import { ConfigurationError, IdempotentSink } from '@weir/core';
import type {
  BatchSettings,
  ConnectorEnvironment,
  IdempotentOutput,
  Sink,
  SinkOuterFacts,
  SinkWriterContext,
} from '@weir/core';
import { sinkName } from './application-name.ts';
import type { Connect } from './client/session.ts';
import { checkWhole, databaseOf } from './connection-options.ts';
import type { OpenDatabase, PostgresConnectionOptions } from './connection-options.ts';
import { checkTable } from './table-options.ts';
import { askServer } from './sink/check-server.ts';
import { deadLetterTableOf } from './table/bad-rows.ts';
import type { BadRowPolicy } from './table/bad-rows.ts';
import type { Columns } from './table/columns.ts';
import { UpsertOutput } from './upsert/upsert-output.ts';
import type { UpsertOptions, UpsertWrite } from './upsert/upsert-output.ts';

export interface PostgresUpsertSinkOptions<T> extends PostgresConnectionOptions {
  /** `totals` or `public.totals`, as the catalogue writes it. Must exist. */
  readonly table: string;
  /** Columns by name; those left out get their default. */
  readonly columns: Columns<T>;
  /** Columns that tell rows apart; a unique index must be on just these. */
  readonly key: readonly string[];
  /** As of `postgresSink`. */
  readonly onBadRow?: BadRowPolicy;
  /**
   * Whether the last row of a key is right however records of several inputs were interleaved, as
   * with a running maximum. Default false; it decides what the sink guarantees behind operators
   * with several inputs.
   */
  readonly converges?: boolean;
  /** Rows of one statement. Default 1000. */
  readonly batchSize?: number;
  /** Longest wait for more rows of a statement. Default 5 ms. */
  readonly lingerMs?: number;
  /** Rows not yet written at which the sink slows its producers. Default 10 batches. */
  readonly bufferRecords?: number;
}

/**
 * Writes rows by their key, at once: the last row of a key is what the table shows. After a failure
 * rows may go back and run forward again; then they are right, if the operators before the sink
 * emit the same rows when records are replayed. Needs no prepared transactions.
 *
 * Fails for good with `SINK_REFUSED` when the table does not fit the columns or the key, or a right
 * is missing; within the restart strategy with `SINK_UNAVAILABLE` when the server is away or a lock
 * is not to be had. Fails with `RECORD_MALFORMED` at a row that the table does not take.
 * @throws ConfigurationError when an option is not allowed.
 */
export function postgresUpsertSink<T>(
  options: PostgresUpsertSinkOptions<T>,
  connect?: Connect,
): Sink<T, never, never> {
  return new UpsertPostgresSink(options, connect);
}

class UpsertPostgresSink<T> extends IdempotentSink<T, UpsertWrite> {
  readonly name: string;
  override readonly converges: boolean;
  override readonly batching: BatchSettings;
  readonly #open: OpenDatabase;
  readonly #options: UpsertOptions<T>;

  constructor(options: PostgresUpsertSinkOptions<T>, connect: Connect | undefined) {
    super();
    const { table, columns, key, batchSize, lingerMs, bufferRecords, retryForMs } = options;
    checkTable('postgresUpsertSink', options);
    checkKey(key, columns);
    checkWhole('postgresUpsertSink', 'batchSize', { value: batchSize, least: 1 });
    checkWhole('postgresUpsertSink', 'lingerMs', { value: lingerMs, least: 0 });
    checkWhole('postgresUpsertSink', 'bufferRecords', { value: bufferRecords, least: 1 });
    this.name = `postgres ${table} by ${key.join(', ')}`;
    this.converges = options.converges ?? false;
    this.batching = {
      ...(batchSize === undefined ? {} : { batchSize }),
      ...(lingerMs === undefined ? {} : { lingerMs }),
      ...(bufferRecords === undefined ? {} : { bufferRecords }),
      ...(retryForMs === undefined ? {} : { retryForMs }),
    };
    this.#open = databaseOf('postgresUpsertSink', options, connect);
    const badRows = options.onBadRow ?? 'fail';
    const target = { table, columns, key, deadLetterTable: deadLetterTableOf(badRows) };
    this.#options = { target, badRows };
  }

  askOuterSystem(environment: ConnectorEnvironment): Promise<SinkOuterFacts> {
    const database = this.#open(environment, 'weir settings', 'once');
    return askServer(database, this.#options.target, null);
  }

  protected override connect(context: SinkWriterContext): IdempotentOutput<T, UpsertWrite> {
    const database = this.#open(context, sinkName(context));
    return new UpsertOutput(context, database, this.#options);
  }
}

function checkKey<T>(key: readonly string[], columns: Columns<T>): void {
  const missing = key.find((name) => !(name in columns));
  if (key.length > 0 && missing === undefined) return;
  throw new ConfigurationError(
    key.length === 0
      ? 'postgresUpsertSink key: give at least one column'
      : `postgresUpsertSink key: ${missing} is not among the columns that are written`,
  );
}
