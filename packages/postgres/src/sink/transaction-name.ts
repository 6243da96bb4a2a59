/**
 * Names of prepared transactions: `prefix-job-operator-subtask-epoch.attempt-number-run`. The
 * attempt is part of the name, so that a listing tells what belongs to dead attempts, whatever
 * their parallelism was. `run` is drawn anew by every writer: after the data folder of a job was
 * removed its attempts begin again, and its names must not meet those of before.
 */
import type { SinkIdentity } from '@weir/core';
import type { Attempt } from '../application-name.ts';

export interface TransactionName {
  readonly subtask: number;
  readonly attempt: Attempt;
  /** Counts the transactions of a writer. */
  readonly number: number;
  readonly run: string;
}

const NAME = /^(\d+)-(\d+)\.(\d+)-(\d+)-([0-9a-f]+)$/;

/** PostgreSQL's limit is 200 bytes; job, operator and the rest need up to 150. */
export const PREFIX_LENGTH_MAX = 48;

/** What the names of a sink begin with, and those of no other. */
export function transactionPrefix(
  prefix: string,
  sink: Pick<SinkIdentity, 'jobId' | 'operatorId'>,
): string {
  return `${prefix}-${sink.jobId}-${sink.operatorId}`;
}

export function transactionName(
  prefix: string,
  { subtask, attempt, number, run }: TransactionName,
): string {
  return `${prefix}-${subtask}-${attempt.epoch}.${attempt.counter}-${number}-${run}`;
}

/** What a name of this prefix says; `null`: it has another prefix or form. */
export function parseTransactionName(prefix: string, name: string): TransactionName | null {
  if (!name.startsWith(`${prefix}-`)) return null;
  const match = NAME.exec(name.slice(prefix.length + 1));
  if (match === null) return null;
  const [subtask = 0, epoch = 0, counter = 0, number = 0] = match.slice(1, 5).map(Number);
  return { subtask, attempt: { epoch, counter }, number, run: match[5] ?? '' };
}
