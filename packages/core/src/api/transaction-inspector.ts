/**
 * What `weir tx` asks of a sink while its job is down: which transactions are open in the outer
 * system, and to which a committable of a snapshot belongs. A committer that can answer carries it
 * as `inspector`.
 */
export interface TransactionInspector<Committable> {
  /** Transactions of this sink that are open now, those of completed checkpoints among them. */
  openTransactions(): Promise<readonly OpenTransactionFacts[]>;
  /** The id under which `openTransactions` lists it. */
  idOf(committable: Committable): string;
  /** What it holds, in a few words: `3 record(s) (totals/0: 3)`. */
  describe(committable: Committable): string;
  /** Aborts an open transaction of this sink. Idempotent. */
  abort(id: string): Promise<void>;
}

export interface OpenTransactionFacts {
  readonly id: string;
  /** In the outer system's words: `Ongoing`. */
  readonly state: string;
}
