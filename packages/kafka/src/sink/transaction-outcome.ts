/**
 * Commits transactions and finds out what became of them. EndTxn is idempotent under protocol 1; an
 * answer that leaves the outcome open is resolved by asking the coordinator for the transaction:
 *
 *   producer id, epoch     state                        what happened
 *   ours, ours             CompleteCommit               committed
 *   ours, ours             Ongoing, PrepareCommit       pending: try again
 *   ours, ours             PrepareAbort, CompleteAbort  aborted by somebody
 *   ours, ours + 1         CompleteCommit               committed by protocol 2
 *   ours, ours + 1         …Abort, PrepareEpochFence    the broker's time-out, or a fencing
 *   others                 any                          superseded: cannot be proven
 *   not found              —                            expired: cannot be proven
 */
import type { CommittableStatus } from '@weir/core';
import type { KafkaCluster } from '../client/cluster.ts';
import { checkCoordinatorAnswer } from '../client/cluster.ts';
import { refused } from '../client/kafka-errors.ts';
import * as codes from '../wire/error-codes.ts';
import { DESCRIBE_TRANSACTIONS, END_TXN } from '../wire/transactions.ts';
import type { TransactionDescription } from '../wire/transactions.ts';
import type { KafkaCommittable } from './committable.ts';

export type TransactionOutcome =
  | 'committed'
  | 'pending'
  | 'aborted'
  | 'timed-out'
  | 'superseded'
  | 'expired';

/** Answers of EndTxn after which only the coordinator can tell what happened. */
const OPEN_OUTCOME: ReadonlySet<number> = new Set([
  codes.PRODUCER_FENCED,
  codes.INVALID_PRODUCER_EPOCH,
  codes.INVALID_TXN_STATE,
  codes.INVALID_PRODUCER_ID_MAPPING,
]);

/** Commits, or tells why that cannot be. Retries what may be retried; then it throws. */
export function commitTransaction(
  cluster: KafkaCluster,
  committable: KafkaCommittable,
): Promise<TransactionOutcome> {
  const { transactionalId, producerId, epoch } = committable;
  const place = { type: 'transaction', name: transactionalId } as const;
  return cluster.retry(async () => {
    const request = { transactionalId, producerId, epoch, commit: true };
    const { errorCode } = await cluster.callCoordinator(place, END_TXN, request);
    if (errorCode === codes.NONE) return 'committed';
    if (OPEN_OUTCOME.has(errorCode)) {
      const outcome = await outcomeOf(cluster, committable);
      if (outcome !== 'pending') return outcome;
      throw refused(`to commit ${transactionalId}`, codes.CONCURRENT_TRANSACTIONS);
    }
    checkCoordinatorAnswer(cluster, place, errorCode, `to commit ${transactionalId}`);
    return 'committed';
  });
}

/** What became of a transaction, without changing it. */
export async function outcomeOf(
  cluster: KafkaCluster,
  committable: KafkaCommittable,
): Promise<TransactionOutcome> {
  const { transactionalId } = committable;
  const description = await describeTransaction(cluster, transactionalId);
  return description === null ? 'expired' : readOutcome(committable, description);
}

/** `null`: the coordinator does not know the id (any more). */
export function describeTransaction(
  cluster: KafkaCluster,
  transactionalId: string,
): Promise<TransactionDescription | null> {
  const place = { type: 'transaction', name: transactionalId } as const;
  return cluster.retry(async () => {
    const found = await cluster.callCoordinator(place, DESCRIBE_TRANSACTIONS, [transactionalId]);
    const [description] = found;
    if (description === undefined) return null;
    if (description.errorCode === codes.TRANSACTIONAL_ID_NOT_FOUND) return null;
    const what = `to describe ${transactionalId}`;
    checkCoordinatorAnswer(cluster, place, description.errorCode, what);
    return description;
  });
}

export function readOutcome(
  { producerId, epoch }: KafkaCommittable,
  found: TransactionDescription,
): TransactionOutcome {
  if (found.producerId !== producerId) return 'superseded';
  const isAborted = /Abort$|EpochFence$/.test(found.state);
  if (found.epoch === epoch) {
    if (found.state === 'CompleteCommit') return 'committed';
    if (found.state === 'Ongoing' || found.state === 'PrepareCommit') return 'pending';
    return isAborted ? 'aborted' : 'superseded';
  }
  if (found.epoch !== epoch + 1) return 'superseded';
  if (found.state.endsWith('Commit')) return 'committed';
  return isAborted ? 'timed-out' : 'superseded';
}

export function statusOf(outcome: TransactionOutcome): CommittableStatus {
  return outcome === 'committed' || outcome === 'pending' ? outcome : 'gone';
}
