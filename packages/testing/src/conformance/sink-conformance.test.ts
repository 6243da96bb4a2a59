import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  basePath,
  compareAttempts,
  fileSink,
  ndjson,
  StorageUnavailableError,
  TwoPhaseCommitSink,
} from '@weir/core';
import type {
  Attempt,
  CommittableStatus,
  CommitterContext,
  Sink,
  SinkRecovery,
  SinkWriterContext,
  TransactionalCommitter,
  TransactionalWriter,
} from '@weir/core';
import { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { ConformanceCaseName, ConformanceSystem } from './conformance-subject.ts';
import type { ProcessGate } from './process-gate.ts';
import { AutoClock } from './auto-clock.ts';
import { sinkConformance, whatIsWaitedFor } from './sink-conformance.ts';
import type { ConformanceCase } from './sink-conformance.ts';

interface Transaction {
  readonly id: string;
  readonly subtask: number;
  readonly attempt: Attempt;
  readonly records: number[];
  state: 'open' | 'prepared' | 'committed' | 'aborted';
}

/** A database with transactions that can be prepared. */
class Database implements ConformanceSystem<number> {
  readonly transactions = new Map<string, Transaction>();
  readonly published: number[] = [];
  /** Of each subtask; lower attempts can write no more. */
  readonly lowest = new Map<number, Attempt>();

  visible(): readonly number[] {
    return this.published;
  }

  unfinished(): readonly string[] {
    return [...this.transactions.values()]
      .filter(({ state }) => state === 'open' || state === 'prepared')
      .map(({ id }) => id);
  }

  expire(): void {
    for (const transaction of this.transactions.values())
      if (transaction.state === 'prepared' || transaction.state === 'open')
        transaction.state = 'aborted';
  }

  write(transaction: Transaction): void {
    const lowest = this.lowest.get(transaction.subtask) ?? transaction.attempt;
    if (compareAttempts(transaction.attempt, lowest) < 0) throw new Error('fenced');
    const known = this.transactions.get(transaction.id);
    if (known !== undefined && known.state !== 'open') throw new Error(`${known.id} is not open`);
    this.transactions.set(transaction.id, { ...transaction, records: [...transaction.records] });
  }

  commit(id: string): void {
    const known = this.transactions.get(id);
    if (known === undefined || known.state === 'aborted') throw new Error(`${id} is gone`);
    if (known.state === 'committed') return;
    known.state = 'committed';
    this.published.push(...known.records);
  }
}

/** What a sink may do wrong. */
type Lie =
  | 'publishes at once'
  | 'commits blindly'
  | 'forgets on restart'
  | 'aborts what is promised'
  | 'names without attempt'
  | 'says it is durable too early'
  | 'swallows what is gone'
  | 'says pending always'
  | 'leaves transactions open'
  | 'aborts those of any attempt'
  | 'aborts those of any subtask';

class DatabaseSink extends TwoPhaseCommitSink<number, Transaction, string> {
  readonly name = 'database';
  readonly #database: Database;
  readonly #gate: ProcessGate;
  readonly #lie: Lie | null;

  constructor(database: Database, gate: ProcessGate, lie: Lie | null) {
    super();
    this.#database = database;
    this.#gate = gate;
    this.#lie = lie;
  }

  protected override connectWriter({
    subtask,
    attempt,
  }: SinkWriterContext): TransactionalWriter<number, Transaction, string> {
    const [database, gate, lie] = [this.#database, this.#gate, this.#lie];
    let count = 0;
    return {
      begin: () => {
        const whose = lie === 'names without attempt' ? '' : `${attempt.epoch}.${attempt.counter}-`;
        const id = `${whose}${subtask}-${count++}`;
        return { id, subtask, attempt, records: [], state: 'open' };
      },
      write: (transaction, value) => {
        transaction.records.push(value);
        if (lie === 'publishes at once') database.published.push(value);
      },
      preCommit: (transaction) => {
        const prepare = async (): Promise<void> => {
          await gate.call(`write ${transaction.id}`, async () => database.write(transaction));
          await gate.call(`prepare ${transaction.id}`, async () => {
            const known = database.transactions.get(transaction.id);
            if (known !== undefined && known.state === 'open') known.state = 'prepared';
          });
        };
        const durable = prepare();
        durable.catch(() => undefined);
        const isEarly = lie === 'says it is durable too early';
        return { committable: transaction.id, durable: isEarly ? Promise.resolve() : durable };
      },
      abort: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }

  protected override connectCommitter(_context: CommitterContext): TransactionalCommitter<string> {
    const [database, gate, lie] = [this.#database, this.#gate, this.#lie];
    return {
      commit: (id) =>
        gate.call(`commit ${id}`, async () => {
          const known = database.transactions.get(id);
          if (lie === 'publishes at once') return;
          if (lie === 'swallows what is gone' && known?.state === 'aborted') return;
          if (lie === 'commits blindly' && known !== undefined) {
            database.published.push(...known.records);
            known.state = 'committed';
          } else database.commit(id);
        }),
      recoverAndAbort: (recovery) => this.#abort(recovery),
      ...(lie === 'forgets on restart' ? { recoverAndCommit: () => Promise.resolve() } : {}),
      probe: (id): Promise<CommittableStatus> => {
        const state = database.transactions.get(id)?.state;
        if (lie === 'says pending always') return Promise.resolve('pending');
        if (state === 'committed') return Promise.resolve('committed');
        return Promise.resolve(state === 'prepared' ? 'pending' : 'gone');
      },
      close: () => Promise.resolve(),
    };
  }

  async #abort({ committables, attempt, subtasks }: SinkRecovery<string, never>): Promise<void> {
    const [database, lie] = [this.#database, this.#lie];
    const isMine = (subtask: number): boolean =>
      subtasks === 'all' || subtasks.includes(subtask) || lie === 'aborts those of any subtask';
    await this.#gate.call('abort', async () => {
      for (let subtask = 0; subtask < 3; subtask++)
        if (isMine(subtask)) database.lowest.set(subtask, attempt);
      if (lie === 'leaves transactions open') return;
      for (const transaction of database.transactions.values()) {
        const isNamed = committables.includes(transaction.id) && lie !== 'aborts what is promised';
        if (transaction.state === 'committed' && lie !== 'aborts what is promised') continue;
        const isDead =
          lie === 'aborts those of any attempt' ||
          compareAttempts(transaction.attempt, attempt) < 0;
        if (!isNamed && isDead && isMine(transaction.subtask)) transaction.state = 'aborted';
      }
    });
  }
}

const options = { record: (n: number) => n };

function casesOf(lie: Lie | null): readonly ConformanceCase[] {
  return sinkConformance(
    (database: Database, gate) => new DatabaseSink(database, gate, lie),
    () => new Database(),
    options,
  );
}

for (const { name, run } of casesOf(null)) test(`a sink that keeps the rules: ${name}`, run);

/** By each lie, the cases that catch it. */
const CAUGHT: Readonly<Record<Lie, readonly ConformanceCaseName[]>> = {
  'publishes at once': ['not before the checkpoint', 'aborted checkpoint'],
  'commits blindly': ['committed twice', 'answer lost at every step'],
  'forgets on restart': ['restored twice', 'crash before every step'],
  'aborts what is promised': [],
  'names without attempt': ['restored twice', 'crash after every step'],
  'says it is durable too early': ['crash before every step'],
  'swallows what is gone': ['expired transaction'],
  'says pending always': ['probe'],
  'leaves transactions open': ['aborted checkpoint'],
  'aborts those of any attempt': ['fenced attempt'],
  'aborts those of any subtask': ['restarted in part'],
};

for (const [lie, cases] of Object.entries(CAUGHT))
  test(`a sink that ${lie} is caught`, async () => {
    const caught: string[] = [];
    for (const { name, run } of casesOf(lie as Lie))
      await run().catch(() => {
        caught.push(name);
      });
    for (const name of cases)
      assert.ok(caught.includes(name), `${name} lets it pass: ${caught.join()}`);
    assert.ok(caught.length > 0);
  });

test('a plain sink is held to what it promises: nothing is missing', async () => {
  const plain =
    (forgetsAt: number | null) =>
    (database: Database, gate: ProcessGate): Sink<number> => ({
      name: 'plain',
      write: 'plain',
      createWriter: () => {
        let calls: Promise<void> = Promise.resolve();
        return {
          isWritable: true,
          whenWritable: () => Promise.resolve(),
          write: (value) => {
            calls = calls.then(() =>
              gate.call(`write ${value}`, async () => {
                if (value !== forgetsAt) database.published.push(value);
              }),
            );
            calls.catch(() => undefined);
          },
          prepareCommit: () => ({ committables: [], writerStates: [], durable: calls }),
          close: () => Promise.resolve(),
        };
      },
    });
  for (const { run } of sinkConformance(plain(null), () => new Database(), options)) await run();
  const [first] = sinkConformance(plain(5), () => new Database(), options);
  await assert.rejects(first!.run(), /in a run without any failure: missing: 5/);
  // The same sink claims more than it keeps.
  const boasting = (database: Database, gate: ProcessGate): Sink<number> => ({
    ...plain(null)(database, gate),
    write: 'idempotent',
  });
  const cases = sinkConformance(boasting, () => new Database(), options);
  const crash = cases.find(({ name }) => name === 'crash after every step');
  await assert.rejects(crash!.run(), /with crash-after at step \d+, write \d: twice/);
});

test('a sink that waits longer than the clock goes by itself is told so', () => {
  const clock = new AutoClock();
  assert.equal(clock.waitsForMs, null);
  clock.schedule(9000, 'later', () => undefined);
  clock.schedule(5000, 'retry', () => undefined);
  clock.schedule(10, 'cancelled', () => undefined).cancel();
  assert.match(whatIsWaitedFor(clock.waitsForMs), /waits for 5000 ms .* no more than 1500 ms/);
  assert.match(whatIsWaitedFor(null), /never settles/);
});

test('a writer is given the states of its checkpoint', async () => {
  /** Keeps what it has not written in its state, until there is enough of it. */
  const holding = (published: Set<number>, gate: ProcessGate): Sink<number> => ({
    name: 'holding',
    write: 'idempotent',
    createWriter: (_context, restored) => {
      const held = (restored as readonly number[][]).flat();
      let calls: Promise<void> = Promise.resolve();
      const flush = (): void => {
        const values = held.splice(0);
        calls = calls.then(() =>
          gate.call('write', async () => values.forEach((value) => published.add(value))),
        );
        calls.catch(() => undefined);
      };
      return {
        isWritable: true,
        whenWritable: () => Promise.resolve(),
        write: (value) => {
          held.push(value);
          if (held.length === 4) flush();
        },
        prepareCommit: ({ endOfInput }) => {
          if (endOfInput) flush();
          return { committables: [], writerStates: [[...held]], durable: calls };
        },
        close: () => Promise.resolve(),
      };
    },
  });
  class Shelf implements ConformanceSystem<number> {
    readonly published = new Set<number>();
    visible(): readonly number[] {
      return [...this.published];
    }
    unfinished(): readonly string[] {
      return [];
    }
  }
  const cases = sinkConformance(
    (shelf: Shelf, gate) => holding(shelf.published, gate),
    () => new Shelf(),
    options,
  );
  for (const { run } of cases) await run();
});

/** Holds in memory what it takes, until it is told to put it on its disk. */
class Cache implements ConformanceSystem<number> {
  restarts = 0;
  #held: number[] = [];
  #onDisk: readonly number[] = [];

  visible(): readonly number[] {
    return this.#held;
  }

  unfinished(): readonly string[] {
    return [];
  }

  take(value: number): void {
    this.#held.push(value);
  }

  flush(): void {
    this.#onDisk = [...this.#held];
  }

  restart(): void {
    this.restarts++;
    this.#held = [...this.#onDisk];
  }
}

function cacheSink(cache: Cache, gate: ProcessGate, flushes: boolean): Sink<number> {
  return {
    name: 'cache',
    write: 'plain',
    createWriter: () => {
      let calls: Promise<void> = Promise.resolve();
      const connectedTo = cache.restarts;
      const call = (name: string, act: () => void): void => {
        const done = async (): Promise<void> => {
          if (cache.restarts !== connectedTo) throw new StorageUnavailableError('it broke');
          act();
        };
        calls = calls.then(() => gate.call(name, done));
        calls.catch(() => undefined);
      };
      return {
        isWritable: true,
        whenWritable: () => Promise.resolve(),
        write: (value) => call(`take ${value}`, () => cache.take(value)),
        prepareCommit: () => {
          if (flushes) call('flush', () => cache.flush());
          return { committables: [], writerStates: [], durable: calls };
        },
        close: () => Promise.resolve(),
      };
    },
  };
}

test('what a server takes into its memory alone is caught by its restart', async () => {
  const casesOf = (flushes: boolean, systems: Cache[]): readonly ConformanceCase[] =>
    sinkConformance(
      (cache: Cache, gate) => cacheSink(cache, gate, flushes),
      () => {
        const cache = new Cache();
        systems.push(cache);
        return cache;
      },
      options,
    );
  const systems: Cache[] = [];
  for (const { run } of casesOf(true, systems)) await run();
  const restarts = systems.reduce((sum, cache) => sum + cache.restarts, 0);
  assert.ok(restarts >= 4, `${restarts} restarts: before a checkpoint, a commit and answers`);
  for (const { name, run } of casesOf(false, [])) {
    if (name !== 'server restarted in between') await run();
    else
      await assert.rejects(run(), /server was restarted before the checkpoint: missing: 0, 1, 2/);
  }
});

test('cases without a subject are there and say why', () => {
  const disk = sinkConformance(
    () => fileSink({ path: '/out', format: ndjson<{ readonly n: number }>() }),
    () => new Disk(),
    { record: (n) => ({ n }), without: { probe: 'nobody asks' } },
  );
  assert.deepEqual(
    disk.filter(({ withoutSubject }) => withoutSubject !== null).map(({ name }) => name),
    [
      'probe: no subject, nobody asks',
      'expired transaction: no subject, the system has no expire',
      'server restarted in between: no subject, the system has no restart',
    ],
  );
});

class Disk implements ConformanceSystem<{ readonly n: number }> {
  readonly fileSystem: MemoryFileSystem = new MemoryFileSystem();

  async visible(): Promise<readonly { readonly n: number }[]> {
    const records: { readonly n: number }[] = [];
    for (const name of await this.#names())
      if (name.startsWith('part-')) {
        const text = Buffer.from(await this.fileSystem.readFile(`/out/${name}`)).toString();
        for (const line of text.split('\n'))
          if (line !== '') records.push(JSON.parse(line) as { readonly n: number });
      }
    return records;
  }

  async unfinished(): Promise<readonly string[]> {
    return (await this.#names()).filter((name) => name.startsWith('.'));
  }

  async #names(): Promise<readonly string[]> {
    return (await this.fileSystem.stat('/out')) === null ? [] : this.fileSystem.list('/out');
  }
}

for (const onCheckpoint of [true, false]) {
  const cases = sinkConformance(
    () =>
      fileSink({
        path: '/out',
        format: ndjson<{ readonly n: number }>(),
        bucket: basePath(),
        rolling: { onCheckpoint },
      }),
    () => new Disk(),
    { record: (n) => ({ n }) },
  );
  for (const { name, run } of cases)
    test(`fileSink${onCheckpoint ? ' that rolls on checkpoints' : ''}: ${name}`, run);
}

test('what breaks a rule is told with what the rule is', async () => {
  const caseOf = (lie: Lie, name: ConformanceCaseName): ConformanceCase | undefined =>
    sinkConformance(
      (database: Database, gate) => new DatabaseSink(database, gate, lie),
      () => new Database(),
      { record: (n) => n },
    ).find((one) => one.name === name);
  await assert.rejects(async () => caseOf('commits blindly', 'committed twice')?.run(), {
    name: 'ConformanceError',
    message: /twice or not expected: .*must leave these alone/,
  });
  await assert.rejects(async () => caseOf('forgets on restart', 'restored twice')?.run(), {
    name: 'ConformanceError',
    message: /missing: .*recover commits what the checkpoint holds/,
  });
});

test('a sink without a part that it needs is refused by name', async () => {
  const partless = (write: string, parts: object = {}): Sink<number> =>
    ({ name: 'partless', write, createWriter: () => ({}), ...parts }) as unknown as Sink<number>;
  const cases = (sink: Sink<number>): readonly ConformanceCase[] =>
    sinkConformance(
      () => sink,
      () => new Database(),
      { record: (n) => n },
    );
  assert.throws(() => cases(partless('exactly-once')), /must be one of two-phase-commit, write/);
  assert.throws(() => cases(partless('two-phase-commit')), /partless .*has no createCommitter/);
  const lame = partless('two-phase-commit', { createCommitter: () => ({ commit: () => {} }) });
  const [first] = cases(lame);
  await assert.rejects(
    async () => first?.run(),
    /committer of sink partless has no method recover/,
  );
});
