/**
 * Ends prepared transactions from any process: commits what a completed checkpoint lists, and rolls
 * back what dead attempts left. A transaction that cannot be committed is an error, never a line in
 * a log.
 */
import type {
  CommittableStatus,
  CommitterContext,
  SinkRecovery,
  TransactionalCommitter,
  TransactionInspector,
} from '@weir/core';
import { endSessions, isLower } from '../application-name.ts';
import type { Database } from '../client/database.ts';
import { asSinkErrors, PostgresError } from '../client/postgres-errors.ts';
import type { PostgresCommittable } from './committable.ts';
import { describeContents, lostTransaction } from './lost-transaction.ts';
import {
  commitPrepared,
  outcomeOf,
  preparedNames,
  rollBackPrepared,
  statusOf,
} from './prepared-transactions.ts';
import { parseTransactionName, transactionPrefix } from './transaction-name.ts';

export interface TransactionSettings {
  readonly prefix: string;
  readonly onUnresolvedCommit: 'fail' | 'warn';
}

export class PostgresTransactionCommitter implements TransactionalCommitter<PostgresCommittable> {
  readonly #context: CommitterContext;
  readonly #database: Database;
  readonly #settings: TransactionSettings;

  readonly inspector: TransactionInspector<PostgresCommittable> = {
    openTransactions: () =>
      asSinkErrors(async () => {
        const names = await preparedNames(this.#database, this.#fullPrefix);
        return names.map((id) => ({ id, state: 'prepared' }));
      }),
    idOf: ({ gid }) => gid,
    describe: describeContents,
    abort: (id) =>
      asSinkErrors(async () => {
        if (parseTransactionName(this.#fullPrefix, id) === null) throw notOurs(this.#database, id);
        await rollBackPrepared(this.#database, id);
      }),
  };

  constructor(context: CommitterContext, database: Database, settings: TransactionSettings) {
    this.#context = context;
    this.#database = database;
    this.#settings = settings;
  }

  async commit(committable: PostgresCommittable): Promise<void> {
    await asSinkErrors(async () => {
      const outcome = await commitPrepared(this.#database, committable);
      if (outcome === 'committed' || outcome === 'pending') return;
      const error = lostTransaction(this.#database.place, committable, outcome);
      if (this.#settings.onUnresolvedCommit === 'fail') throw error;
      this.#context.logger.log('error', error.message, error.details);
    });
  }

  /**
   * Sessions of dead attempts end first: none of them can prepare anything behind our back. Then
   * what is prepared under their names, and was promised by no checkpoint, is rolled back.
   */
  async recoverAndAbort({
    attempt,
    subtasks,
    committables,
  }: SinkRecovery<PostgresCommittable, never>): Promise<void> {
    await asSinkErrors(async () => {
      const dead = { sink: this.#context, subtasks, attempt };
      await this.#database.run(() => endSessions(this.#database, this.#context, dead));
      const promised = new Set(committables.map(({ gid }) => gid));
      const rolledBack: string[] = [];
      for (const gid of await preparedNames(this.#database, this.#fullPrefix)) {
        const name = parseTransactionName(this.#fullPrefix, gid);
        if (name === null || promised.has(gid)) continue;
        if (subtasks !== 'all' && !subtasks.includes(name.subtask)) continue;
        if (!isLower(name.attempt, attempt)) {
          this.#tellOfHigher(gid);
          continue;
        }
        await rollBackPrepared(this.#database, gid);
        rolledBack.push(gid);
      }
      if (rolledBack.length > 0)
        this.#context.logger.log(
          'info',
          `postgresSink: rolled back ${rolledBack.length} transaction(s) of dead attempts`,
          { gids: rolledBack },
        );
    });
  }

  probe(committable: PostgresCommittable): Promise<CommittableStatus> {
    return asSinkErrors(async () => statusOf(await outcomeOf(this.#database, committable)));
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** Of another run of the same job id, alive or with a data folder that is gone. */
  #tellOfHigher(gid: string): void {
    this.#context.logger.log(
      'warn',
      `postgresSink: transaction ${gid} was prepared by a later attempt than this run's and ` +
        'keeps its locks; if no other run of this job is alive, end it with ROLLBACK PREPARED',
      { gid },
    );
  }

  get #fullPrefix(): string {
    return transactionPrefix(this.#settings.prefix, this.#context);
  }
}

function notOurs({ place }: Database, id: string): PostgresError {
  const message =
    `PostgreSQL at ${place}: ${id} is no transaction of this sink; \`weir tx list\` shows those ` +
    'that are';
  return new PostgresError(message, { failure: 'user' });
}
