/**
 * Writes the transactions of one subtask over one session: BEGIN, COPY after COPY, and PREPARE
 * TRANSACTION at the barrier, in the order in which they were asked for.
 *
 * A transaction is begun ahead, so that its number is known when the checkpoint has to name it. One
 * that nobody needs is given back every ten seconds, since the server cannot clean up behind an
 * open transaction.
 */
import { WeirError } from '@weir/core';
import type { SinkWriterContext, Timer, TransactionalWriter } from '@weir/core';
import { writerName } from '../application-name.ts';
import type { Database } from '../client/database.ts';
import { asSinkError, OUT_OF_MEMORY, PostgresError } from '../client/postgres-errors.ts';
import type { Session } from '../client/session.ts';
import { BadRows } from '../table/bad-rows.ts';
import type { BadRowPolicy, DeadLetter } from '../table/bad-rows.ts';
import { toLine } from '../table/copy-text.ts';
import { isBadRow, RowEncoder } from '../table/row-encoder.ts';
import { literal } from '../table/sql-names.ts';
import { readLayout } from '../table/table-layout.ts';
import type { Target } from '../table/table-layout.ts';
import type { PostgresCommittable } from './committable.ts';
import { checkServer, neededPrepared } from './check-server.ts';
import { reasonOf, RowCopier } from './row-copier.ts';
import { transactionName, transactionPrefix } from './transaction-name.ts';

export interface TransactionWriterOptions<T> {
  readonly target: Target<T>;
  readonly badRows: BadRowPolicy;
  readonly prefix: string;
  readonly batchSize: number;
  /** Characters of rows on their way at which the writer takes no more. */
  readonly bufferLength: number;
}

export interface OpenTransaction {
  readonly gid: string;
  readonly xid: string;
  readonly lines: string[];
  length: number;
  rows: number;
  readonly deadLetters: DeadLetter[];
}

/** Ends a batch before its rows are so many. */
const BATCH_LENGTH_MAX = 512 * 1024;
const IDLE_MS = 10_000;

export class PostgresTransactionWriter<T> implements TransactionalWriter<
  T,
  OpenTransaction,
  PostgresCommittable
> {
  readonly #context: SinkWriterContext;
  readonly #database: Database;
  readonly #options: TransactionWriterOptions<T>;
  readonly #badRows: BadRows;
  readonly #fullPrefix: string;
  readonly #run: string;
  #session: Session | null = null;
  #encoder: RowEncoder<T> | null = null;
  #copier: RowCopier<T> | null = null;
  #systemId = '';
  #where = '';
  #count = 0;
  #ready: Pick<OpenTransaction, 'gid' | 'xid'> | null = null;
  #current: OpenTransaction | null = null;
  #idle: Timer | null = null;
  /** Steps run one after another; the first that fails ends the writer. */
  #work: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;
  #pendingLength = 0;

  constructor(
    context: SinkWriterContext,
    database: Database,
    options: TransactionWriterOptions<T>,
  ) {
    this.#context = context;
    this.#database = database;
    this.#options = options;
    this.#badRows = new BadRows(options.badRows, context);
    this.#fullPrefix = transactionPrefix(options.prefix, context);
    this.#run = context.random.hex(8);
  }

  async open(): Promise<void> {
    await this.#database.run(async () => {
      const { target } = this.#options;
      this.#session?.destroy();
      const session = await this.#database.openSession(writerName(this.#context, this.#context));
      this.#session = session;
      const { place } = this.#database;
      this.#systemId = await checkServer(session, place, {
        prefix: this.#fullPrefix,
        parallelism: this.#context.parallelism,
      });
      const layout = await readLayout(session, place, target);
      this.#where = layout.where;
      this.#encoder = new RowEncoder(layout, target.columns);
      this.#copier = new RowCopier(session, {
        layout,
        encoder: this.#encoder,
        badRows: this.#badRows,
      });
      await this.#begin();
    });
  }

  get isWritable(): boolean {
    if (this.#failure !== null) return false;
    if (this.#ready === null && this.#current === null) return false;
    return this.#pendingLength < this.#options.bufferLength;
  }

  async whenWritable(): Promise<void> {
    while (!this.isWritable) {
      if (this.#current !== null) this.#flush(this.#current);
      await this.#work;
      if (this.#failure !== null) throw this.#failure.error;
    }
  }

  begin(): OpenTransaction {
    if (this.#failure !== null) throw this.#failure.error;
    const ready = this.#ready;
    if (ready === null) throw new Error('a transaction was begun before one was ready');
    this.#ready = null;
    this.#idle?.cancel();
    this.#current = { ...ready, lines: [], length: 0, rows: 0, deadLetters: [] };
    return this.#current;
  }

  write(transaction: OpenTransaction, value: T): void {
    if (this.#failure !== null) throw this.#failure.error;
    const row = this.#encoder?.encode(value);
    if (row === undefined) throw new Error('postgresSink is written to before it is open');
    transaction.rows++;
    if (isBadRow(row)) {
      this.#badRows.passOver(row);
      transaction.deadLetters.push({ id: this.#letterId(transaction), bad: row });
      return;
    }
    const line = toLine(row);
    transaction.lines.push(line);
    transaction.length += line.length;
    this.#pendingLength += line.length;
    const { batchSize } = this.#options;
    if (transaction.lines.length >= batchSize || transaction.length >= BATCH_LENGTH_MAX)
      this.#flush(transaction);
  }

  preCommit(
    transaction: OpenTransaction,
    checkpointId: number,
  ): { readonly committable: PostgresCommittable; readonly durable: Promise<void> } {
    this.#current = null;
    const { gid, xid, rows } = transaction;
    this.#flush(transaction);
    const durable = this.#step(() => this.#prepare(transaction));
    void this.#step(() => this.#begin());
    const { table } = this.#options.target;
    return {
      committable: { gid, xid, systemId: this.#systemId, checkpointId, table, rows },
      durable,
    };
  }

  /** The server rolls back with the end of the session, which follows. */
  abort(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#idle?.cancel();
    this.#failure ??= { error: new Error('the writer is closed') };
    await this.#session?.close();
    await this.#database.close();
  }

  #flush(transaction: OpenTransaction): void {
    const lines = transaction.lines.splice(0);
    const { length } = transaction;
    transaction.length = 0;
    if (lines.length === 0) return;
    void this.#step(async () => {
      for (const bad of await this.#opened(this.#copier).copy(lines))
        transaction.deadLetters.push({ id: this.#letterId(transaction), bad });
      this.#pendingLength -= length;
    });
  }

  async #prepare({ gid, deadLetters }: OpenTransaction): Promise<void> {
    const session = this.#opened(this.#session);
    const letters = this.#badRows.deadLetters(deadLetters);
    if (letters !== null) await session.query(letters.what, letters.text, letters.values);
    try {
      await session.query(`to prepare ${gid}`, `prepare transaction ${literal(gid)}`);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  async #begin(): Promise<void> {
    const { subtask, attempt } = this.#context;
    const session = this.#opened(this.#session);
    const what = 'to begin a transaction';
    const [row] = await session.query(what, 'begin; select pg_current_xact_id()::text as xid');
    const name = { subtask, attempt, number: this.#count++, run: this.#run };
    this.#ready = { gid: transactionName(this.#fullPrefix, name), xid: String(row?.['xid']) };
    this.#idle = this.#context.clock.schedule(IDLE_MS, 'postgres-idle', () => this.#giveBack());
  }

  #giveBack(): void {
    if (this.#ready === null) return;
    this.#ready = null;
    void this.#step(async () => {
      await this.#opened(this.#session).query('to give a transaction back', 'rollback');
      await this.#begin();
    });
  }

  /** Resolves when the step is done; a failure also ends everything behind it. */
  #step(run: () => Promise<void>): Promise<void> {
    const done = this.#work.then(async () => {
      if (this.#failure !== null) throw this.#failure.error;
      try {
        await run();
      } catch (error) {
        this.#failure ??= { error: asSinkError(error) };
        throw this.#failure.error;
      }
    });
    this.#work = done.catch(() => undefined);
    done.catch(() => undefined);
    return done;
  }

  #letterId({ gid, deadLetters }: OpenTransaction): string {
    return `${gid}-${deadLetters.length}`;
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof PostgresError)) return error;
    const { parallelism } = this.#context;
    if (error.server?.sqlState === OUT_OF_MEMORY)
      return new PostgresError(
        `${error.message}. This sink needs up to ${neededPrepared(parallelism)} prepared ` +
          'transactions (2 for each subtask), beside those of others',
        { failure: 'transient', server: error.server, cause: error },
      );
    if (error.failure !== 'data') return error;
    return new WeirError(
      'function',
      // Without the name of the transaction, which differs at each attempt.
      `${this.#where} does not take the rows of a checkpoint: ${reasonOf(error)}. The constraint ` +
        'is looked at only when the transaction ends, so nobody can tell which row it was: make ' +
        'the constraint immediate (not deferrable)',
      { code: 'RECORD_MALFORMED', cause: error },
    );
  }

  #opened<V>(value: V | null): V {
    if (value === null) throw new Error('postgresSink is not open');
    return value;
  }
}
