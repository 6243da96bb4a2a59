import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommitterContext } from '../api/sink.ts';
import { StorageUnavailableError } from '../base/errors.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { SinkDriver } from './parts/test-support.ts';
import { testEnvironment } from './test-support.ts';
import { WriteAheadLogSink } from './write-ahead-log-sink.ts';
import type { WriteAheadLogTarget } from './write-ahead-log-sink.ts';
import { batchName } from './write-ahead-log/checkpoint-committer.ts';
import { fileCheckpointCommitter } from './write-ahead-log/file-checkpoint-committer.ts';
import type { LoggedResults } from './write-ahead-log/result-log.ts';

type Step = 'isCommitted' | 'send' | 'sent' | 'commitCheckpoint';

/** An outer system in memory that fails at the next call of a step when told to. */
class Store {
  readonly written: number[] = [];
  readonly sends: string[] = [];
  readonly confirmed = new Map<string, number>();
  failAt: Step | null = null;

  reach(step: Step): void {
    if (this.failAt !== step) return;
    this.failAt = null;
    throw new StorageUnavailableError(`the store failed at ${step}`);
  }
}

class StoreSink extends WriteAheadLogSink<number> {
  readonly name = 'store';
  readonly confirmation: 'atomic' | 'separate';
  override readonly logBytesMax: number;
  readonly #store: Store;

  constructor(store: Store, confirmation: 'atomic' | 'separate', logBytesMax = 1000) {
    super();
    this.#store = store;
    this.confirmation = confirmation;
    this.logBytesMax = logBytesMax;
  }

  protected override connect(_context: CommitterContext): WriteAheadLogTarget<number> {
    const store = this.#store;
    const isAtomic = this.confirmation === 'atomic';
    return {
      output: {
        async send(values, batch) {
          store.reach('send');
          store.sends.push(batchName(batch));
          store.written.push(...values);
          if (isAtomic) store.confirmed.set(batch.writer, batch.checkpointId);
          store.reach('sent');
        },
        async close() {},
      },
      confirmations: {
        async isCommitted({ writer, checkpointId }) {
          store.reach('isCommitted');
          return checkpointId <= (store.confirmed.get(writer) ?? -1);
        },
        async commitCheckpoint({ writer, checkpointId }) {
          store.reach('commitCheckpoint');
          store.confirmed.set(writer, checkpointId);
        },
      },
    };
  }
}

type Driver = SinkDriver<number, never, LoggedResults>;

function drive(store: Store, counter = 1, confirmation: 'atomic' | 'separate' = 'separate') {
  // Every attempt draws from a stream of its own, as in a run.
  const environment = testEnvironment(new MemoryFileSystem(), counter);
  return new SinkDriver(new StoreSink(store, confirmation), environment, counter);
}

function writeAll(driver: Driver, from: number, count: number, subtask = 0): void {
  for (let value = from; value < from + count; value++) driver.write(value, subtask);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

test('a failed check sends nothing, a failed confirmation sends again [I-93]', async () => {
  const store = new Store();
  const driver = drive(store);
  await driver.start();
  const pending: LoggedResults[] = [];
  for (const [index, size] of [10, 11, 12].entries()) {
    writeAll(driver, index * 100, size);
    pending.push(...(await driver.checkpoint(index + 1)).committables.slice(index));
  }
  assert.equal(pending.length, 3);
  store.failAt = 'isCommitted';
  await assert.rejects(driver.committer.commit(pending), /failed at isCommitted/);
  assert.equal(store.written.length, 0);
  store.failAt = 'commitCheckpoint';
  await assert.rejects(driver.committer.commit(pending), /failed at commitCheckpoint/);
  assert.equal(store.written.length, 10);
  await driver.committer.commit(pending);
  assert.equal(store.written.length, 43);
});

test('a missed notification is made up by the next one, in order [I-94]', async () => {
  const store = new Store();
  const driver = drive(store);
  await driver.start();
  writeAll(driver, 0, 3);
  await driver.checkpoint(1);
  writeAll(driver, 3, 3);
  const second = await driver.checkpoint(2);
  writeAll(driver, 6, 3);
  assert.deepEqual(store.written, [], 'nothing is written before a checkpoint is complete');
  await driver.complete(second);
  assert.deepEqual(store.written, range(0, 6));
});

test('a restore writes what the snapshot lists once, nothing of later [I-94]', async () => {
  const store = new Store();
  const first = drive(store);
  await first.start();
  writeAll(first, 0, 3);
  const checkpoint = await first.checkpoint(1);
  writeAll(first, 3, 3);
  await first.checkpoint(2);
  // Killed here: checkpoint 1 is the newest that is complete, and nobody was told.
  const second = drive(store, 2);
  await second.start(3, checkpoint);
  assert.deepEqual(store.written, [0, 1, 2]);
  const third = drive(store, 3);
  await third.start(1, checkpoint);
  assert.deepEqual(store.written, [0, 1, 2], 'restored twice, written once');
});

test('results of aborted checkpoints are written with the next that completes', async () => {
  const store = new Store();
  const driver = drive(store);
  await driver.start(2);
  for (const id of [1, 2, 3]) {
    driver.write(id * 10, 0);
    driver.write(id * 10 + 1, 1);
    if (id < 3) await driver.checkpoint(id);
  }
  await driver.complete(await driver.checkpoint(3));
  assert.deepEqual(store.written, [10, 11, 20, 21, 30, 31]);
});

test('a crash between write and separate confirmation repeats that batch alone', async () => {
  const store = new Store();
  const first = drive(store);
  await first.start();
  first.write(1);
  const one = await first.checkpoint(1);
  await first.complete(one);
  first.write(2);
  const two = await first.checkpoint(2);
  store.failAt = 'commitCheckpoint';
  await assert.rejects(first.complete(two));
  await drive(store, 2).start(1, two);
  assert.deepEqual(store.written, [1, 2, 2]);
  assert.equal(store.sends[1], store.sends[2], 'under the same id');
});

test('a crash after an atomic write repeats nothing', async () => {
  const store = new Store();
  const first = drive(store, 1, 'atomic');
  await first.start();
  first.write(1);
  const one = await first.checkpoint(1);
  store.failAt = 'sent';
  await assert.rejects(first.complete(one));
  await drive(store, 2, 'atomic').start(2, one);
  assert.deepEqual(store.written, [1]);
  assert.equal(await first.committer.probe(one.committables[0]!), 'committed');
});

test('the batch after one that fails is not written before it', async () => {
  const store = new Store();
  const driver = drive(store);
  await driver.start();
  driver.write(1);
  await driver.checkpoint(1);
  driver.write(2);
  const second = await driver.checkpoint(2);
  store.failAt = 'send';
  await assert.rejects(driver.committer.commit(second.committables), /failed at send/);
  assert.deepEqual(store.written, []);
  assert.equal(await driver.committer.probe(second.committables[0]!), 'pending');
  await driver.committer.commit(second.committables);
  assert.deepEqual(store.written, [1, 2]);
});

test('after an older snapshot nothing is skipped, though the store is ahead [R026]', async () => {
  const store = new Store();
  const first = drive(store);
  await first.start();
  let older = null;
  for (let id = 1; id <= 10; id++) {
    first.write(id);
    const checkpoint = await first.checkpoint(id);
    if (id === 4) older = checkpoint;
    await first.complete(checkpoint);
  }
  assert.ok(older !== null);
  const second = drive(store, 2);
  await second.start(1, older);
  for (let id = 5; id <= 9; id++) {
    second.write(id + 100);
    await second.complete(await second.checkpoint(id));
  }
  assert.deepEqual(store.written, [...range(1, 11), ...range(105, 110)]);
});

test('the last results belong to the final checkpoint, and none come after [R037]', async () => {
  const store = new Store();
  const driver = drive(store);
  await driver.start();
  writeAll(driver, 0, 5);
  const last = await driver.checkpoint(1, true);
  await driver.complete(last);
  assert.deepEqual(store.written, range(0, 5));
  assert.throws(() => driver.write(5), /after the end of the input/);
});

test('a large interval is kept in pieces and is one batch, as bytes or as values', async () => {
  const size = 40_000;
  for (const write of [
    (n: number): unknown => ({ n, text: 'x'.repeat(20) }),
    (n: number): unknown =>
      new Uint8Array([n % 256, n >> 8, ...Array.from({ length: 20 }, () => 7)]),
  ]) {
    const store = new Store();
    const driver = new SinkDriver(new StoreSink(store, 'atomic', 1e8), testEnvironment());
    await driver.start();
    const expected = Array.from({ length: size }, (_, n) => write(n));
    for (const value of expected) driver.write(value as number);
    const checkpoint = await driver.checkpoint(1);
    assert.ok(checkpoint.committables.length > 2, `${checkpoint.committables.length} pieces`);
    await driver.complete(checkpoint);
    assert.equal(store.sends.length, 1);
    assert.deepEqual(store.written, expected);
  }
});

test('a batch of which a piece is missing is not written', async () => {
  const store = new Store();
  const driver = new SinkDriver(new StoreSink(store, 'atomic', 1e8), testEnvironment());
  await driver.start();
  for (let n = 0; n < 100_000; n++) driver.write(1_000_000 + n);
  const { committables } = await driver.checkpoint(1);
  assert.ok(committables.length > 1);
  await assert.rejects(driver.committer.commit(committables.slice(1)), {
    code: 'STATE_CORRUPT',
    message: /which has 100000 results, \d+ are there/,
  });
  assert.deepEqual(store.written, []);
});

test('bytes may lie in memory that is used again', async () => {
  const store = new Store();
  const driver = new SinkDriver(new StoreSink(store, 'atomic'), testEnvironment());
  await driver.start();
  const memory = new Uint8Array(3);
  for (const fill of [1, 2, 3]) driver.write(memory.fill(fill).subarray(0, fill) as never);
  await driver.complete(await driver.checkpoint(1));
  assert.deepEqual(
    store.written.map((it) => [...(it as unknown as Uint8Array)]),
    [[1], [2, 2], [3, 3, 3]],
  );
});

test('intervals without results log nothing', async () => {
  const driver = drive(new Store());
  await driver.start();
  assert.deepEqual((await driver.checkpoint(1)).committables, []);
});

test('a value that is changed after it was written is logged as it was', async () => {
  const store = new Store();
  const environment = testEnvironment();
  const driver = new SinkDriver(new StoreSink(store, 'separate'), environment);
  await driver.start();
  const value = { count: 1 };
  driver.write(value as unknown as number);
  value.count = 2;
  await driver.complete(await driver.checkpoint(1));
  assert.deepEqual(store.written, [{ count: 1 }]);
});

test('too many results of one interval end the job with what to change', async () => {
  const sink = new StoreSink(new Store(), 'separate', 20);
  const driver = new SinkDriver(sink, testEnvironment());
  await driver.start();
  assert.throws(() => writeAll(driver, 1_000_000, 10), {
    message:
      /more than 20 bytes; checkpoint more often, raise the parallelism, or raise logBytesMax/,
    kind: 'user',
  });
});

test('confirmations in files outlive the process, and damage is told', async () => {
  const fileSystem = new MemoryFileSystem();
  const environment = testEnvironment(fileSystem);
  const store = new Store();
  const driver = drive(store);
  await driver.start();
  driver.write(1);
  const [results] = (await driver.checkpoint(7)).committables;
  assert.ok(results !== undefined);
  const { batch } = results;
  await fileCheckpointCommitter(environment, '/confirmed').commitCheckpoint(batch);
  const again = fileCheckpointCommitter(environment, '/confirmed');
  assert.equal(await again.isCommitted(batch), true);
  assert.equal(await again.isCommitted({ ...batch, checkpointId: 8 }), false);
  assert.equal(await again.isCommitted({ ...batch, writer: 'another' }), false);
  const path = `/confirmed/${batch.jobId}-${batch.operatorId}/${batch.writer}`;
  await fileSystem.truncate(path, 0);
  await assert.rejects(again.isCommitted(batch), { code: 'STATE_CORRUPT', message: /is damaged/ });
});
