/**
 * The ready base for a sink whose outer system has transactions (Flink's TwoPhaseCommitSinkFunction
 * in the shape of Sink V2). It says *when*: begin with the first record of a checkpoint interval
 * (or at the barrier), pre-commit at the barrier, commit when the checkpoint is complete, from
 * whatever process is then alive. `TransactionalWriter` and `TransactionalCommitter` say *how*.
 *
 * Whoever implements these two asserts five demands on the outer system:
 *
 * 1. It has transactions, or something that can stand in for them (files under a hidden name).
 * 2. A transaction stays open and takes writes for a whole checkpoint interval.
 * 3. A pre-committed transaction stays pending until the completion of its checkpoint is known,
 * over
 *    a failure and a recovery too. A system that ends it after a while (a transaction time-out)
 * must
 *    be given more time than interval, checkpoint time-out and restart together.
 * 4. It can be recovered when the process that wrote it is gone: a committable is plain data, and
 *    enough to commit the transaction from anywhere.
 * 5. To commit is idempotent: after a crash it is done again for what is committed already.
 */
import type {
  CommittableStatus,
  Committer,
  CommitterContext,
  PreparedCommit,
  Sink,
  SinkRecovery,
  SinkWriter,
  SinkWriterContext,
  WriteMode,
} from './sink.ts';
import type { TransactionInspector } from './transaction-inspector.ts';

/** Writes transactions of the outer system, in one subtask. */
export interface TransactionalWriter<T, Transaction, Committable> {
  /** Connects; called once, before anything else. */
  open?(): Promise<void>;
  /**
   * A new transaction. Synchronous: what takes time is done ahead, or while records are buffered.
   */
  begin(): Transaction;
  /** Adds a record. Synchronous: it buffers. */
  write(
    transaction: Transaction,
    value: T,
    context: { readonly timestamp: number; readonly watermark: number },
  ): void;
  /** Whether `begin` and `write` may be called now. Absent: always. */
  readonly isWritable?: boolean;
  /** Resolves when `isWritable` is true; rejects when it never will be. */
  whenWritable?(): Promise<void>;
  /**
   * No more records for this transaction. Its committable, or null when there is nothing to commit;
   * `durable` resolves when everything written is in the outer system and can be committed.
   */
  preCommit(
    transaction: Transaction,
    checkpointId: number,
  ): { readonly committable: Committable | null; readonly durable: Promise<void> };
  /** Drops a transaction that was not pre-committed. */
  abort(transaction: Transaction): Promise<void>;
  close(): Promise<void>;
}

/** Ends transactions of the outer system, from whatever process. */
export interface TransactionalCommitter<Committable> {
  /** Connects; called once, before anything else. */
  open?(): Promise<void>;
  /**
   * Makes a pre-committed transaction visible. Idempotent. A rejection of kind `transient` is tried
   * again; any other ends the job. Never resolve without proof that the data is visible.
   */
  commit(committable: Committable): Promise<void>;
  /** As `commit`, for a committable out of a snapshot. Default: `commit`. */
  recoverAndCommit?(committable: Committable): Promise<void>;
  /**
   * Drops what dead attempts left open: transactions of this sink of attempts lower than
   * `recovery.attempt` and of the subtasks named, of any former parallelism, that are not among
   * `recovery.committables`. Called after all of those were committed.
   */
  recoverAndAbort(recovery: SinkRecovery<Committable, never>): Promise<void>;
  /** Tells what became of a committable, by asking the outer system. */
  probe(committable: Committable): Promise<CommittableStatus>;
  /** For `weir tx`. Absent: the sink's transactions cannot be listed. */
  readonly inspector?: TransactionInspector<Committable>;
  close(): Promise<void>;
}

/**
 * Base class of two-phase-commit sinks: give it a name, and connect its writers and committers to
 * an outer system that meets the five demands in the head text of this file.
 *
 * A committable belongs to exactly one transaction. Transactions of aborted checkpoints stay
 * pending and are committed with the next checkpoint that completes. When one commit fails, the
 * others of that checkpoint are still tried, and then the first error is thrown.
 */
export abstract class TwoPhaseCommitSink<T, Transaction, Committable> implements Sink<
  T,
  never,
  Committable
> {
  abstract readonly name: string;
  readonly write: WriteMode = 'two-phase-commit';
  readonly readersDuty?: string;
  /**
   * When a transaction begins: `first-record` (default) leaves intervals without records without a
   * transaction; `barrier` begins one at open and at every barrier.
   */
  readonly beginAt: 'first-record' | 'barrier' = 'first-record';

  protected abstract connectWriter(
    context: SinkWriterContext,
  ): TransactionalWriter<T, Transaction, Committable>;

  protected abstract connectCommitter(
    context: CommitterContext,
  ): TransactionalCommitter<Committable>;

  createWriter(context: SinkWriterContext): SinkWriter<T, never, Committable> {
    return new TransactionWriter(this.connectWriter(context), this.beginAt === 'barrier');
  }

  createCommitter(context: CommitterContext): Committer<Committable, never> {
    return new TransactionCommitter(this.connectCommitter(context));
  }
}

class TransactionWriter<T, Transaction, Committable> implements SinkWriter<T, never, Committable> {
  readonly #outer: TransactionalWriter<T, Transaction, Committable>;
  readonly #beginsAtBarrier: boolean;
  #current: Transaction | null = null;
  #isFinished = false;

  constructor(outer: TransactionalWriter<T, Transaction, Committable>, beginsAtBarrier: boolean) {
    this.#outer = outer;
    this.#beginsAtBarrier = beginsAtBarrier;
  }

  async open(): Promise<void> {
    await this.#outer.open?.();
    if (this.#beginsAtBarrier) this.#current = this.#outer.begin();
  }

  get isWritable(): boolean {
    return this.#outer.isWritable ?? true;
  }

  whenWritable(): Promise<void> {
    return this.#outer.whenWritable?.() ?? Promise.resolve();
  }

  write(value: T, context: { readonly timestamp: number; readonly watermark: number }): void {
    if (this.#isFinished) throw new Error('a record came after the end of the input');
    this.#current ??= this.#outer.begin();
    this.#outer.write(this.#current, value, context);
  }

  prepareCommit(options: {
    readonly checkpointId: number;
    readonly endOfInput: boolean;
  }): PreparedCommit<never, Committable> {
    const transaction = this.#current;
    this.#current = null;
    if (options.endOfInput) this.#isFinished = true;
    const prepared =
      transaction === null ? null : this.#outer.preCommit(transaction, options.checkpointId);
    if (this.#beginsAtBarrier && !this.#isFinished) this.#current = this.#outer.begin();
    const committable = prepared?.committable ?? null;
    return {
      committables: committable === null ? [] : [committable],
      writerStates: [],
      durable: prepared?.durable ?? Promise.resolve(),
    };
  }

  /** Aborts what was not pre-committed, and that alone. */
  async close(): Promise<void> {
    const transaction = this.#current;
    this.#current = null;
    try {
      if (transaction !== null) await this.#outer.abort(transaction);
    } finally {
      await this.#outer.close();
    }
  }
}

class TransactionCommitter<Committable> implements Committer<Committable, never> {
  readonly #outer: TransactionalCommitter<Committable>;
  #opening: Promise<void> | null = null;

  constructor(outer: TransactionalCommitter<Committable>) {
    this.#outer = outer;
  }

  get inspector(): TransactionInspector<Committable> | undefined {
    return this.#outer.inspector;
  }

  async commit(committables: readonly Committable[]): Promise<void> {
    await this.#open();
    await allOf(committables, (committable) => this.#outer.commit(committable));
  }

  async probe(committable: Committable): Promise<CommittableStatus> {
    await this.#open();
    return this.#outer.probe(committable);
  }

  async recover(recovery: SinkRecovery<Committable, never>): Promise<void> {
    await this.#open();
    const outer = this.#outer;
    await allOf(recovery.committables, (committable) =>
      outer.recoverAndCommit === undefined
        ? outer.commit(committable)
        : outer.recoverAndCommit(committable),
    );
    await outer.recoverAndAbort(recovery);
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    await this.#outer.close();
  }

  #open(): Promise<void> {
    this.#opening ??= this.#outer.open?.() ?? Promise.resolve();
    return this.#opening;
  }
}

/** Every one is tried, in order; then the first error is thrown. */
async function allOf<C>(
  committables: readonly C[],
  commit: (committable: C) => Promise<void>,
): Promise<void> {
  let failure: { readonly error: unknown } | null = null;
  for (const committable of committables) {
    try {
      await commit(committable);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== null) throw failure.error;
}
