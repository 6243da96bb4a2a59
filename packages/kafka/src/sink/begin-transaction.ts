/**
 * InitProducerId: gives a transactional id its producer id and next epoch, and ends whatever
 * transaction is open under the id, by aborting it. So it both begins a transaction of ours and
 * aborts one that a dead process left behind.
 */
import type { KafkaCluster } from '../client/cluster.ts';
import { checkCoordinatorAnswer } from '../client/cluster.ts';
import { KafkaError } from '../client/kafka-errors.ts';
import * as codes from '../wire/error-codes.ts';
import { DESCRIBE_CONFIGS } from '../wire/metadata.ts';
import { INIT_PRODUCER_ID } from '../wire/transactions.ts';
import type { TransactionRef } from '../wire/transactions.ts';

export const MAX_TIMEOUT_KEY = 'transaction.max.timeout.ms';

export async function initTransaction(
  cluster: KafkaCluster,
  transactionalId: string,
  timeoutMs: number,
): Promise<TransactionRef> {
  const place = { type: 'transaction', name: transactionalId } as const;
  return cluster.retry(async () => {
    const request = { transactionalId, timeoutMs };
    const found = await cluster.callCoordinator(place, INIT_PRODUCER_ID, request);
    if (found.errorCode === codes.INVALID_TRANSACTION_TIMEOUT)
      throw tooLong(timeoutMs, await maxTimeoutMs(cluster));
    checkCoordinatorAnswer(cluster, place, found.errorCode, `transaction ${transactionalId}`);
    return { transactionalId, producerId: found.producerId, epoch: found.epoch };
  });
}

/** The broker's limit; `null` where the client may not ask. */
export async function maxTimeoutMs(cluster: KafkaCluster): Promise<number | null> {
  try {
    const { brokers } = await cluster.metadata([]);
    const [broker] = brokers;
    if (broker === undefined) return null;
    const request = { of: { nodeId: broker.nodeId }, names: [MAX_TIMEOUT_KEY] };
    const { entries } = await cluster.call(broker, DESCRIBE_CONFIGS, request);
    const value = Number(entries.find((entry) => entry.name === MAX_TIMEOUT_KEY)?.value ?? '');
    return value > 0 ? value : null;
  } catch {
    return null;
  }
}

/** What the broker answers to a transaction that may stay open for too long. */
export function tooLong(timeoutMs: number, maxMs: number | null): KafkaError {
  const limit =
    maxMs === null ? `the broker's ${MAX_TIMEOUT_KEY}` : `${MAX_TIMEOUT_KEY} = ${maxMs}`;
  return new KafkaError(
    `kafkaSink transactionTimeoutMs = ${timeoutMs} is above ${limit} of the broker; the rule is ` +
      'checkpoint interval + checkpoint time-out + longest outage < transaction time-out ≤ the ' +
      "broker's maximum: lower the one or raise the other",
    { isTransient: false, errorCode: codes.INVALID_TRANSACTION_TIMEOUT },
  );
}
