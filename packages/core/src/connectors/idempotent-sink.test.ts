import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SinkWriter, SinkWriterContext } from '../api/sink.ts';
import { ManualClock } from '../base/clock.ts';
import { StorageUnavailableError, WeirError } from '../base/errors.ts';
import { IdempotentSink } from './idempotent-sink.ts';
import type { BatchSettings, IdempotentOutput } from './idempotent-sink.ts';
import { settle } from './test-support.ts';

interface Entry {
  readonly key: string;
  readonly value: number;
}

/** A table in memory; a batch that fails may have been written all the same. */
class Table {
  readonly rows = new Map<string, number>();
  readonly batches: (readonly Entry[])[] = [];
  failures: ('before' | 'after' | 'for-good')[] = [];
  hold: Promise<void> | null = null;

  async write(writes: readonly Entry[]): Promise<void> {
    this.batches.push(writes);
    if (this.hold !== null) await this.hold;
    const failure = this.failures.shift();
    if (failure === 'before') throw new StorageUnavailableError('lost before it was written');
    if (failure === 'for-good')
      throw new WeirError('user', 'no such table', { code: 'SINK_UNAVAILABLE' });
    for (const { key, value } of writes) this.rows.set(key, value);
    if (failure === 'after') throw new StorageUnavailableError('the answer was lost');
  }
}

class TableSink extends IdempotentSink<Entry> {
  readonly name = 'table';
  override readonly batching: BatchSettings;
  readonly #table: Table;

  constructor(table: Table, batching: BatchSettings = {}) {
    super();
    this.#table = table;
    this.batching = batching;
  }

  protected override connect(): IdempotentOutput<Entry, Entry> {
    return {
      prepare: (entry) => (entry.value < 0 ? null : entry),
      keyOf: (entry) => entry.key,
      writeBatch: (writes) => this.#table.write(writes),
      close: () => Promise.resolve(),
    };
  }
}

const element = { timestamp: Number.NaN, watermark: -Infinity };

interface Started {
  readonly writer: SinkWriter<Entry, never, never>;
  readonly clock: ManualClock;
}

function start(table: Table, batching: BatchSettings = {}): Started {
  const clock = new ManualClock();
  const context = { clock } as unknown as SinkWriterContext;
  return { writer: new TableSink(table, batching).createWriter(context), clock };
}

function put(writer: Started['writer'], ...entries: readonly (readonly [string, number])[]): void {
  for (const [key, value] of entries) writer.write({ key, value }, element);
}

function barrier(writer: Started['writer']): Promise<void> {
  return writer.prepareCommit({ checkpointId: 1, endOfInput: false }).durable;
}

async function advance(clock: ManualClock, ms: number): Promise<void> {
  await settle();
  clock.advance(ms);
  await settle();
}

test('within a batch the last value of a key wins, in the order of keys', async () => {
  const table = new Table();
  const { writer } = start(table);
  put(writer, ['b', 1], ['a', 2], ['b', 3], ['c', -1]);
  await barrier(writer);
  assert.deepEqual(table.batches, [
    [
      { key: 'a', value: 2 },
      { key: 'b', value: 3 },
    ],
  ]);
});

test('a batch goes when it is full, when it has waited, and at the barrier', async () => {
  const table = new Table();
  const { writer, clock } = start(table, { batchSize: 2, lingerMs: 10 });
  put(writer, ['a', 1], ['b', 1], ['c', 1]);
  await settle();
  assert.equal(table.rows.size, 2, 'full');
  await advance(clock, 9);
  assert.equal(table.rows.size, 2);
  await advance(clock, 1);
  assert.equal(table.rows.size, 3, 'waited');
  put(writer, ['d', 1]);
  await barrier(writer);
  assert.equal(table.rows.size, 4, 'barrier');
});

test('a batch whose answer was lost is written again before what comes after it', async () => {
  const table = new Table();
  const { writer, clock } = start(table, { batchSize: 1 });
  table.failures = ['after', 'before'];
  put(writer, ['a', 1], ['a', 2]);
  const durable = barrier(writer);
  await advance(clock, 50);
  await advance(clock, 100);
  await durable;
  assert.deepEqual(
    table.batches.map((batch) => batch[0]?.value),
    [1, 1, 1, 2],
  );
  assert.equal(table.rows.get('a'), 2);
});

test('a system that stays away fails the task as transient, naming the time', async () => {
  const table = new Table();
  const { writer, clock } = start(table, { retryForMs: 100 });
  table.failures = ['before', 'before', 'before'];
  put(writer, ['a', 1]);
  const failed = assert.rejects(barrier(writer), {
    kind: 'transient',
    message: /table has not got through for 50 ms: lost before .*; a larger retryForMs waits/,
  });
  await advance(clock, 50);
  await failed;
  assert.throws(() => put(writer, ['b', 1]), /has not got through/);
  assert.throws(() => writer.isWritable, /has not got through/);
});

test('what a restart does not mend is not tried again', async () => {
  const table = new Table();
  const { writer } = start(table);
  table.failures = ['for-good'];
  put(writer, ['a', 1]);
  await assert.rejects(barrier(writer), { kind: 'user', message: 'no such table' });
  assert.equal(table.batches.length, 1);
});

test('a slow system slows the producers, and what is in memory stays bounded', async () => {
  const table = new Table();
  let release = (): void => undefined;
  table.hold = new Promise((resolve) => (release = resolve));
  const { writer } = start(table, { batchSize: 2, bufferRecords: 4 });
  put(writer, ['a', 1], ['b', 1], ['c', 1]);
  assert.equal(writer.isWritable, true);
  put(writer, ['d', 1]);
  assert.equal(writer.isWritable, false);
  const writable = writer.whenWritable();
  release();
  await writable;
  assert.equal(writer.isWritable, true);
  await barrier(writer);
  assert.equal(table.rows.size, 4);
});

test('a barrier waits for what came before it, not for what comes after', async () => {
  const table = new Table();
  const { writer } = start(table, { batchSize: 1 });
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  table.hold = gates[0]!.promise;
  put(writer, ['a', 1]);
  const durable = barrier(writer);
  put(writer, ['b', 1]);
  table.hold = gates[1]!.promise;
  gates[0]!.resolve();
  await durable;
  assert.deepEqual([...table.rows.keys()], ['a']);
  gates[1]!.resolve();
  await barrier(writer);
  assert.deepEqual([...table.rows.keys()], ['a', 'b']);
});

test('closing writes nothing more', async () => {
  const table = new Table();
  const { writer, clock } = start(table, { lingerMs: 10 });
  put(writer, ['a', 1]);
  await writer.close();
  await advance(clock, 20);
  assert.equal(table.batches.length, 0);
});

test('closed while its system is away, it waits for nothing', async () => {
  const table = new Table();
  const { writer, clock } = start(table);
  table.failures = Array.from({ length: 9 }, () => 'before' as const);
  put(writer, ['a', 1]);
  const failed = assert.rejects(barrier(writer), { message: 'lost before it was written' });
  await advance(clock, 1000);
  const tries = table.batches.length;
  await writer.close();
  await failed;
  assert.equal(table.batches.length, tries);
  assert.equal(clock.pendingCount(), 0);
});

test('closed while a batch is on its way, it waits for the outcome', async () => {
  const table = new Table();
  const written = Promise.withResolvers<void>();
  table.hold = written.promise;
  const { writer } = start(table, { batchSize: 1 });
  put(writer, ['a', 1], ['b', 1]);
  let isClosed = false;
  const closed = writer.close().then(() => (isClosed = true));
  await settle();
  assert.equal(isClosed, false, 'it could arrive behind what another attempt writes');
  written.resolve();
  await closed;
  assert.deepEqual([...table.rows.keys()], ['a']);
});
