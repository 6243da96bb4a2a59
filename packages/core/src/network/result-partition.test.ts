import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SerializationError } from '../base/errors.ts';
import type { WeirError } from '../base/errors.ts';
import { BATCH_SIZE, NO_TIMESTAMP } from '../base/records.ts';
import {
  Recorder,
  channel,
  connection,
  execution,
  marker,
  subscribe,
  trigger,
} from './fixtures.ts';
import { ResultPartition } from './result-partition.ts';
import type { ResultPartitionOptions } from './result-partition.ts';
import type { ResultSubpartition } from './result-subpartition.ts';

function createPartition(parts: Partial<ResultPartitionOptions> = {}): {
  partition: ResultPartition;
  errors: WeirError[];
  first: ResultSubpartition;
} {
  const errors: WeirError[] = [];
  const partition = new ResultPartition({
    execution: execution('a'),
    channels: [channel(0)],
    operatorName: 'parse',
    onError: (error) => errors.push(error),
    ...parts,
  });
  return { partition, errors, first: partition.subpartitions[0]! };
}

function emitAll(partition: ResultPartition, values: readonly unknown[]): void {
  for (const value of values) partition.emit(0, value, NO_TIMESTAMP);
}

test('frames are numbered in the order of production, control frames carry the next number', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  emitAll(partition, ['x', 'y']);
  partition.broadcastWatermark(5);
  partition.broadcastBarrier(trigger(1));
  emitAll(partition, ['z']);
  partition.broadcastIdle(true);
  partition.broadcastEndOfData(0);
  partition.broadcastCancel(2);
  partition.broadcastEndOfPartition();
  assert.deepEqual(consumer.take(), [
    '[x,y]@0',
    'wm5@1',
    'barrier1@2',
    '[z]@2',
    'idle@3',
    'end@4',
    'cancel2@5',
    'closed@5',
  ]);
  assert.ok(partition.allSent);
});

test('of records of a megabyte a channel holds a few, not a few thousand', () => {
  const { partition } = createPartition();
  let held = 0;
  while (partition.isAvailable) {
    partition.emit(0, { id: held, text: 'x'.repeat(1 << 20) }, NO_TIMESTAMP);
    held++;
  }
  assert.ok(held <= 4, `${held} records are held`);
});

test('a batch is sent when it is full, or when it is flushed', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  for (let i = 0; i < BATCH_SIZE + 1; i++) partition.emit(0, i, NO_TIMESTAMP);
  assert.equal(consumer.messages.length, 1);
  assert.equal(partition.allSent, false);
  partition.flush();
  assert.equal(consumer.messages.length, 2);
  partition.flush();
  assert.equal(consumer.messages.length, 2);
});

test('timestamps are kept apart, NaN where a record has none, null where no record has one', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  partition.emit(0, 'a', 7);
  partition.emit(0, 'b', NO_TIMESTAMP);
  partition.flush();
  partition.emit(0, 'c', NO_TIMESTAMP);
  partition.flush();
  partition.emit(0, 'd', NO_TIMESTAMP);
  partition.emit(0, 'e', 9);
  partition.flush();
  const batches = consumer.messages.map(({ frame }) =>
    frame.kind === 'records' ? frame.batch.timestamps : null,
  );
  assert.deepEqual(batches, [Float64Array.of(7, Number.NaN), null, Float64Array.of(Number.NaN, 9)]);
});

test('a batch of many records keeps the timestamp of each', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  const times = Array.from({ length: BATCH_SIZE }, (_, index) => 10 * index);
  for (const time of [...times.slice(0, 3), ...times.slice(0, 100), ...times])
    partition.emit(0, 'x', time === 20 ? NO_TIMESTAMP : time);
  partition.flush();
  const sent = consumer.messages.flatMap(({ frame }) =>
    frame.kind === 'records' ? [...(frame.batch.timestamps ?? [])] : [],
  );
  const known = times.map((time) => (time === 20 ? Number.NaN : time));
  assert.deepEqual(sent, [...known.slice(0, 3), ...known.slice(0, 100), ...known]);
});

test('only what is still open waits for a flush; a numbered frame goes by itself', () => {
  const { partition, first } = createPartition();
  assert.equal(partition.isOpen, false);
  partition.emit(0, 'x', NO_TIMESTAMP);
  assert.equal(partition.isOpen, true);
  partition.flush();
  assert.deepEqual(
    [partition.isOpen, partition.allSent],
    [false, false],
    'nobody has asked for it',
  );
  partition.broadcastWatermark(1);
  assert.equal(partition.isOpen, true);
  partition.flush();
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  assert.deepEqual(consumer.take(), ['[x]@0', 'wm1@1']);
});

test('of watermarks in a row only the last is sent, never one across records', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  partition.broadcastWatermark(1);
  partition.broadcastWatermark(2);
  emitAll(partition, ['x']);
  partition.broadcastWatermark(3);
  partition.broadcastWatermark(4);
  assert.equal(partition.allSent, false);
  partition.flush();
  assert.deepEqual(consumer.take(), ['wm2@0', '[x]@1', 'wm4@2']);
});

test('a marker leaves behind the records before it, when they do, and has no number', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  emitAll(partition, ['x']);
  partition.emitMarker(0, marker(5));
  emitAll(partition, ['y']);
  assert.deepEqual(consumer.take(), []);
  assert.equal(partition.allSent, false);
  partition.flush();
  assert.deepEqual(consumer.take(), ['[x,y]@0', 'mark5@1']);
  partition.emitMarker(0, marker(6));
  assert.equal(partition.allSent, false, 'it waits as a record would');
  partition.broadcastWatermark(1);
  partition.broadcastBarrier(trigger(1));
  assert.deepEqual(consumer.take(), ['wm1@1', 'mark6@2', 'barrier1@2']);
  assert.ok(partition.allSent);
});

test('a marker waits for the credit of records before it, and others behind it are dropped', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe({ credit: 0 }), consumer.send);
  emitAll(partition, ['x']);
  for (const at of [5, 6]) {
    partition.emitMarker(0, marker(at));
    partition.emitMarker(0, marker(at, 1));
    partition.flush();
  }
  assert.deepEqual(consumer.take(), []);
  first.grant({ type: 'credit', channelId: 0, connection: connection(), credit: 1 });
  assert.deepEqual(consumer.take(), ['[x]@0', 'mark5@1', 'mark5@1']);
  partition.emitMarker(0, marker(7));
  partition.flush();
  assert.deepEqual(consumer.take(), ['mark7@1']);
});

test('a marker is never sent again, though the frames before it are', () => {
  const { partition, first } = createPartition({ logged: true });
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  emitAll(partition, ['x']);
  partition.emitMarker(0, marker(5));
  partition.broadcastBarrier(trigger(1));
  assert.deepEqual(consumer.take(), ['[x]@0', 'mark5@1', 'barrier1@1']);
  first.subscribe(subscribe({ connection: connection(1) }), consumer.send);
  assert.deepEqual(consumer.take(), ['[x]@0', 'barrier1@1']);
});

test('the marks of a barrier name the number of the next frame of each channel', () => {
  const { partition } = createPartition({ channels: [channel(3), channel(8)] });
  partition.emit(1, 'x', NO_TIMESTAMP);
  assert.deepEqual(partition.broadcastBarrier(trigger(1)), [
    { channelId: 3, mark: 0, e: 0 },
    { channelId: 8, mark: 1, e: 1 },
  ]);
});

test('frames wait for a consumer and for credit, control frames only for their turn', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  emitAll(partition, ['x']);
  partition.broadcastBarrier(trigger(1));
  emitAll(partition, ['y']);
  partition.broadcastBarrier(trigger(2));
  first.subscribe(subscribe({ credit: 1 }), consumer.send);
  assert.deepEqual(consumer.take(), ['[x]@0', 'barrier1@1']);
  first.grant({ type: 'credit', channelId: 0, connection: connection(), credit: 1 });
  assert.deepEqual(consumer.take(), ['[y]@1', 'barrier2@2']);
});

test('credit of another connection does not count', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  emitAll(partition, ['x']);
  partition.flush();
  const grant = { type: 'credit', channelId: 0, credit: 1 } as const;
  first.grant({ ...grant, connection: connection() });
  first.subscribe(subscribe({ connection: connection(1), credit: 0 }), consumer.send);
  first.grant({ ...grant, connection: connection(0) });
  assert.deepEqual(consumer.take(), []);
  first.grant({ ...grant, connection: connection(1) });
  assert.deepEqual(consumer.take(), ['[x]@0']);
});

test('a slow consumer stops the producer after two frames beyond its credit', () => {
  let resumed = 0;
  const { partition, first } = createPartition({ onAvailable: () => resumed++ });
  const consumer = new Recorder();
  first.subscribe(subscribe({ credit: 3 }), consumer.send);
  let emitted = 0;
  while (partition.isAvailable && emitted < 100 * BATCH_SIZE)
    partition.emit(0, emitted++, NO_TIMESTAMP);
  assert.equal(emitted, 5 * BATCH_SIZE);
  assert.equal(partition.unsentFrames, 2);
  first.grant({ type: 'credit', channelId: 0, connection: connection(), credit: 1 });
  assert.ok(partition.isAvailable);
  assert.equal(resumed, 1);
});

test('one full channel makes the whole partition unavailable', () => {
  const { partition } = createPartition({ channels: [channel(0), channel(1)], unsentMax: 1 });
  partition.emit(1, 'x', NO_TIMESTAMP);
  assert.ok(partition.isAvailable);
  partition.flush();
  assert.equal(partition.isAvailable, false);
  partition.close();
  assert.ok(partition.isAvailable);
});

test('a frame refused for want of room keeps its place', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  consumer.hasRoom = false;
  emitAll(partition, ['x']);
  partition.broadcastBarrier(trigger(1));
  consumer.hasRoom = true;
  first.transmit();
  assert.deepEqual(consumer.take(), ['[x]@0', 'barrier1@1']);
});

test('an aborted checkpoint takes back its barrier but no frame', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  emitAll(partition, ['x']);
  partition.broadcastBarrier(trigger(1));
  emitAll(partition, ['y']);
  partition.broadcastCancel(1);
  first.subscribe(subscribe(), consumer.send);
  assert.deepEqual(consumer.take(), ['[x]@0', '[y]@1', 'cancel1@2']);
});

test('nothing may follow the end of the data, nothing at all the end of the partition', () => {
  const { partition } = createPartition();
  partition.broadcastEndOfData(0);
  assert.throws(() => partition.broadcastIdle(false), /behind the end of the data/);
  partition.broadcastBarrier(trigger(1));
  partition.broadcastEndOfPartition();
  assert.throws(() => partition.broadcastBarrier(trigger(2)), /behind the end of the partition/);
});

test('a checkpoint given up behind the end of the partition needs no word to consumers', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  partition.broadcastEndOfData(0);
  partition.broadcastEndOfPartition();
  partition.broadcastCancel(1);
  first.subscribe(subscribe(), consumer.send);
  assert.doesNotMatch(consumer.take().join(' '), /cancel/);
});

test('a restored channel goes on with the number of its mark', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  partition.restore([
    { channelId: 0, mark: 7 },
    { channelId: 99, mark: 3 },
  ]);
  first.subscribe(subscribe({ from: 7 }), consumer.send);
  emitAll(partition, ['x']);
  partition.flush();
  assert.deepEqual(consumer.take(), ['[x]@7']);
});

test('without a log sent frames are gone: a consumer that asks for them is refused', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe({ credit: 1 }), consumer.send);
  emitAll(partition, ['x']);
  partition.flush();
  const again = subscribe({ connection: connection(1), from: 0 });
  assert.equal(first.subscribe(again, consumer.send), 'unavailable');
  assert.equal(first.connection?.subscribe, 0);
});

test('a log serves a new connection from any frame that no completed checkpoint covers', () => {
  const { partition, first } = createPartition({ logged: true });
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  emitAll(partition, ['x']);
  partition.broadcastBarrier(trigger(1));
  emitAll(partition, ['y']);
  partition.broadcastBarrier(trigger(2));
  emitAll(partition, ['z']);
  partition.broadcastBarrier(trigger(3));
  partition.notifyComplete(1);
  consumer.take();
  const outcome = first.subscribe(
    subscribe({ connection: connection(0, 2), from: 1, ignoreUpTo: 2 }),
    consumer.send,
  );
  assert.equal(outcome, 'connected');
  assert.deepEqual(consumer.take(), ['[y]@1', '[z]@2', 'barrier3@3']);
  const early = subscribe({ connection: connection(1, 2), from: 0 });
  assert.equal(first.subscribe(early, consumer.send), 'unavailable');
});

test('a new connection starts with its own credit and behind the barriers it already has', () => {
  const { partition, first } = createPartition({ logged: true });
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  emitAll(partition, ['x']);
  partition.broadcastBarrier(trigger(1));
  for (const value of ['y', 'z']) {
    emitAll(partition, [value]);
    partition.flush();
  }
  consumer.take();
  const again = subscribe({ connection: connection(1), from: 1, credit: 1 });
  first.subscribe(again, consumer.send);
  assert.deepEqual(consumer.take(), ['barrier1@1', '[y]@1'], 'of a running checkpoint');
  first.subscribe({ ...again, connection: connection(2), from: 2 }, consumer.send);
  assert.deepEqual(consumer.take(), ['[z]@2']);
});

test('without a log a barrier is forgotten once it is sent', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  first.subscribe(subscribe(), consumer.send);
  partition.broadcastBarrier(trigger(1));
  consumer.take();
  first.subscribe(subscribe({ connection: connection(1) }), consumer.send);
  assert.deepEqual(consumer.take(), []);
});

test('the log is cut at a completed mark, never by an abort', () => {
  const { partition, first } = createPartition({ logged: true });
  first.subscribe(subscribe(), new Recorder().send);
  emitAll(partition, ['x']);
  partition.broadcastBarrier(trigger(1));
  emitAll(partition, ['y']);
  partition.broadcastBarrier(trigger(2));
  partition.abort(1);
  assert.equal(first.base, 0);
  partition.notifyComplete(2);
  assert.equal(first.base, 2);
});

test('subscribes of another attempt, or not newer than the present one, are ignored', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  assert.ok(partition.allSent);
  const zombie = subscribe({ producerAttempt: { epoch: 1, counter: 9 } });
  assert.equal(first.subscribe(zombie, consumer.send), 'ignored');
  assert.equal(
    first.subscribe(subscribe({ connection: connection(1) }), consumer.send),
    'connected',
  );
  for (const outdated of [connection(1), connection(0), connection(5, 0)])
    assert.equal(first.subscribe(subscribe({ connection: outdated }), consumer.send), 'ignored');
});

test('a value that cannot be sent fails the task by the name of its operator', () => {
  const { partition, errors, first } = createPartition();
  first.subscribe(subscribe(), () => {
    throw new SerializationError('value.callback is a function', {
      details: { path: 'value.callback' },
    });
  });
  emitAll(partition, ['x']);
  partition.flush();
  emitAll(partition, ['y']);
  partition.flush();
  assert.equal(errors.length, 1);
  assert.match(errors[0]?.message ?? '', /"parse".*value\.callback is a function/);
  assert.equal(errors[0]?.details['path'], 'value.callback');
});

test('an engine fault on the way is not taken for a value that cannot be sent', () => {
  const { partition, errors, first } = createPartition();
  first.subscribe(subscribe(), () => {
    throw new Error('broken');
  });
  emitAll(partition, ['x']);
  assert.throws(() => partition.flush(), /broken/);
  assert.deepEqual(errors, []);
});

test('a closed partition sends nothing more', () => {
  const { partition, first } = createPartition();
  const consumer = new Recorder();
  emitAll(partition, ['x']);
  partition.close();
  assert.equal(first.subscribe(subscribe(), consumer.send), 'ignored');
  emitAll(partition, ['y']);
  partition.broadcastEndOfPartition();
  assert.deepEqual(consumer.take(), []);
  assert.ok(partition.allSent);
});
