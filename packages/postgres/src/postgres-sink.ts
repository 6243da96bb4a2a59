/**
 * `postgresSink`: the options of the transactional sink, their defaults and limits. Called by users
 * while they build the graph; opens no connection.
 */
import { ConfigurationError, TwoPhaseCommitSink } from '@weir/core';
import type {
  CommitterContext,
  ConnectorEnvironment,
  Sink,
  SinkOuterFacts,
  SinkOuterQuestion,
  SinkWriterContext,
  TransactionalCommitter,
  TransactionalWriter,
} from '@weir/core';
import { sinkName } from './application-name.ts';
import type { Connect } from './client/session.ts';
import { checkWhole, databaseOf } from './connection-options.ts';
import type { OpenDatabase, PostgresConnectionOptions } from './connection-options.ts';
import { askServer } from './sink/check-server.ts';
import type { PostgresCommittable } from './sink/committable.ts';
import { PostgresTransactionCommitter } from './sink/transaction-committer.ts';
import type { TransactionSettings } from './sink/transaction-committer.ts';
import { PREFIX_LENGTH_MAX } from './sink/transaction-name.ts';
import { PostgresTransactionWriter } from './sink/transaction-writer.ts';
import type { OpenTransaction, TransactionWriterOptions } from './sink/transaction-writer.ts';
import { checkOneOf, checkTable } from './table-options.ts';
import { deadLetterTableOf } from './table/bad-rows.ts';
import type { BadRowPolicy } from './table/bad-rows.ts';
import type { Columns } from './table/columns.ts';

export interface PostgresSinkOptions<T> extends PostgresConnectionOptions {
  /** `orders` or `public.orders`, as the catalogue writes it. Must exist. */
  readonly table: string;
  /** Columns by name; those left out get their default. */
  readonly columns: Columns<T>;
  /**
   * A row that the table does not take (a key that is there, a value that does not fit): end the
   * attempt, and the third time the job (default); count it in `badRows`; or count it and keep it
   * in a table with the columns `id text primary key, target text, reason text, row jsonb`.
   */
  readonly onBadRow?: BadRowPolicy;
  /**
   * Begin of the names of transactions, up to 48 letters, digits and `_`. Default `weir`. Before it
   * is changed, `weir tx abort` ends those of dead attempts, which a run finds by this name.
   */
  readonly transactionPrefix?: string;
  /**
   * A transaction of a completed checkpoint that cannot be committed, or of which nobody can say
   * whether it was: end the job (default), or log an error and go on without its rows.
   */
  readonly onUnresolvedCommit?: 'fail' | 'warn';
  /** Rows of one COPY. Default 5000. */
  readonly batchSize?: number;
  /** Characters of rows on their way at which the sink slows its producers. Default 16 Mi. */
  readonly bufferLength?: number;
}

/**
 * Inserts records into a table, exactly once: a transaction for each checkpoint interval and
 * subtask, prepared at the barrier and committed when the checkpoint is complete. Rows appear with
 * the checkpoint after their record. Needs PostgreSQL 13 or newer with `max_prepared_transactions`
 * of at least twice the parallelism.
 *
 * Fails for good with `SINK_REFUSED` when the table does not fit the columns, a right is missing,
 * prepared transactions are too few, or a transaction of a completed checkpoint is lost; within the
 * restart strategy with `SINK_UNAVAILABLE` when the server is away or a lock is not to be had; and
 * with `RECORD_MALFORMED` at a row that the table does not take.
 * @throws ConfigurationError when an option is not allowed.
 */
export function postgresSink<T>(
  options: PostgresSinkOptions<T>,
  connect?: Connect,
): Sink<T, never, PostgresCommittable> {
  return new ExactlyOncePostgresSink(options, connect);
}

class ExactlyOncePostgresSink<T> extends TwoPhaseCommitSink<
  T,
  OpenTransaction,
  PostgresCommittable
> {
  readonly name: string;
  readonly #open: OpenDatabase;
  readonly #writer: TransactionWriterOptions<T>;
  readonly #transactions: TransactionSettings;

  constructor(options: PostgresSinkOptions<T>, connect: Connect | undefined) {
    super();
    const { table, columns, transactionPrefix = 'weir', batchSize, bufferLength } = options;
    const badRows = options.onBadRow ?? 'fail';
    checkTable('postgresSink', options);
    checkOneOf('postgresSink onUnresolvedCommit', options.onUnresolvedCommit, ['fail', 'warn']);
    checkWhole('postgresSink', 'batchSize', { value: batchSize, least: 1 });
    checkWhole('postgresSink', 'bufferLength', { value: bufferLength, least: 1 });
    checkPrefix(transactionPrefix);
    this.name = `postgres ${table}`;
    this.#open = databaseOf('postgresSink', options, connect);
    this.#writer = {
      target: { table, columns, key: null, deadLetterTable: deadLetterTableOf(badRows) },
      badRows,
      prefix: transactionPrefix,
      batchSize: batchSize ?? 5000,
      bufferLength: bufferLength ?? 16 * 1024 ** 2,
    };
    this.#transactions = {
      prefix: transactionPrefix,
      onUnresolvedCommit: options.onUnresolvedCommit ?? 'fail',
    };
  }

  askOuterSystem(
    environment: ConnectorEnvironment,
    { parallelism }: SinkOuterQuestion,
  ): Promise<SinkOuterFacts> {
    const database = this.#open(environment, 'weir settings', 'once');
    const { prefix } = this.#transactions;
    return askServer(database, this.#writer.target, { prefix, parallelism });
  }

  protected override connectWriter(
    context: SinkWriterContext,
  ): TransactionalWriter<T, OpenTransaction, PostgresCommittable> {
    const database = this.#open(context, sinkName(context));
    return new PostgresTransactionWriter(context, database, this.#writer);
  }

  protected override connectCommitter(
    context: CommitterContext,
  ): TransactionalCommitter<PostgresCommittable> {
    const database = this.#open(context, sinkName(context));
    return new PostgresTransactionCommitter(context, database, this.#transactions);
  }
}

function checkPrefix(prefix: string): void {
  if (/^\w+$/.test(prefix) && prefix.length <= PREFIX_LENGTH_MAX) return;
  throw new ConfigurationError(
    `postgresSink transactionPrefix: ${JSON.stringify(prefix)} is not allowed, give up to ` +
      `${PREFIX_LENGTH_MAX} letters, digits and _`,
  );
}
