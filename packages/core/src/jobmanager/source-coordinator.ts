/**
 * The JobManager's side of one source: runs its split enumerator and keeps track of what was
 * assigned since which checkpoint. When readers restart from a checkpoint while the enumerator goes
 * on (regional failover), the splits they were given after it go back to the enumerator; splits
 * they had at the checkpoint are in their own state.
 *
 * Messages to a task keep their order, so a split assigned before a trigger is in the reader's
 * snapshot, and one assigned after it is in the enumerator's: each is in exactly one.
 */
import type { Source, SplitEnumerator } from '../api/source.ts';
import { decodeValue, encodeValue } from '../base/codec/value-codec.ts';
import type { Clock } from '../base/clock.ts';
import { WeirError } from '../base/errors.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { OperatorId } from '../base/ids.ts';
import type { EnumeratorEvent, ReaderEvent } from '../protocol/messages.ts';
import type { CoordinatorSnapshot } from '../protocol/snapshot.ts';

export interface SourceCoordinatorOptions {
  readonly operatorId: OperatorId;
  readonly uid: string | null;
  readonly source: Source<unknown>;
  readonly parallelism: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly fileSystem: FileSystem;
  readonly logger: Logger;
  readonly send: (subtask: number, event: ReaderEvent) => void;
  readonly fail: (error: unknown) => void;
}

interface Assignment {
  readonly subtask: number;
  readonly splits: readonly unknown[];
  /** Newest checkpoint for which the enumerator was snapshotted before this assignment. */
  readonly after: number;
}

export class SourceCoordinator {
  readonly operatorId: OperatorId;
  readonly #options: SourceCoordinatorOptions;
  readonly #readers = new Set<number>();
  /** Times each subtask's reader was reset: what an earlier one asked for is void. */
  readonly #resets = new Map<number, number>();
  #enumerator: SplitEnumerator<unknown, unknown>;
  #assignments: Assignment[] = [];
  #lastSnapshotId: number;
  readonly #restored: CoordinatorSnapshot | null;
  /** Its `start` is done, or it has assigned a split: before, what it would tell is not all. */
  #isStarted = false;
  /** Readers reset since the present call began: it answers their former attempts. */
  readonly #resetMeanwhile = new Set<number>();
  /** What such readers had: goes back to the enumerator before its next call. */
  readonly #back: Pick<Assignment, 'subtask' | 'splits'>[] = [];
  /** Calls of the enumerator run one after the other. */
  #queue: Promise<void> = Promise.resolve();
  readonly #ending = new AbortController();

  /** `checkpointId`: of the snapshot that is restored; 0: none. */
  constructor(
    options: SourceCoordinatorOptions,
    restored: CoordinatorSnapshot | null,
    checkpointId: number,
  ) {
    this.operatorId = options.operatorId;
    this.#options = options;
    this.#restored = restored;
    this.#lastSnapshotId = checkpointId;
    const context = {
      clock: options.clock,
      random: options.random,
      fileSystem: options.fileSystem,
      logger: options.logger,
      signal: this.#ending.signal,
      parallelism: options.parallelism,
      registeredReaders: () => [...this.#readers].toSorted((a, b) => a - b),
      assignSplits: (subtask: number, splits: readonly unknown[]) => this.#assign(subtask, splits),
      signalNoMoreSplits: (subtask: number) => this.#answer(subtask, { type: 'noMoreSplits' }),
      sendEvent: (subtask: number, event: unknown) =>
        this.#answer(subtask, { type: 'custom', event }),
      fail: (error: unknown) => this.#fail(error),
    };
    this.#enumerator =
      restored === null
        ? options.source.createEnumerator(context)
        : options.source.createEnumerator(context, decodeValue(restored.bytes));
  }

  /** Resolves when the enumerator has started; a failure is reported by `fail`. */
  start(): void {
    this.#enqueue(async () => {
      await this.#enumerator.start();
      this.#isStarted = true;
    });
  }

  handle(subtask: number, event: EnumeratorEvent): void {
    switch (event.type) {
      case 'readerRegistered':
        this.#readers.add(subtask);
        return this.#enqueueFor(subtask, () => this.#enumerator.addReader(subtask));
      case 'splitRequest':
        return this.#enqueueFor(subtask, () => this.#enumerator.handleSplitRequest(subtask));
      case 'custom':
        return this.#enqueueFor(subtask, () =>
          this.#enumerator.handleEvent?.(subtask, event.event),
        );
    }
  }

  /**
   * In the same turn the tasks must be triggered: no assignment may come in between. While the
   * enumerator starts (it lists a folder, say), it is what it was made from; `null`: from nothing.
   * Throws while splits are on their way back to it, which would be nowhere.
   */
  snapshot(checkpointId: number): CoordinatorSnapshot | null {
    if (this.#back.length > 0)
      throw new WeirError(
        'transient',
        `no checkpoint now: splits are being given back to ${this.#options.source.name}; the ` +
          'next one will hold them',
        { code: 'CHECKPOINT_DECLINED' },
      );
    this.#lastSnapshotId = checkpointId;
    if (!this.#isStarted) return this.#restored;
    const bytes = encodeValue(this.#enumerator.snapshotState(checkpointId));
    return { operatorId: this.operatorId, uid: this.#options.uid, bytes };
  }

  notifyCheckpointComplete(checkpointId: number): void {
    this.#assignments = this.#assignments.filter((it) => it.after >= checkpointId);
    this.#enqueue(() => this.#enumerator.notifyCheckpointComplete?.(checkpointId));
  }

  /** These readers restart from the checkpoint (0: from nothing) while the enumerator goes on. */
  readersReset(subtasks: readonly number[], checkpointId: number): void {
    const back = this.#assignments.filter(
      (it) => subtasks.includes(it.subtask) && it.after >= checkpointId,
    );
    this.#assignments = this.#assignments.filter((it) => !back.includes(it));
    for (const subtask of subtasks) {
      this.#readers.delete(subtask);
      this.#resets.set(subtask, this.#resetsOf(subtask) + 1);
      this.#resetMeanwhile.add(subtask);
    }
    this.#back.push(...back);
    // A call, so that they go back, also when no other one comes.
    this.#enqueue(() => undefined);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#ending.abort();
    await this.#queue.catch(() => undefined);
    await this.#enumerator.close();
  }

  get #isClosed(): boolean {
    return this.#ending.signal.aborted;
  }

  #assign(subtask: number, splits: readonly unknown[]): void {
    if (this.#isClosed || splits.length === 0) return;
    this.#isStarted = true;
    if (this.#resetMeanwhile.has(subtask)) {
      this.#back.push({ subtask, splits });
      return;
    }
    this.#assignments.push({ subtask, splits, after: this.#lastSnapshotId });
    this.#send(subtask, { type: 'addSplits', splits });
  }

  /** What the call under way has to say to a reader that is no more is of no use to the next. */
  #answer(subtask: number, event: ReaderEvent): void {
    if (!this.#resetMeanwhile.has(subtask)) this.#send(subtask, event);
  }

  #send(subtask: number, event: ReaderEvent): void {
    if (!this.#isClosed) this.#options.send(subtask, event);
  }

  /**
   * A call for a reader that may be reset before its turn comes. Served after that, it would answer
   * the reader's next attempt: with the word that there are no more splits, say, though those of
   * the former attempt have just come back.
   */
  #enqueueFor(subtask: number, call: () => void | Promise<void>): void {
    const resets = this.#resetsOf(subtask);
    this.#enqueue(() => (this.#resetsOf(subtask) === resets ? call() : undefined));
  }

  #resetsOf(subtask: number): number {
    return this.#resets.get(subtask) ?? 0;
  }

  #enqueue(call: () => void | Promise<void>): void {
    this.#queue = this.#queue
      .then(() => {
        if (this.#isClosed) return undefined;
        this.#resetMeanwhile.clear();
        for (const { splits, subtask } of this.#back.splice(0))
          this.#enumerator.addSplitsBack(splits, subtask);
        return call();
      })
      .catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    if (!this.#isClosed) this.#options.fail(error);
  }
}
