/**
 * Aborts what dead attempts left open. Runs after the committables of the snapshot are committed,
 * so whatever is still open under an id of a lower attempt belongs to no completed checkpoint (or
 * to one that is given up). Every broker is asked, for each coordinates some of the ids; a former
 * parallelism needs no probing. Live siblings and newer attempts are never touched.
 */
import type { KafkaCluster } from '../client/cluster.ts';
import { refused } from '../client/kafka-errors.ts';
import { NONE } from '../wire/error-codes.ts';
import { LIST_TRANSACTIONS } from '../wire/transactions.ts';
import type { ListedTransaction } from '../wire/transactions.ts';
import { initTransaction } from './begin-transaction.ts';
import { idPattern, parseTransactionalId } from './transaction-id.ts';
import type { Attempt } from './transaction-id.ts';

export interface LingeringOptions {
  readonly prefix: string;
  readonly attempt: Attempt;
  readonly subtasks: readonly number[] | 'all';
  readonly timeoutMs: number;
}

export interface Lingering {
  /** The ids whose transactions were aborted. */
  readonly aborted: readonly string[];
  /** Ids of attempts that are not lower: live siblings, or another run with the same ids. */
  readonly others: readonly string[];
}

export async function abortLingering(
  cluster: KafkaCluster,
  { prefix, attempt, subtasks, timeoutMs }: LingeringOptions,
): Promise<Lingering> {
  const aborted: string[] = [];
  const others: string[] = [];
  for (const { transactionalId } of await openTransactions(cluster, prefix)) {
    const name = parseTransactionalId(prefix, transactionalId);
    if (name === null) continue;
    if (!isLower(name.attempt, attempt)) others.push(transactionalId);
    else if (subtasks === 'all' || subtasks.includes(name.subtask)) {
      await initTransaction(cluster, transactionalId, timeoutMs);
      aborted.push(transactionalId);
    }
  }
  return { aborted, others };
}

/** The open transactions of a prefix, on all brokers. */
export async function openTransactions(
  cluster: KafkaCluster,
  prefix: string,
): Promise<readonly ListedTransaction[]> {
  const { brokers } = await cluster.retry(() => cluster.metadata([]));
  const found = new Map<string, ListedTransaction>();
  for (const broker of brokers) {
    const request = { states: ['Ongoing'], idPattern: idPattern(prefix) };
    const { transactions } = await cluster.retry(async () => {
      const answer = await cluster.call(broker, LIST_TRANSACTIONS, request);
      if (answer.errorCode === NONE) return answer;
      throw refused(`to list the transactions of broker ${broker.nodeId}`, answer.errorCode);
    });
    // Older brokers do not know the expression and list all.
    for (const transaction of transactions)
      if (transaction.transactionalId.startsWith(`${prefix}-`))
        found.set(transaction.transactionalId, transaction);
  }
  return [...found.values()];
}

function isLower(a: Attempt, b: Attempt): boolean {
  return a.epoch === b.epoch ? a.counter < b.counter : a.epoch < b.epoch;
}
