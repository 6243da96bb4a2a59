/**
 * The transactions of a job that is down: those that its newest checkpoint promises to commit, and
 * those that are open in the outer systems besides. Nothing is changed but by `commit` and `abort`,
 * and these refuse what would lose or double results. Called by `weir tx`.
 */
import type { CommittableStatus, Committer } from '../api/sink.ts';
import type { ConnectorEnvironment } from '../api/source.ts';
import type { TransactionInspector } from '../api/transaction-inspector.ts';
import { JobSubmissionError } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import { assignState } from '../protocol/execution/state-assignment.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import type { PreparedJob } from './prepare-run.ts';
import { COMMITTABLES_STATE, readItems, sinksOf } from './sink-recovery.ts';

export interface PendingTransaction {
  /** Uid or name of the sink. */
  readonly sink: string;
  readonly id: string;
  /** Of the newest checkpoint; else it is open and belongs to none. */
  readonly isPromised: boolean;
  /** `committed`, `pending`, `gone`; of what no checkpoint promises, the outer system's word. */
  readonly status: CommittableStatus | (string & {});
  /** What it holds, where that is known. */
  readonly contents: string | null;
}

interface SinkTransactions {
  readonly name: string;
  readonly committer: Committer<unknown>;
  readonly inspector: TransactionInspector<unknown> | null;
  readonly committables: readonly unknown[];
}

export interface PendingTransactionsOptions {
  readonly environment: ConnectorEnvironment;
  readonly prepared: Pick<PreparedJob, 'jobGraph' | 'streamGraph'>;
  readonly jobId: JobId;
  /** The newest completed checkpoint; `null`: there is none. */
  readonly snapshot: StoredSnapshot | null;
}

export class PendingTransactions {
  readonly #sinks: readonly SinkTransactions[];

  private constructor(sinks: readonly SinkTransactions[]) {
    this.#sinks = sinks;
  }

  static async open(options: PendingTransactionsOptions): Promise<PendingTransactions> {
    const { environment, prepared, jobId, snapshot } = options;
    const stored =
      snapshot === null
        ? []
        : [
            ...assignState(snapshot.metadata, prepared.jobGraph, {
              directory: snapshot.directory,
              allowNonRestored: true,
            }).restores.values(),
          ];
    const sinks: SinkTransactions[] = [];
    for (const { operatorId, sink, uid } of sinksOf(prepared)) {
      const committer = sink.createCommitter?.({ ...environment, jobId, operatorId });
      if (committer === undefined) continue;
      const wanted = { stored, operatorId, name: COMMITTABLES_STATE };
      const committables = await readItems(environment, wanted);
      sinks.push({
        name: uid ?? sink.name,
        committer,
        inspector: inspectorOf(committer),
        committables,
      });
    }
    return new PendingTransactions(sinks);
  }

  async list(): Promise<readonly PendingTransaction[]> {
    const found: PendingTransaction[] = [];
    for (const { name, committer, inspector, committables } of this.#sinks) {
      const promised = new Set<string>();
      for (const committable of committables) {
        const id = inspector?.idOf(committable) ?? JSON.stringify(committable);
        // A sink may keep what it commits in pieces.
        if (promised.has(id)) continue;
        promised.add(id);
        found.push({
          sink: name,
          id,
          isPromised: true,
          status: await committer.probe(committable),
          contents: inspector?.describe(committable) ?? null,
        });
      }
      for (const { id, state } of (await inspector?.openTransactions()) ?? [])
        if (!promised.has(id))
          found.push({ sink: name, id, isPromised: false, status: state, contents: null });
    }
    return found;
  }

  /**
   * Commits what the newest checkpoint promises; of `ids`, if any are given. The next start finds
   * it committed. @throws when an id belongs to no completed checkpoint.
   */
  async commit(ids: readonly string[]): Promise<readonly PendingTransaction[]> {
    const listed = await this.list();
    this.#refuseUnknown(ids, listed);
    for (const transaction of listed)
      if (ids.includes(transaction.id) && !transaction.isPromised)
        throw refused(
          `transaction ${transaction.id} belongs to no completed checkpoint: its records are ` +
            'read again by the next start, and committing it would double their results; abort it',
        );
    const chosen = listed.filter((it) => it.isPromised && isChosen(it, ids));
    for (const { committer, inspector, committables } of this.#sinks) {
      const mine = committables.filter((committable) => {
        const id = inspector?.idOf(committable) ?? JSON.stringify(committable);
        return chosen.some((it) => it.id === id);
      });
      if (mine.length > 0) await committer.commit(mine);
    }
    return chosen;
  }

  /**
   * Aborts what no completed checkpoint promises; of `ids`, if any are given.
   * @throws when an id belongs to the newest checkpoint: its results would be lost.
   */
  async abort(ids: readonly string[]): Promise<readonly PendingTransaction[]> {
    const listed = await this.list();
    this.#refuseUnknown(ids, listed);
    for (const transaction of listed)
      if (ids.includes(transaction.id) && transaction.isPromised)
        throw refused(
          `transaction ${transaction.id} belongs to the newest completed checkpoint: its ` +
            'records are not read again, and aborting it would lose their results; commit it',
        );
    const chosen = listed.filter((it) => !it.isPromised && isChosen(it, ids));
    for (const { id, sink } of chosen)
      await this.#sinks.find((it) => it.name === sink)?.inspector?.abort(id);
    return chosen;
  }

  async close(): Promise<void> {
    for (const { committer } of this.#sinks) await committer.close();
  }

  #refuseUnknown(ids: readonly string[], listed: readonly PendingTransaction[]): void {
    const unknown = ids.find((id) => !listed.some((it) => it.id === id));
    if (unknown !== undefined)
      throw refused(`transaction ${unknown} is neither pending nor of this job; see: weir tx list`);
  }
}

function isChosen({ id }: PendingTransaction, ids: readonly string[]): boolean {
  return ids.length === 0 || ids.includes(id);
}

function inspectorOf(committer: Committer<unknown>): TransactionInspector<unknown> | null {
  const { inspector } = committer as { inspector?: TransactionInspector<unknown> };
  return inspector ?? null;
}

function refused(message: string): JobSubmissionError {
  return new JobSubmissionError(message, { code: 'ARGUMENT_INVALID' });
}
