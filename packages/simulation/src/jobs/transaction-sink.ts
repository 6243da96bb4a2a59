/** A two-phase-commit sink into the outer system, by the contract of `Sink` and nothing else. */
import type {
  Committer,
  CommitterContext,
  CommittableStatus,
  PreparedCommit,
  Sink,
  SinkRecovery,
  SinkWriter,
  SinkWriterContext,
} from '@weir/core/internal/api/sink';
import { attemptName, compareAttempts } from '@weir/core/internal/base/ids';
import type { Life } from '../world/life.ts';
import { lifeOf } from '../world/simulated-clock.ts';
import type { OuterSystem } from './outer-system.ts';

export interface Committable {
  readonly id: string;
  readonly checkpointId: number;
}

export interface TransactionSinkOptions<T> {
  readonly name: string;
  readonly system: OuterSystem<T>;
  /** Records written in one call. */
  readonly batch: number;
  /** Told before a commit. */
  readonly beforeCommit: (checkpointId: number) => void;
}

export function transactionSink<T>(
  options: TransactionSinkOptions<T>,
): Sink<T, never, Committable> {
  return {
    name: options.name,
    write: 'two-phase-commit',
    createWriter: (context) => new TransactionWriter(context, options),
    createCommitter: (context) => new TransactionCommitter(context, options),
  };
}

export class TransactionWriter<T = unknown> implements SinkWriter<T, never, Committable> {
  readonly isWritable = true;
  readonly #context: SinkWriterContext;
  readonly #options: TransactionSinkOptions<T>;
  readonly #life: Life;
  #count = 0;
  #buffer: T[] = [];
  #isBegun = false;
  /** One after the other. */
  #calls: Promise<void> = Promise.resolve();

  constructor(context: SinkWriterContext, options: TransactionSinkOptions<T>) {
    this.#context = context;
    this.#options = options;
    this.#life = lifeOf(context.clock);
  }

  whenWritable(): Promise<void> {
    return Promise.resolve();
  }

  write(value: T): void {
    this.#buffer.push(value);
    if (this.#buffer.length >= this.#options.batch) this.#flush();
  }

  prepareCommit({
    checkpointId,
  }: {
    readonly checkpointId: number;
  }): PreparedCommit<never, Committable> {
    if (this.#buffer.length > 0) this.#flush();
    if (!this.#isBegun) return { committables: [], writerStates: [], durable: this.#calls };
    const id = this.#id();
    this.#count++;
    this.#isBegun = false;
    const durable = this.#enqueue(() => this.#options.system.prepare(this.#life, id));
    return { committables: [{ id, checkpointId }], writerStates: [], durable };
  }

  close(): Promise<void> {
    return this.#calls.catch(() => undefined);
  }

  /** Gives a transaction up; a sink does so only when nobody can have been promised it. */
  abort(id: string): void {
    void this.#options.system.abort(this.#life, id).catch(() => undefined);
  }

  #id(): string {
    const { subtask, attempt } = this.#context;
    return `${this.#options.name}-${subtask}-${attemptName(attempt)}-${this.#count}`;
  }

  #flush(): void {
    const { subtask, attempt } = this.#context;
    const { name: sink, system } = this.#options;
    const transaction = { id: this.#id(), sink, subtask, attempt, records: this.#buffer };
    this.#buffer = [];
    this.#isBegun = true;
    void this.#enqueue(() => system.write(this.#life, transaction));
  }

  #enqueue(call: () => Promise<void>): Promise<void> {
    this.#calls = this.#calls.then(call);
    this.#calls.catch(() => undefined);
    return this.#calls;
  }
}

export class TransactionCommitter<T = unknown> implements Committer<Committable, never> {
  readonly #options: TransactionSinkOptions<T>;
  readonly #life: Life;

  constructor(context: CommitterContext, options: TransactionSinkOptions<T>) {
    this.#options = options;
    this.#life = lifeOf(context.clock);
  }

  async commit(committables: readonly Committable[]): Promise<void> {
    for (const { id, checkpointId } of committables) {
      this.#options.beforeCommit(checkpointId);
      await this.#options.system.commit(this.#life, id);
    }
  }

  async probe({ id }: Committable): Promise<CommittableStatus> {
    const state = await this.#options.system.probe(this.#life, id);
    if (state === 'committed') return 'committed';
    return state === 'prepared' ? 'pending' : 'gone';
  }

  async recover(recovery: SinkRecovery<Committable, never>): Promise<void> {
    const { committables, attempt, subtasks } = recovery;
    const { system, name: sink } = this.#options;
    const named = new Set(committables.map(({ id }) => id));
    await system.fence(this.#life, { sink, attempt, subtasks });
    await this.commit(committables);
    for (const transaction of await system.list(this.#life, sink)) {
      if (named.has(transaction.id)) continue;
      if (compareAttempts(transaction.attempt, attempt) >= 0) continue;
      if (subtasks !== 'all' && !subtasks.includes(transaction.subtask)) continue;
      await system.abort(this.#life, transaction.id);
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
