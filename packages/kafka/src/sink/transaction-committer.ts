/**
 * Ends transactions from any process: commits what a completed checkpoint lists, and aborts what
 * dead attempts left open. A transaction that cannot be committed is an error, never a line in a
 * log.
 */
import type {
  CommittableStatus,
  CommitterContext,
  SinkRecovery,
  TransactionalCommitter,
  TransactionInspector,
} from '@weir/core';
import type { KafkaCluster } from '../client/cluster.ts';
import { asSinkErrors, KafkaError } from '../client/kafka-errors.ts';
import type { KafkaCommittable } from './committable.ts';
import { initTransaction } from './begin-transaction.ts';
import { describeContents, lostTransaction } from './lost-transaction.ts';
import { abortLingering, openTransactions } from './recover-transactions.ts';
import { parseTransactionalId, transactionPrefix } from './transaction-id.ts';
import { commitTransaction, outcomeOf, statusOf } from './transaction-outcome.ts';

export interface TransactionSettings {
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly reuseAfterCommits: number;
  readonly onUnresolvedCommit: 'fail' | 'warn';
}

/** What a writer of the same thread wants to be told: the id of each committed transaction. */
export type SlotReleases = Set<(transactionalId: string) => void>;

export class KafkaTransactionCommitter implements TransactionalCommitter<KafkaCommittable> {
  readonly #context: CommitterContext;
  readonly #cluster: KafkaCluster;
  readonly #settings: TransactionSettings;
  readonly #releases: SlotReleases;

  readonly inspector: TransactionInspector<KafkaCommittable> = {
    openTransactions: () =>
      asSinkErrors(async () => {
        const found = await openTransactions(this.#cluster, this.#fullPrefix);
        return found.map(({ transactionalId, state }) => ({ id: transactionalId, state }));
      }),
    idOf: (committable) => committable.transactionalId,
    describe: describeContents,
    abort: (id) =>
      asSinkErrors(async () => {
        if (parseTransactionalId(this.#fullPrefix, id) === null)
          throw new KafkaError(`${id} is no transaction of this sink`, { isTransient: false });
        await initTransaction(this.#cluster, id, this.#settings.timeoutMs);
      }),
  };

  constructor(
    context: CommitterContext,
    cluster: KafkaCluster,
    settings: TransactionSettings,
    releases: SlotReleases,
  ) {
    this.#context = context;
    this.#cluster = cluster;
    this.#settings = settings;
    this.#releases = releases;
  }

  async commit(committable: KafkaCommittable): Promise<void> {
    await asSinkErrors(async () => {
      const outcome = await commitTransaction(this.#cluster, committable);
      if (outcome !== 'committed' && outcome !== 'pending') {
        const error = lostTransaction(committable, outcome);
        if (this.#settings.onUnresolvedCommit === 'fail') throw error;
        this.#context.logger.log('error', error.message, error.details);
      }
      for (const release of this.#releases) release(committable.transactionalId);
    });
  }

  async recoverAndAbort({
    attempt,
    subtasks,
  }: SinkRecovery<KafkaCommittable, never>): Promise<void> {
    const { timeoutMs } = this.#settings;
    const { aborted, others } = await asSinkErrors(() =>
      abortLingering(this.#cluster, { prefix: this.#fullPrefix, attempt, subtasks, timeoutMs }),
    );
    if (aborted.length > 0)
      this.#context.logger.log(
        'info',
        `kafkaSink: aborted ${aborted.length} transaction(s) of dead attempts`,
        { transactionalIds: aborted },
      );
    // While a part of the job restarts, the others are its own.
    if (others.length > 0 && subtasks === 'all')
      this.#context.logger.log('warn', othersOpen(others), { transactionalIds: others });
  }

  probe(committable: KafkaCommittable): Promise<CommittableStatus> {
    return asSinkErrors(async () => statusOf(await outcomeOf(this.#cluster, committable)));
  }

  get #fullPrefix(): string {
    return transactionPrefix(this.#settings.prefix, this.#context);
  }

  close(): Promise<void> {
    return this.#cluster.close();
  }
}

function othersOpen(ids: readonly string[]): string {
  return (
    `kafkaSink: ${ids.length} open transaction(s) are of attempts that are not older than this ` +
    `run, such as ${ids[0]}. Either another run of this job, with another data folder, writes to ` +
    'the same cluster: then give one of them its own transactionalIdPrefix, at once, or they ' +
    'abort the transactions of each other. Or the data folder of a former run is gone: then what ' +
    'it left holds up readers until its time-out'
  );
}
