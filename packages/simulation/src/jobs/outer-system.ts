/**
 * A transactional system outside the engine, such as a database: transactions are begun with their
 * first records, prepared (from then on durable), and committed or aborted later by anyone who
 * knows their name. It can be down, lose answers, and crash; a crash loses what was not prepared.
 */
import type { Attempt } from '@weir/core/internal/base/ids';
import { compareAttempts } from '@weir/core/internal/base/ids';
import { StorageUnavailableError } from '@weir/core/internal/base/errors';
import type { Random } from '@weir/core/internal/base/random';
import type { Life } from '../world/life.ts';
import type { World } from '../world/world.ts';

export interface OuterMood {
  latencyMs: number;
  /** Chance that a call fails and has no effect. */
  failure: number;
  lostAnswer: number;
  isDown: boolean;
  /** Chance that a commit fails, while everything else goes well; 0 if not given. */
  commitFailure?: number;
}

export interface Transaction<T> {
  readonly id: string;
  readonly sink: string;
  readonly subtask: number;
  readonly attempt: Attempt;
  records: T[];
  state: 'open' | 'prepared' | 'committed' | 'aborted';
}

export class OuterSystem<T> {
  readonly #world: World;
  readonly #mood: OuterMood;
  readonly #random: Random;
  readonly #nameOf: ((record: T) => string) | null;
  readonly #transactions = new Map<string, Transaction<T>>();
  readonly #committed = new Map<string, T[]>();
  /** By sink and subtask, the lowest attempt that may still write. */
  readonly #fences = new Map<string, Attempt>();
  /** Records that are allowed to be published but once. */
  readonly #published = new Set<string>();
  #forbidsDuplicates = true;

  /** `nameOf` tells records apart, so that none is published twice; `null`: they have no name. */
  constructor(world: World, mood: OuterMood, nameOf: ((record: T) => string) | null) {
    this.#world = world;
    this.#mood = mood;
    this.#nameOf = nameOf;
    this.#random = world.random('outer system');
  }

  allowDuplicates(): void {
    this.#forbidsDuplicates = false;
  }

  committed(sink: string): readonly T[] {
    return this.#committed.get(sink) ?? [];
  }

  transaction(id: string): Transaction<T> | null {
    return this.#transactions.get(id) ?? null;
  }

  /** Transactions that nobody has ended. */
  unfinished(): readonly Transaction<T>[] {
    return [...this.#transactions.values()].filter(
      ({ state }) => state === 'open' || state === 'prepared',
    );
  }

  crash(): void {
    for (const transaction of this.#transactions.values())
      if (transaction.state === 'open') transaction.state = 'aborted';
  }

  /** Adds records; the first call begins the transaction. */
  write(life: Life, transaction: Omit<Transaction<T>, 'state'>): Promise<void> {
    return this.#call(life, `write ${transaction.id}`, () => {
      this.#requireUnfenced(transaction);
      const known = this.#transactions.get(transaction.id);
      if (known === undefined) {
        this.#transactions.set(transaction.id, { ...transaction, state: 'open' });
        return;
      }
      if (known.state !== 'open') throw gone(known);
      known.records.push(...transaction.records);
    });
  }

  prepare(life: Life, id: string): Promise<void> {
    return this.#call(life, `prepare ${id}`, () => {
      const known = this.#require(id);
      this.#requireUnfenced(known);
      if (known.state === 'prepared') return;
      if (known.state !== 'open') throw gone(known);
      known.state = 'prepared';
    });
  }

  /** Idempotent. */
  commit(life: Life, id: string): Promise<void> {
    return this.#call(life, `commit ${id}`, () => {
      const known = this.#require(id);
      if (known.state === 'committed') return;
      // Without the promise of a checkpoint an outdated attempt may try, and must not succeed.
      if (known.state === 'aborted' && !this.#forbidsDuplicates) throw gone(known);
      this.#world.check(
        known.state === 'prepared',
        () => `transaction ${id} is to be committed, but is ${known.state}: its records are lost`,
      );
      known.state = 'committed';
      const list = this.#committed.get(known.sink) ?? [];
      this.#committed.set(known.sink, list);
      for (const record of known.records) this.#publish(record, known);
      list.push(...known.records);
    });
  }

  #publish(record: T, { sink, id }: Transaction<T>): void {
    if (this.#nameOf === null) return;
    const name = `${sink} ${this.#nameOf(record)}`;
    this.#world.check(
      !this.#forbidsDuplicates || !this.#published.has(name),
      () => `${this.#nameOf?.(record)} is published twice in ${sink}, now by ${id}`,
    );
    this.#published.add(name);
  }

  abort(life: Life, id: string): Promise<void> {
    return this.#call(life, `abort ${id}`, () => {
      const known = this.#transactions.get(id);
      if (known === undefined || known.state === 'aborted') return;
      this.#world.check(
        known.state !== 'committed',
        () => `transaction ${id} is to be aborted, but is committed`,
      );
      known.state = 'aborted';
    });
  }

  probe(life: Life, id: string): Promise<Transaction<T>['state'] | null> {
    return this.#call(life, `probe ${id}`, () => this.#transactions.get(id)?.state ?? null);
  }

  /** From now on lower attempts of these subtasks cannot write: they are dead, or should be. */
  fence(
    life: Life,
    fenced: {
      readonly sink: string;
      readonly attempt: Attempt;
      readonly subtasks: readonly number[] | 'all';
    },
  ): Promise<void> {
    const { sink, attempt, subtasks } = fenced;
    return this.#call(life, `fence ${sink}`, () => {
      for (const subtask of subtasks === 'all' ? ['all'] : subtasks) {
        const before = this.#fences.get(`${sink} ${subtask}`);
        if (before === undefined || compareAttempts(attempt, before) > 0)
          this.#fences.set(`${sink} ${subtask}`, attempt);
      }
    });
  }

  /** Of one sink, those that are neither committed nor aborted. */
  list(life: Life, sink: string): Promise<readonly Transaction<T>[]> {
    return this.#call(life, `list ${sink}`, () =>
      this.unfinished().filter((transaction) => transaction.sink === sink),
    );
  }

  #requireUnfenced(transaction: Omit<Transaction<T>, 'state' | 'records'>): void {
    const { sink, subtask, attempt, id } = transaction;
    for (const whose of ['all', subtask]) {
      const fence = this.#fences.get(`${sink} ${whose}`);
      if (fence !== undefined && compareAttempts(attempt, fence) < 0)
        throw new Error(`transaction ${id} is of an attempt that is fenced`);
    }
  }

  #require(id: string): Transaction<T> {
    const known = this.#transactions.get(id);
    if (known === undefined) throw new Error(`the outer system knows no transaction ${id}`);
    return known;
  }

  #call<T>(life: Life, label: string, effect: () => T): Promise<T> {
    const random = this.#random;
    const mood = this.#mood;
    const delayMs = random.next() * 2 * mood.latencyMs;
    const losesAnswer = mood.lostAnswer > 0 && random.next() < mood.lostAnswer;
    const { failure, commitFailure = 0 } = mood;
    const chance = label.startsWith('commit ') ? Math.max(failure, commitFailure) : failure;
    const fails = mood.isDown || (chance > 0 && random.next() < chance);
    return new Promise((resolve, reject) => {
      const act = (): (() => void) => {
        if (fails) return () => reject(unavailable(label));
        try {
          const result = effect();
          return losesAnswer ? () => reject(unavailable(label)) : () => resolve(result);
        } catch (error) {
          const reason = error instanceof Error ? error : new Error(String(error));
          return () => reject(reason);
        }
      };
      const isEarly = random.int(2) === 0;
      const answer = isEarly ? act() : null;
      this.#world.schedule(life, delayMs, label, () => (answer ?? act())());
    });
  }
}

function gone(transaction: Transaction<unknown>): Error {
  return new Error(`transaction ${transaction.id} is ${transaction.state}`);
}

function unavailable(label: string): Error {
  return new StorageUnavailableError(`the outer system does not answer: ${label}`, {
    code: 'SINK_UNAVAILABLE',
  });
}
