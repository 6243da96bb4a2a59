/**
 * The ready base for an outer system without transactions that span a checkpoint (Flink's
 * GenericWriteAheadSink). Results of a checkpoint interval are kept in the checkpoint itself, as
 * state of the sink, and are written to the outer system when it is complete; a confirmation, kept
 * by a `CheckpointCommitter`, tells after a crash which of them were. `WriteAheadLogOutput` says
 * how the outer system is written. What this class keeps to:
 *
 * - Nothing reaches the outer system before its checkpoint is complete.
 * - Batches of a subtask are written in the order of their checkpoints, those of aborted
 *   checkpoints with the next that completes; the first that fails holds up those behind it.
 * - A batch that is confirmed is never written again. Between a write and a *separate* confirmation
 *   there is one window: a crash in it writes the batch twice, under the same id.
 * - A batch id is used once. A job that is restored from an older snapshot logs under new ids, so
 *   an outer system that is ahead of it never makes it skip results.
 *
 * Cost: results are encoded once and are held in memory for a checkpoint interval.
 */
import type { SinkGuaranteeFacts } from '../api/guarantee-facts.ts';
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
} from '../api/sink.ts';
import type { TransactionInspector } from '../api/transaction-inspector.ts';
import type { CheckpointCommitter, LoggedBatch } from './write-ahead-log/checkpoint-committer.ts';
import { batchName } from './write-ahead-log/checkpoint-committer.ts';
import { readLog, ResultLog } from './write-ahead-log/result-log.ts';
import type { LoggedResults } from './write-ahead-log/result-log.ts';

/** Writes whole batches into the outer system. */
export interface WriteAheadLogOutput<T> {
  /** Connects; called once, before anything else. */
  open?(): Promise<void>;
  /**
   * Writes all values, in their order, and resolves when they are durable in the outer system. With
   * an `atomic` confirmation that of `batch` is written in the same step, and nothing at all where
   * it is there by then: an outdated process may be in the middle of the same. May be called again
   * for the same batch, with the same values. A rejection of kind `transient` is tried again; any
   * other ends the job.
   */
  send(values: readonly T[], batch: LoggedBatch): Promise<void>;
  close(): Promise<void>;
}

/** The outer system of one sink, as its committers use it. */
export interface WriteAheadLogTarget<T> {
  readonly output: WriteAheadLogOutput<T>;
  readonly confirmations: CheckpointCommitter;
  /**
   * For an `atomic` confirmation that nobody can ask the outer system for, such as one that only
   * takes each batch once: whether `confirmations` is written as well, after the data, so that a
   * start need not write again what it finds there. Default false.
   */
  readonly confirmsSeparately?: boolean;
}

/**
 * Base class of write-ahead-log sinks: give it a name, say how confirmations are written, and
 * connect its committers to an outer system.
 */
export abstract class WriteAheadLogSink<T, Logged = T>
  implements Sink<T, never, LoggedResults>, SinkGuaranteeFacts
{
  abstract readonly name: string;
  readonly write: WriteMode = 'write-ahead-log';
  readonly readersDuty?: string;
  /**
   * `atomic`: `send` writes the confirmation with the data, in one step of the outer system, so
   * that results appear exactly once. `separate`: it is written after the data; see the window in
   * the head text of this file.
   */
  abstract readonly confirmation: 'atomic' | 'separate';
  /**
   * Most bytes of results between two checkpoints; beyond it the job ends and says so, for they
   * are held in memory and stored with the checkpoint. Default 256 MiB.
   */
  readonly logBytesMax: number = 256 * 1024 ** 2;

  protected abstract connect(context: CommitterContext): WriteAheadLogTarget<Logged>;

  /**
   * What is kept of a record and handed to the output; default: the record. What can fail because
   * of a record belongs here, where the record can still be told from others.
   */
  protected toLogged(value: T): Logged {
    // The default of the type parameter: whoever sets another one overrides this as well.
    return value as unknown as Logged;
  }

  createWriter(context: SinkWriterContext): SinkWriter<T, never, LoggedResults> {
    const log = new ResultLog<Logged>(context, this.logBytesMax);
    return new LogWriter(log, (value) => log.append(this.toLogged(value), this.name));
  }

  createCommitter(context: CommitterContext): Committer<LoggedResults, never> {
    return new LogCommitter(this.connect(context), this.confirmation);
  }
}

class LogWriter<T, Logged> implements SinkWriter<T, never, LoggedResults> {
  readonly isWritable = true;
  readonly #log: ResultLog<Logged>;
  readonly #append: (value: T) => void;
  #isFinished = false;

  constructor(log: ResultLog<Logged>, append: (value: T) => void) {
    this.#log = log;
    this.#append = append;
  }

  whenWritable(): Promise<void> {
    return Promise.resolve();
  }

  write(value: T): void {
    if (this.#isFinished) throw new Error('a record came after the end of the input');
    this.#append(value);
  }

  prepareCommit(options: {
    readonly checkpointId: number;
    readonly endOfInput: boolean;
  }): PreparedCommit<never, LoggedResults> {
    if (options.endOfInput) this.#isFinished = true;
    // The checkpoint that holds the results is what makes them durable.
    return {
      committables: this.#log.take(options.checkpointId),
      writerStates: [],
      durable: Promise.resolve(),
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class LogCommitter<T> implements Committer<LoggedResults, never> {
  readonly #target: WriteAheadLogTarget<T>;
  readonly #confirms: boolean;
  #opening: Promise<void> | null = null;

  readonly inspector: TransactionInspector<LoggedResults> = {
    // Before its checkpoint is complete nothing of a batch is outside.
    openTransactions: () => Promise.resolve([]),
    idOf: ({ batch }) => batchName(batch),
    describe: ({ batchRecords }) => `${batchRecords} record(s) in the checkpoint`,
    abort: () => Promise.resolve(),
  };

  constructor(target: WriteAheadLogTarget<T>, confirmation: 'atomic' | 'separate') {
    this.#target = target;
    this.#confirms = confirmation === 'separate' || target.confirmsSeparately === true;
  }

  async commit(committables: readonly LoggedResults[]): Promise<void> {
    await this.#open();
    const { output, confirmations } = this.#target;
    for (const pieces of batchesOf(committables)) {
      const { batch } = pieces[0];
      if (await confirmations.isCommitted(batch)) continue;
      await output.send(readLog<T>(pieces), batch);
      if (this.#confirms) await confirmations.commitCheckpoint(batch);
    }
  }

  async probe({ batch }: LoggedResults): Promise<CommittableStatus> {
    await this.#open();
    // The results are in the checkpoint, so they can always still be written.
    return (await this.#target.confirmations.isCommitted(batch)) ? 'committed' : 'pending';
  }

  /** What the snapshot lists is written now or was; of what came after it nothing is outside. */
  recover({ committables }: SinkRecovery<LoggedResults, never>): Promise<void> {
    return this.commit(committables);
  }

  async close(): Promise<void> {
    if (this.#opening === null) return;
    await this.#opening.catch(() => undefined);
    try {
      await this.#target.output.close();
    } finally {
      await this.#target.confirmations.close?.();
    }
  }

  #open(): Promise<void> {
    this.#opening ??= this.#openBoth();
    return this.#opening;
  }

  async #openBoth(): Promise<void> {
    await this.#target.confirmations.open?.();
    await this.#target.output.open?.();
  }
}

/** By checkpoint; subtasks of one checkpoint in their order. The pieces of one are in theirs. */
function batchesOf(
  committables: readonly LoggedResults[],
): readonly [LoggedResults, ...LoggedResults[]][] {
  const batches = new Map<string, [LoggedResults, ...LoggedResults[]]>();
  for (const piece of committables) {
    const name = batchName(piece.batch);
    const batch = batches.get(name);
    if (batch === undefined) batches.set(name, [piece]);
    else batch.push(piece);
  }
  return [...batches.values()].toSorted(
    ([{ batch: a }], [{ batch: b }]) => a.checkpointId - b.checkpointId || a.subtask - b.subtask,
  );
}
