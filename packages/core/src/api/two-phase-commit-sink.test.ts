import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attempt } from '../base/ids.ts';
import type { CommitterContext, SinkRecovery, SinkWriterContext } from './sink.ts';
import { TwoPhaseCommitSink } from './two-phase-commit-sink.ts';
import type { TransactionalCommitter, TransactionalWriter } from './two-phase-commit-sink.ts';

interface Tx {
  readonly id: number;
  readonly values: number[];
  state: 'open' | 'pending' | 'committed' | 'aborted';
}

/** An outer system in memory; what it holds outlives the writers. */
class Store {
  readonly transactions: Tx[] = [];
  readonly broken = new Set<number>();

  get visible(): number[] {
    return this.transactions.filter((it) => it.state === 'committed').flatMap((it) => it.values);
  }

  states(): string[] {
    return this.transactions.map((it) => it.state);
  }

  at(id: number): Tx {
    const found = this.transactions[id];
    if (found === undefined) throw new Error(`no transaction ${id}`);
    return found;
  }
}

class StoreSink extends TwoPhaseCommitSink<number, Tx, number> {
  readonly name = 'store';
  override readonly beginAt: 'first-record' | 'barrier';
  readonly #store: Store;

  constructor(store: Store, beginAt: 'first-record' | 'barrier' = 'first-record') {
    super();
    this.#store = store;
    this.beginAt = beginAt;
  }

  protected override connectWriter(): TransactionalWriter<number, Tx, number> {
    return systemOf(this.#store);
  }

  protected override connectCommitter(): TransactionalCommitter<number> {
    return systemOf(this.#store);
  }
}

function systemOf(
  store: Store,
): TransactionalWriter<number, Tx, number> & TransactionalCommitter<number> {
  return {
    begin() {
      const transaction: Tx = { id: store.transactions.length, values: [], state: 'open' };
      store.transactions.push(transaction);
      return transaction;
    },
    write: (transaction, value) => void transaction.values.push(value),
    preCommit(transaction) {
      transaction.state = 'pending';
      return { committable: transaction.id, durable: Promise.resolve() };
    },
    async commit(id) {
      if (store.broken.has(id)) throw new Error(`cannot commit ${id}`);
      store.at(id).state = 'committed';
    },
    async abort(transaction) {
      transaction.state = 'aborted';
    },
    async recoverAndAbort({ committables }) {
      for (const it of store.transactions)
        if (it.state !== 'committed' && !committables.includes(it.id)) it.state = 'aborted';
    },
    async probe(id) {
      return store.at(id).state === 'committed' ? 'committed' : 'pending';
    },
    async close() {},
  };
}

const writerContext = {} as SinkWriterContext;
const committerContext = {} as CommitterContext;
const element = { timestamp: Number.NaN, watermark: -Infinity };

function barrier(checkpointId: number, endOfInput = false) {
  return { checkpointId, endOfInput };
}

function recoveryOf(committables: readonly number[]): SinkRecovery<number, never> {
  const attempt: Attempt = { epoch: 2, counter: 0 };
  return { committables, writerStates: [], attempt, subtasks: 'all', allowOlder: false };
}

test('a transaction becomes visible when its checkpoint completes, not before [I-89]', async () => {
  const store = new Store();
  const sink = new StoreSink(store);
  const writer = sink.createWriter(writerContext);
  const committer = sink.createCommitter(committerContext);
  writer.write(42, element);
  const first = writer.prepareCommit(barrier(1));
  writer.write(43, element);
  writer.prepareCommit(barrier(2));
  writer.write(44, element);
  assert.deepEqual(store.visible, []);
  await committer.commit(first.committables);
  assert.deepEqual(store.visible, [42]);
  assert.deepEqual(store.states(), ['committed', 'pending', 'open']);
});

test('recovery commits what the snapshot lists and aborts the rest [I-90]', async () => {
  const store = new Store();
  const sink = new StoreSink(store);
  const writer = sink.createWriter(writerContext);
  writer.write(42, element);
  writer.write(43, element);
  const prepared = writer.prepareCommit(barrier(1));
  writer.write(44, element);
  const committer = sink.createCommitter(committerContext);
  await committer.recover(recoveryOf(prepared.committables));
  assert.deepEqual(store.visible, [42, 43]);
  assert.deepEqual(store.states(), ['committed', 'aborted']);
  await committer.recover(recoveryOf(prepared.committables));
  assert.deepEqual(store.visible, [42, 43]);
});

test('after the end of input nothing begins, and a record is an error [I-91]', () => {
  const store = new Store();
  const writer = new StoreSink(store, 'barrier').createWriter(writerContext);
  void writer.open?.();
  return Promise.resolve().then(() => {
    writer.write(1, element);
    const last = writer.prepareCommit(barrier(1, true));
    assert.deepEqual(last.committables, [0]);
    assert.equal(store.transactions.length, 1);
    assert.throws(() => writer.write(2, element), /after the end of the input/);
  });
});

test('intervals without records begin no transaction and have nothing to commit [R071]', () => {
  const store = new Store();
  const writer = new StoreSink(store).createWriter(writerContext);
  for (let checkpoint = 1; checkpoint <= 5; checkpoint++)
    assert.deepEqual(writer.prepareCommit(barrier(checkpoint)).committables, []);
  assert.equal(store.transactions.length, 0);
});

test('one failed commit does not keep the others from being committed', async () => {
  const store = new Store();
  const sink = new StoreSink(store);
  const writer = sink.createWriter(writerContext);
  const committables: number[] = [];
  for (const value of [1, 2, 3]) {
    writer.write(value, element);
    committables.push(...writer.prepareCommit(barrier(value)).committables);
  }
  store.broken.add(1);
  const committer = sink.createCommitter(committerContext);
  await assert.rejects(committer.commit(committables), /cannot commit 1/);
  assert.deepEqual(store.visible, [1, 3]);
});

test('closing aborts the open transaction and leaves pre-committed ones pending', async () => {
  const store = new Store();
  const writer = new StoreSink(store).createWriter(writerContext);
  writer.write(1, element);
  writer.prepareCommit(barrier(1));
  writer.write(2, element);
  await writer.close();
  assert.deepEqual(store.states(), ['pending', 'aborted']);
});
