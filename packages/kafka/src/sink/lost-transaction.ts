/**
 * The error of a transaction of a completed checkpoint that cannot be committed: its results are
 * lost, or nobody can prove that they are not. The source has moved on, so this is never a line in
 * a log: the job ends and names what is at stake, once, and a restart of the same kind cannot loop.
 */
import { WeirError } from '@weir/core';
import type { KafkaCommittable } from './committable.ts';
import type { TransactionOutcome } from './transaction-outcome.ts';

const REASONS: Readonly<Record<Exclude<TransactionOutcome, 'committed' | 'pending'>, string>> = {
  'timed-out': "it was aborted by the broker's transaction time-out, or fenced",
  aborted: 'somebody aborted it',
  superseded: 'its transactional id has been used again since, so the outcome cannot be proven',
  expired: 'the broker no longer knows its transactional id, so the outcome cannot be proven',
};

export function describeContents({ contents }: KafkaCommittable): string {
  const records = contents.reduce((sum, it) => sum + it.records, 0);
  const places = contents.map((it) => `${it.topic}/${it.partition}: ${it.records}`).join(', ');
  return `${records} record(s) (${places})`;
}

export function lostTransaction(
  committable: KafkaCommittable,
  outcome: Exclude<TransactionOutcome, 'committed' | 'pending'>,
): WeirError {
  const { transactionalId, checkpointId, firstWriteTs, timeoutMs } = committable;
  const isLost = outcome === 'timed-out' || outcome === 'aborted';
  return new WeirError(
    'user',
    `kafkaSink cannot commit transaction ${transactionalId} of checkpoint ${checkpointId} with ` +
      `${describeContents(committable)}: ${REASONS[outcome]}. These results ` +
      `${isLost ? 'are lost' : 'may be lost'}. Restore an older snapshot with ` +
      'execution.state-recovery.allow-older to write them again, or go on without them with ' +
      "kafkaSink({ onUnresolvedCommit: 'warn' })",
    {
      code: 'SINK_REFUSED',
      details: {
        reason: `transaction-${outcome}`,
        transactionalId,
        checkpointId,
        firstWrite: new Date(firstWriteTs).toISOString(),
        timeoutMs,
        contents: committable.contents,
      },
    },
  );
}
