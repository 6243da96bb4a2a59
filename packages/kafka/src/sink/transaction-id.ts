/**
 * Transactional ids: `prefix-subtask-epoch.attempt-slot`. The attempt is part of the name, so that
 * a late writer of an older attempt can touch nothing of a newer one, and so that a listing tells
 * what belongs to dead attempts. The prefix names job and operator: no two sinks share it.
 */
import type { SinkIdentity, SinkWriterContext } from '@weir/core';

export type Attempt = SinkWriterContext['attempt'];

export interface TransactionName {
  readonly subtask: number;
  readonly attempt: Attempt;
  readonly slot: number;
}

const NAME = /^(\d+)-(\d+)\.(\d+)-(\d+)$/;

export function transactionPrefix(
  prefix: string,
  sink: Pick<SinkIdentity, 'jobId' | 'operatorId'>,
): string {
  return `${prefix}-${sink.jobId}-${sink.operatorId}`;
}

export function transactionalId(
  prefix: string,
  { subtask, attempt, slot }: TransactionName,
): string {
  return `${prefix}-${subtask}-${attempt.epoch}.${attempt.counter}-${slot}`;
}

/** What an id of this prefix says; `null`: it has another prefix or form. */
export function parseTransactionalId(prefix: string, id: string): TransactionName | null {
  if (!id.startsWith(`${prefix}-`)) return null;
  const match = NAME.exec(id.slice(prefix.length + 1));
  if (match === null) return null;
  const [subtask = 0, epoch = 0, counter = 0, slot = 0] = match.slice(1).map(Number);
  return { subtask, attempt: { epoch, counter }, slot };
}

/** The full-match expression by which ListTransactions finds the ids of a prefix. */
export function idPattern(prefix: string): string {
  return `\\Q${prefix}-\\E.*`;
}
