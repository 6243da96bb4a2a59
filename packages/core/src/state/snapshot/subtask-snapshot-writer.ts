/**
 * The share of one subtask in a checkpoint: the state of all its operators in one data file. The
 * synchronous part is `addOperator` for each operator, in one turn between two frames: it starts
 * lazy snapshots of keyed state and timers and encodes operator state. The rest runs beside the
 * records: `writeKeyedState` walks in slices of a millisecond or two, `finish` makes it durable.
 */
import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { CancelledError } from '../../base/errors.ts';
import type { FileSystem } from '../../base/file-system.ts';
import type { OperatorId } from '../../base/ids.ts';
import type {
  KeyedSnapshot,
  OperatorSnapshot,
  OperatorStateSnapshot,
  Section,
  StateHandle,
} from '../../protocol/snapshot.ts';
import type { KeyedSnapshotCursor, KeyedStateBackend } from '../keyed-state-backend.ts';
import type { OperatorStateBackend } from '../operator/operator-state-backend.ts';
import type { InternalTimers } from '../timers/internal-timers.ts';
import type { DataFileOptions } from './data-file-writer.ts';
import { DataFileWriter } from './data-file-writer.ts';

/** About 0.3 ms of encoding small entries; large ones end a slice by their bytes. */
const SLICE_ENTRIES = 1000;
/** Turns of the records between two slices: a busy job then hardly feels that it is written. */
const TURNS_PER_SLICE = 4;

export { dataFileName } from '../../storage/snapshot-layout.ts';

export interface OperatorToSnapshot {
  readonly operatorId: OperatorId;
  readonly uid: string | null;
  readonly name: string;
  readonly type: string;
  readonly keyed: KeyedStateBackend | null;
  readonly timers: InternalTimers | null;
  readonly operatorState: OperatorStateBackend | null;
}

export interface WrittenSnapshot {
  /** `null` when there is no state at all. */
  readonly data: StateHandle | null;
  readonly operators: readonly OperatorSnapshot[];
  readonly sizeBytes: number;
}

/** Lets other work run between slices. */
export type YieldFn = () => Promise<void>;

interface StartedOperator {
  readonly operator: OperatorToSnapshot;
  readonly keyed: KeyedSnapshotCursor | null;
  readonly timers: KeyedSnapshotCursor | null;
  readonly operatorStates: readonly OperatorStateSnapshot[];
}

export class SubtaskSnapshotWriter {
  readonly #data: DataFileWriter;
  readonly #operators: StartedOperator[] = [];
  /** Cursors that have not been walked to their end. */
  readonly #unfinished: KeyedSnapshotCursor[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #cancelled = false;

  constructor(fileSystem: FileSystem, clock: Clock, options: DataFileOptions) {
    this.#data = new DataFileWriter({ fileSystem, clock }, options);
  }

  /** Takes the operator's state as it is now. Throws when operator state cannot be encoded. */
  addOperator(operator: OperatorToSnapshot): void {
    const start = (
      source: KeyedStateBackend | InternalTimers | null,
    ): KeyedSnapshotCursor | null => {
      if (source === null) return null;
      const cursor = source.startSnapshot(this.#data);
      this.#unfinished.push(cursor);
      return cursor;
    };
    const operatorStates = operator.operatorState?.snapshot(this.#data) ?? [];
    const keyed = start(operator.keyed);
    const timers = start(operator.timers);
    this.#operators.push({ operator, keyed, timers, operatorStates });
  }

  /** Adds bytes of another kind, such as frames in flight; possible until `finish`. */
  append(bytes: Uint8Array, count: number): Section {
    return this.#data.append(bytes, count);
  }

  /**
   * Walks keyed state and timers in slices. May be called long before `finish`, which does it
   * otherwise. Rejects when a value cannot be encoded or storage fails: then call `cancel`.
   */
  writeKeyedState(yieldFn: YieldFn): Promise<void> {
    return this.#run(() => this.#walk(yieldFn));
  }

  /**
   * Writes what is left and publishes the file. Once resolved, all is durable and may be
   * acknowledged. Rejects as `writeKeyedState`, and with `CancelledError` after `cancel`.
   */
  finish(yieldFn: YieldFn): Promise<WrittenSnapshot> {
    return this.#run(async () => {
      await this.#walk(yieldFn);
      const data = await this.#data.finish();
      const operators = this.#operators.map(describeOperator);
      this.#release();
      return { data, operators, sizeBytes: data === null ? 0 : this.#data.sizeBytes };
    });
  }

  /** Stops, lets go of all state and removes the unfinished file. Idempotent. */
  async cancel(): Promise<void> {
    this.#cancelled = true;
    this.#release();
    // A slice or a write may be under way; its failure is reported to whoever awaits it.
    await this.#running.catch(() => undefined);
    await this.#data.discard();
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#running.then(work);
    this.#running = result.catch(() => undefined);
    return result;
  }

  async #walk(yieldFn: YieldFn): Promise<void> {
    this.#checkNotCancelled();
    for (;;) {
      const cursor = this.#unfinished[0];
      if (cursor === undefined) return;
      const isDone = cursor.step(SLICE_ENTRIES);
      if (isDone) this.#unfinished.shift();
      await this.#data.flush();
      for (let turns = isDone ? 1 : TURNS_PER_SLICE; turns > 0; turns--) {
        await yieldFn();
        this.#checkNotCancelled();
      }
    }
  }

  #checkNotCancelled(): void {
    if (this.#cancelled) throw new CancelledError('the snapshot was cancelled');
  }

  #release(): void {
    for (const { keyed, timers } of this.#operators) {
      keyed?.release();
      timers?.release();
    }
  }
}

function describeOperator(started: StartedOperator): OperatorSnapshot {
  const { operatorId, uid, name, type } = started.operator;
  const { operatorStates } = started;
  return { operatorId, uid, name, type, keyed: describeKeyed(started), operatorStates };
}

function describeKeyed({ operator, keyed, timers }: StartedOperator): KeyedSnapshot | null {
  const backend = operator.keyed;
  if (backend === null || keyed === null) {
    assert(timers === null, 'timers belong to an operator with keyed state');
    return null;
  }
  return {
    keyGroups: backend.keyGroups,
    states: backend.states.map((state) => ({ ...state })),
    blocks: keyed.sections,
    timers: timers?.sections ?? [],
    keyCount: keyed.entryCount,
  };
}
