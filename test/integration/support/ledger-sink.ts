/**
 * A two-phase-commit sink into an outer system that is a map in memory, and outlives every attempt
 * of a job: what a reader of it sees is what was committed. It is strict: a commit of what was
 * aborted, or of what it never prepared, throws.
 */
import type {
  Committer,
  CommittableStatus,
  PreparedCommit,
  Sink,
  SinkRecovery,
  SinkWriter,
  SinkWriterContext,
} from '@weir/core';
import { compareAttempts } from '../../../packages/core/src/base/ids.ts';

type Attempt = SinkWriterContext['attempt'];

interface Transaction {
  readonly id: string;
  readonly subtask: number;
  readonly attempt: Attempt;
  readonly values: readonly unknown[];
  status: 'pending' | 'committed' | 'aborted';
}

/** The outer system. */
export class Ledger<T> {
  readonly #transactions = new Map<string, Transaction>();
  /** Committed values, in the order of their commits. */
  readonly committed: T[] = [];
  /** Every call of `commit`, repeated ones too. */
  readonly commits: string[] = [];
  /** Thrown by the next commits, first to last. */
  readonly commitErrors: Error[] = [];
  recoveries = 0;

  prepare(transaction: Omit<Transaction, 'status'>): void {
    if (this.#transactions.has(transaction.id)) throw new Error(`${transaction.id} exists`);
    this.#transactions.set(transaction.id, { ...transaction, status: 'pending' });
  }

  commit(id: string): void {
    const error = this.commitErrors.shift();
    if (error !== undefined) throw error;
    this.commits.push(id);
    const transaction = this.#transactions.get(id);
    if (transaction === undefined) throw new Error(`${id} was never prepared`);
    if (transaction.status === 'aborted') throw new Error(`${id} was aborted: data is lost`);
    if (transaction.status === 'committed') return;
    transaction.status = 'committed';
    this.committed.push(...(transaction.values as T[]));
  }

  status(id: string): CommittableStatus {
    const status = this.#transactions.get(id)?.status ?? 'gone';
    return status === 'aborted' ? 'gone' : status;
  }

  /** Aborts what older attempts of these subtasks left pending. */
  abortBelow(attempt: Attempt, subtasks: readonly number[] | 'all'): void {
    for (const transaction of this.#transactions.values()) {
      const isMine = subtasks === 'all' || subtasks.includes(transaction.subtask);
      if (!isMine || transaction.status !== 'pending') continue;
      if (compareAttempts(transaction.attempt, attempt) < 0) transaction.status = 'aborted';
    }
  }

  get pending(): readonly string[] {
    return [...this.#transactions.values()]
      .filter(({ status }) => status === 'pending')
      .map(({ id }) => id);
  }
}

interface Committable {
  readonly id: string;
}

export interface LedgerOptions {
  /** Called with each value before it is written. */
  readonly onWrite?: (value: unknown) => void;
  readonly onPrepare?: (checkpointId: number) => void;
}

export function ledgerSink<T>(
  ledger: Ledger<T>,
  options: LedgerOptions = {},
): Sink<T, never, Committable> {
  return {
    name: 'Ledger',
    write: 'two-phase-commit',
    createWriter: (context) => createWriter(ledger, options, context),
    createCommitter: () => createCommitter(ledger),
  };
}

function createWriter<T>(
  ledger: Ledger<T>,
  options: LedgerOptions,
  { jobId, subtask, attempt }: SinkWriterContext,
): SinkWriter<T, never, Committable> {
  let values: T[] = [];
  let count = 0;
  return {
    write(value) {
      options.onWrite?.(value);
      values.push(value);
    },
    isWritable: true,
    whenWritable: () => Promise.resolve(),
    prepareCommit({ checkpointId }): PreparedCommit<never, Committable> {
      options.onPrepare?.(checkpointId);
      const durable = Promise.resolve();
      if (values.length === 0) return { committables: [], writerStates: [], durable };
      const id = `${jobId}-${subtask}-${attempt.epoch}.${attempt.counter}-${count++}`;
      ledger.prepare({ id, subtask, attempt, values });
      values = [];
      return { committables: [{ id }], writerStates: [], durable };
    },
    close: () => Promise.resolve(),
  };
}

function createCommitter<T>(ledger: Ledger<T>): Committer<Committable, never> {
  const commit = async (committables: readonly Committable[]): Promise<void> => {
    for (const { id } of committables) ledger.commit(id);
  };
  return {
    commit,
    probe: ({ id }) => Promise.resolve(ledger.status(id)),
    async recover({ committables, attempt, subtasks }: SinkRecovery<Committable, never>) {
      ledger.recoveries++;
      await commit(committables);
      ledger.abortBelow(attempt, subtasks);
    },
    close: () => Promise.resolve(),
  };
}
