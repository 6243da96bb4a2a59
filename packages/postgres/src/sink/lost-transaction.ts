/**
 * The error of a transaction of a completed checkpoint that cannot be committed: its results are
 * lost, or nobody can prove that they are not. The source has moved on, so this is never a line in
 * a log: the job ends and names what is at stake, once, and a restart of the same kind cannot loop.
 */
import { WeirError } from '@weir/core';
import type { PostgresCommittable } from './committable.ts';
import type { TransactionOutcome } from './prepared-transactions.ts';

export type LostOutcome = Exclude<TransactionOutcome, 'committed' | 'pending'>;

const REASONS: Readonly<Record<LostOutcome, string>> = {
  'rolled-back':
    'somebody rolled it back, or a run of this job that has another data folder and knows of none',
  'set-back': 'the server was set back to a time before it, by a restore or a failover',
  'other-server': 'this is another server than the one it was prepared on',
  forgotten: 'the server no longer knows its number, so the outcome cannot be proven',
};

export function describeContents({ rows, table }: PostgresCommittable): string {
  return `${rows} row(s) of ${table}`;
}

export function lostTransaction(
  place: string,
  committable: PostgresCommittable,
  outcome: LostOutcome,
): WeirError {
  const { gid, xid, checkpointId, table, rows } = committable;
  const isLost = outcome === 'rolled-back' || outcome === 'set-back';
  return new WeirError(
    'user',
    `PostgreSQL at ${place} cannot commit transaction ${gid} of checkpoint ${checkpointId} with ` +
      `${describeContents(committable)}: ${REASONS[outcome]}. These results ` +
      `${isLost ? 'are lost' : 'may be lost'}. Restore an older snapshot with ` +
      'execution.state-recovery.allow-older to write them again, or go on without them with ' +
      "postgresSink({ onUnresolvedCommit: 'warn' })",
    {
      code: 'SINK_REFUSED',
      details: { reason: `transaction-${outcome}`, gid, xid, checkpointId, table, rows },
    },
  );
}
