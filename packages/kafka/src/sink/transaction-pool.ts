/**
 * The transactional ids of one writer. The next transaction is initialised ahead, so that one is
 * ready at every barrier: the broker's clock starts only when a partition is added. A slot is used
 * again when its commit is acknowledged and so many checkpoints were committed after it that no
 * retained one lists it any more: then its producer id and epoch are needed no longer to prove an
 * outcome, and the broker's list of ids stays short. Slots of aborted checkpoints stay taken until
 * their transaction is committed with a later one, which lists them all.
 */
import type { KafkaCluster } from '../client/cluster.ts';
import type { TransactionRef } from '../wire/transactions.ts';
import { initTransaction } from './begin-transaction.ts';
import { transactionalId } from './transaction-id.ts';
import type { Attempt } from './transaction-id.ts';

export interface TransactionPoolOptions {
  readonly cluster: KafkaCluster;
  readonly prefix: string;
  readonly subtask: number;
  readonly attempt: Attempt;
  readonly timeoutMs: number;
  /** Checkpoints committed by this writer between that of a slot and its next use. */
  readonly reuseAfterCommits: number;
}

export class TransactionPool {
  readonly #options: TransactionPoolOptions;
  /** Slots that were committed, the oldest first, with the number of their checkpoint. */
  readonly #resting: { readonly id: string; readonly committedWith: number }[] = [];
  /** Slots whose transaction is open or pending, and which pre-commit that was; 0: open. */
  readonly #taken = new Map<string, number>();
  #preCommits = 0;
  /** Checkpoints whose transactions were committed. */
  #commits = 0;
  /** The newest pre-commit when the first transaction of the last of these was committed. */
  #lastCommitted = 0;
  #slotCount = 0;
  #ready: TransactionRef | null = null;
  #preparing: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  constructor(options: TransactionPoolOptions) {
    this.#options = options;
  }

  get isReady(): boolean {
    return this.#ready !== null;
  }

  /** Ids made so far: bounded by the checkpoints that are open or retained. */
  get slotCount(): number {
    return this.#slotCount;
  }

  /** Resolves when a transaction can be taken. */
  async whenReady(): Promise<void> {
    this.#prepare();
    await this.#preparing;
    if (this.#failure !== null) throw this.#failure.error;
  }

  take(): TransactionRef {
    if (this.#failure !== null) throw this.#failure.error;
    const ready = this.#ready;
    if (ready === null) throw new Error('a transaction was begun before one was ready');
    this.#ready = null;
    this.#taken.set(ready.transactionalId, 0);
    this.#prepare();
    return ready;
  }

  /** The transaction of this id belongs to a checkpoint from now on. */
  preCommitted(id: string): void {
    this.#taken.set(id, ++this.#preCommits);
  }

  /** The transaction of this id was committed; ids of other writers are none of its business. */
  committed(id: string): void {
    const preCommit = this.#taken.get(id);
    if (preCommit === undefined) return;
    this.#taken.delete(id);
    // Those before it that are committed now belong to aborted checkpoints: they count as one.
    if (preCommit > this.#lastCommitted) {
      this.#commits++;
      this.#lastCommitted = this.#preCommits;
    }
    this.#resting.push({ id, committedWith: this.#commits });
  }

  async close(): Promise<void> {
    await this.#preparing;
  }

  #prepare(): void {
    if (this.#ready !== null || this.#preparing !== null) return;
    const { cluster, timeoutMs } = this.#options;
    this.#preparing = initTransaction(cluster, this.#nextId(), timeoutMs)
      .then((ready) => {
        this.#ready = ready;
      })
      .catch((error: unknown) => {
        this.#failure = { error };
      })
      .finally(() => {
        this.#preparing = null;
      });
  }

  #nextId(): string {
    const { prefix, subtask, attempt, reuseAfterCommits } = this.#options;
    const [oldest] = this.#resting;
    if (oldest !== undefined && this.#commits - oldest.committedWith >= reuseAfterCommits) {
      this.#resting.shift();
      return oldest.id;
    }
    return transactionalId(prefix, { subtask, attempt, slot: this.#slotCount++ });
  }
}
