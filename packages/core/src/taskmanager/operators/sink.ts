/**
 * The end of a chain: writer and committer of a sink in one operator, so that what a checkpoint
 * promises to publish and the promise itself cannot be apart. Snapshot n lists every committable
 * that is not yet committed, those of older aborted checkpoints too; complete(n) commits all up to
 * n, in order. Committables of the snapshot a run starts from were committed on the JobManager
 * before this operator opened (api/sink.ts), so it starts with none.
 */
import type { Committer, PreparedCommit, Sink, SinkWriter } from '../../api/sink.ts';
import { errorKind, isWeirError, messageOf, WeirError } from '../../base/errors.ts';
import { named } from '../../base/name-error.ts';
import { sleep } from '../../base/clock.ts';
import type { Timer } from '../../base/clock.ts';
import type { OperatorListState } from '../../api/state.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import type { OperatorContext } from './stream-operator.ts';
import { listStateOf, StreamOperator } from './stream-operator.ts';

/** Names of the states that hold a sink's part of a snapshot. */
export const WRITER_STATE = 'writer';
export const COMMITTABLES_STATE = 'committables';

const COMMIT_RETRY_DELAY_MS = 200;
/** After so long a commit that fails is not tried again, however often it was tried. */
const COMMIT_RETRIES_LIMIT_MS = 10_000;

interface Pending {
  readonly checkpointId: number;
  readonly committables: readonly unknown[];
  /** Nothing is committed before it; settled already when its checkpoint is complete. */
  readonly durable: Promise<void>;
}

export class SinkOperator extends StreamOperator {
  readonly #sink: Sink<unknown>;
  readonly #writerState: OperatorListState<unknown>;
  readonly #committables: OperatorListState<unknown>;
  #writer: SinkWriter<unknown> | null = null;
  #committer: Committer<unknown> | null = null;
  #pending: Pending[] = [];
  #committing: Promise<void> = Promise.resolve();
  #isClosing = false;
  #waiting = false;
  #housekeeping: Timer | null = null;
  #housekeepingDue = false;
  readonly #elementContext = { timestamp: Number.NaN, watermark: -Infinity };

  constructor(context: OperatorContext, sink: Sink<unknown>) {
    super(context);
    this.#sink = sink;
    this.#writerState = listStateOf(context, WRITER_STATE);
    this.#committables = listStateOf(context, COMMITTABLES_STATE);
  }

  override async open(): Promise<void> {
    const { context } = this;
    const environment = {
      clock: context.clock,
      random: context.random,
      fileSystem: context.fileSystem,
      logger: context.logger,
      signal: context.signal,
      jobId: context.jobId,
      operatorId: context.operator.operatorId,
    };
    try {
      this.#writer = this.#sink.createWriter(
        {
          ...environment,
          subtask: context.runtime.subtask,
          parallelism: context.runtime.parallelism,
          attempt: context.attempt,
          checkpointing: context.checkpointing,
          metrics: context.runtime.metrics,
          scheduleHousekeeping: (intervalMs) => this.#scheduleHousekeeping(intervalMs),
        },
        this.#writerState.get(),
      );
      this.#committer = this.#sink.createCommitter?.(environment) ?? null;
      await this.#writer.open?.();
    } catch (error) {
      throw this.failure(error, 'opening the writer');
    }
  }

  override processElement(value: unknown, timestamp: number): void {
    this.#elementContext.timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
    try {
      const result: unknown = this.#opened().write(value, this.#elementContext);
      if (result !== undefined) this.checkResult(result, 'write');
    } catch (error) {
      throw this.failure(error, 'write');
    }
  }

  override inlined(): InlinedOperator {
    return { kind: 'sink', writer: this.#opened(), element: this.#elementContext };
  }

  override processWatermark(timestamp: number): boolean {
    this.#elementContext.watermark = timestamp;
    return super.processWatermark(timestamp);
  }

  /** Whether another element may be handed over; if not, the task is woken when it may. */
  get isWritable(): boolean {
    const writer = this.#opened();
    try {
      if (writer.isWritable) return true;
    } catch (error) {
      throw this.failure(error, 'write');
    }
    if (!this.#waiting) {
      this.#waiting = true;
      writer.whenWritable().then(
        () => {
          this.#waiting = false;
          this.context.wakeUp();
        },
        (error: unknown) => this.context.fail(this.failure(error, 'write')),
      );
    }
    return false;
  }

  override resume(): boolean {
    if (this.#housekeepingDue) {
      this.#housekeepingDue = false;
      this.#opened().onHousekeeping?.();
    }
    return true;
  }

  override prepareSnapshot(
    checkpointId: number,
    endOfInput: boolean,
    stops = false,
  ): Promise<void> {
    const prepared = this.#prepare({ checkpointId, endOfInput, stops }, checkpointId);
    this.#writerState.update(prepared.writerStates);
    this.#committables.update(this.#pending.flatMap((pending) => pending.committables));
    // The snapshot promises what earlier ones prepared too, and those may not be durable yet.
    const durables = [...this.#pending.map(({ durable }) => durable), prepared.durable];
    return Promise.all(durables).then(() => undefined);
  }

  override notifyCheckpointComplete(checkpointId: number): Promise<void> {
    this.#committing = this.#committing.then(() => this.#commitUpTo(checkpointId));
    return this.#committing;
  }

  override async commitAtEnd(): Promise<void> {
    // Also what checkpoints prepared that will not complete any more.
    const prepared = this.#prepare({ checkpointId: 0, endOfInput: true }, Infinity);
    await prepared.durable;
    await this.notifyCheckpointComplete(Infinity);
  }

  override async close(): Promise<void> {
    this.#housekeeping?.cancel();
    this.#isClosing = true;
    try {
      await this.#writer?.close();
    } finally {
      // A commit in flight must have its outcome before another attempt may start.
      await this.#committing.catch(() => undefined);
      await this.#committer?.close();
    }
  }

  /** `committedWith`: the checkpoint whose completion allows the commit; infinite at the end. */
  #prepare(
    options: {
      readonly checkpointId: number;
      readonly endOfInput: boolean;
      readonly stops?: boolean;
    },
    committedWith: number,
  ): PreparedCommit<unknown, unknown> {
    try {
      const prepared = this.#opened().prepareCommit(options);
      const { committables } = prepared;
      const durable = prepared.durable.catch((error: unknown) => {
        throw this.failure(error, 'prepareCommit');
      });
      durable.catch(() => undefined);
      if (committables.length > 0)
        this.#pending.push({ checkpointId: committedWith, committables, durable });
      return { ...prepared, durable };
    } catch (error) {
      throw this.failure(error, 'prepareCommit');
    }
  }

  async #commitUpTo(checkpointId: number): Promise<void> {
    for (;;) {
      const next = this.#pending[0];
      if (next === undefined || next.checkpointId > checkpointId) return;
      await next.durable;
      await this.#commit(next.committables);
      this.#pending.shift();
    }
  }

  /**
   * A committer that waits for its system by itself has tried for long by then: with as many tries
   * of that length nobody would learn of a system that is away.
   */
  async #commit(committables: readonly unknown[]): Promise<void> {
    if (this.#committer === null) return;
    const { clock, committerRetries: retries } = this.context;
    const startedAt = clock.now();
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#committer.commit(committables);
        return;
      } catch (error) {
        // What is not committed when the task ends is committed by recovery.
        const isEnding = this.#isClosing || this.context.signal.aborted;
        const isLong = clock.now() - startedAt > COMMIT_RETRIES_LIMIT_MS;
        const mayRetry = errorKind(error) === 'transient' && !isEnding && !isLong;
        if (!mayRetry || attempt >= retries) throw this.#commitFailure(error, attempt + 1);
        await sleep(clock, COMMIT_RETRY_DELAY_MS, 'commit-retry');
      }
    }
  }

  /** What the sink says is told with its name in the job, which it does not know itself. */
  override failure(error: unknown, method: string): unknown {
    // Those of the engine name the operator already.
    if (!isWeirError(error) || 'operator' in error.details) return super.failure(error, method);
    return named(`sink ${this.describe()}`, error);
  }

  /** The kind stays: what a retry cannot cure should not be retried by restarts for ever. */
  #commitFailure(error: unknown, attempts: number): WeirError {
    const times = attempts === 1 ? 'at the first attempt' : `after ${attempts} attempts`;
    return new WeirError(
      errorKind(error),
      `sink ${this.describe()} could not commit, ${times}: ${messageOf(error)}; what it prepared ` +
        'is in the checkpoint and is committed when the job goes on from there',
      { code: 'SINK_UNAVAILABLE', cause: error, details: isWeirError(error) ? error.details : {} },
    );
  }

  #scheduleHousekeeping(intervalMs: number): void {
    this.#housekeeping = this.context.clock.schedule(intervalMs, 'sink-housekeeping', () => {
      this.#housekeepingDue = true;
      this.context.wakeUp();
      this.#scheduleHousekeeping(intervalMs);
    });
  }

  #opened(): SinkWriter<unknown> {
    if (this.#writer === null) throw new Error(`sink ${this.describe()} is not open`);
    return this.#writer;
  }
}
