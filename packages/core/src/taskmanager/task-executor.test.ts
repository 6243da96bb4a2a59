import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job } from '../api/job.ts';
import type { Job } from '../api/job.ts';
import type { Sink } from '../api/sink.ts';
import { monotonousTimestamps } from '../api/watermarks.ts';
import { type } from '../api/type-markers.ts';
import { SPLITS_STATE } from './operators/source.ts';
import { TaskThread } from './task-fixture.ts';

/** Reads 1, 2, 3 in one task, with one function that may be anything. */
function oneTask(fn: { map(n: number): number; open?(): Promise<void>; close?(): void }): Job {
  return job('one task', (env) => {
    env
      .fromCollection([1, 2, 3])
      .uid('numbers')
      .map(fn)
      .uid('mapped')
      .forEach(() => undefined);
  });
}

/** The only split of a collection. */
function feed(thread: TaskThread): void {
  thread.tellReader(0, { type: 'addSplits', splits: [{ next: 0 }] });
  thread.tellReader(0, { type: 'noMoreSplits' });
}

test('without checkpoints a task runs to its end and tells every state', async () => {
  const seen: number[] = [];
  const thread = new TaskThread(oneTask({ map: (n) => seen.push(n) }), { checkpointingMode: null });
  thread.deploy();
  await thread.run();
  assert.deepEqual(
    thread
      .of('enumeratorEvent')
      .map(({ event }) => event.type)
      .toSorted(),
    ['readerRegistered', 'splitRequest'],
  );
  feed(thread);
  await thread.run();
  assert.deepEqual(thread.states(0), ['INITIALIZING', 'RUNNING', 'FINISHED']);
  assert.deepEqual(seen, [1, 2, 3]);
  assert.equal(thread.executor.taskCount, 0);
});

test('a task cancelled while it opens is closed when that is done, and then gone', async () => {
  const opening = Promise.withResolvers<void>();
  let closed = 0;
  const thread = new TaskThread(
    oneTask({ map: (n) => n, open: () => opening.promise, close: () => void closed++ }),
  );
  thread.deploy();
  await thread.run();
  thread.cancel(0);
  await thread.run();
  assert.deepEqual([thread.states(0), closed], [['INITIALIZING', 'CANCELING'], 0]);
  opening.resolve();
  await thread.run();
  assert.deepEqual([thread.states(0).at(-1), closed], ['CANCELED', 1]);
});

test('a function that fails to open fails the task, naming itself', async () => {
  const thread = new TaskThread(
    oneTask({ map: (n) => n, open: () => Promise.reject(new Error('no licence')) }),
  );
  thread.deploy();
  await thread.run();
  assert.deepEqual(thread.states(0), ['INITIALIZING', 'FAILED']);
  assert.match(thread.error ?? '', /open of operator "mapped" .* threw: no licence/);
});

test('a failure while closing does not hide the failure before it', async () => {
  const thread = new TaskThread(
    oneTask({
      map() {
        throw new Error('bad record');
      },
      close() {
        throw new Error('cannot close');
      },
    }),
  );
  thread.deploy();
  await thread.run();
  feed(thread);
  await thread.run();
  assert.equal(thread.states(0).at(-1), 'FAILED');
  assert.match(thread.error ?? '', /bad record/);
  assert.match(thread.logged.join(), /warn closing .*: close of operator "mapped" .* cannot close/);
});

test('a failure while closing after the last record fails the task', async () => {
  const thread = new TaskThread(
    oneTask({
      map: (n) => n,
      close() {
        throw new Error('cannot close');
      },
    }),
    { checkpointingMode: null },
  );
  thread.deploy();
  await thread.run();
  feed(thread);
  await thread.run();
  assert.equal(thread.states(0).at(-1), 'FAILED');
  assert.match(thread.error ?? '', /cannot close/);
});

test('a trigger is declined by a task that is not ready, and by one that is gone', async () => {
  const opening = Promise.withResolvers<void>();
  const thread = new TaskThread(oneTask({ map: (n) => n, open: () => opening.promise }));
  thread.trigger(0, 1);
  thread.deploy();
  thread.trigger(0, 2);
  opening.resolve();
  await thread.run();
  thread.cancel(0);
  thread.trigger(0, 3);
  await thread.run();
  assert.deepEqual(
    thread.of('declineCheckpoint').map(({ checkpointId, reason }) => [checkpointId, reason]),
    [
      [1, 'DECLINED_TASK_CLOSING'],
      [2, 'DECLINED_TASK_NOT_READY'],
      [3, 'DECLINED_TASK_CLOSING'],
    ],
  );
});

test('a running task acknowledges with its state, and ends with the final checkpoint', async () => {
  const thread = new TaskThread(oneTask({ map: (n) => n }));
  thread.deploy();
  await thread.run();
  thread.trigger(0, 1);
  await thread.run();
  const [first] = thread.of('acknowledgeCheckpoint');
  assert.equal(first?.snapshot.finished, false);
  assert.deepEqual(
    first?.snapshot.operators.map(({ uid }) => uid),
    ['numbers', 'mapped', null],
  );
  feed(thread);
  await thread.run();
  assert.equal(thread.of('endOfDataReached').length, 1);
  thread.complete(0, 1);
  await thread.run();
  assert.equal(thread.states(0).at(-1), 'RUNNING', 'checkpoint 1 does not hold the last records');
  thread.trigger(0, 2);
  await thread.run();
  assert.equal(thread.of('acknowledgeCheckpoint')[1]?.snapshot.finished, true);
  thread.complete(0, 2);
  await thread.run();
  assert.equal(thread.states(0).at(-1), 'FINISHED');
});

test('a task that may finish before its producer waits for it without work', async () => {
  const twoTasks = job('two tasks', (env) => {
    env
      .fromCollection([1, 2, 3])
      .keyBy((n) => n)
      .map((n) => n)
      .forEach(() => undefined);
  });
  const thread = new TaskThread(twoTasks);
  const defer = thread.clock.defer.bind(thread.clock);
  let rounds = 0;
  thread.clock.defer = (label, fn) => {
    assert.ok(++rounds < 1000, 'the thread goes round and round');
    return defer(label, fn);
  };
  thread.deploy();
  await thread.run();
  feed(thread);
  await thread.run();
  thread.trigger(0, 1);
  await thread.run();
  thread.complete(1, 1);
  await thread.run();
  assert.equal(thread.states(1).at(-1), 'RUNNING');
  thread.complete(0, 1);
  await thread.run();
  assert.equal(thread.states(1).at(-1), 'FINISHED');
});

test('a repeated or unknown completion changes nothing [R023]', async () => {
  const thread = new TaskThread(oneTask({ map: (n) => n }));
  thread.complete(0, 12);
  thread.deploy();
  await thread.run();
  thread.complete(0, 12);
  thread.complete(0, 12);
  await thread.run();
  assert.deepEqual(thread.states(0), ['INITIALIZING', 'RUNNING']);
  assert.deepEqual(thread.logged, []);
});

test('an aborted checkpoint is not acknowledged any more', async () => {
  const durable = Promise.withResolvers<void>();
  const sink: Sink<number> = {
    name: 'Slow',
    write: 'plain',
    createWriter: () => ({
      write: () => undefined,
      isWritable: true,
      whenWritable: () => Promise.resolve(),
      prepareCommit: () => ({ committables: [], writerStates: [], durable: durable.promise }),
      close: () => Promise.resolve(),
    }),
  };
  const thread = new TaskThread(
    job('slow sink', (env) => {
      env.fromCollection([1]).sinkTo(sink);
    }),
  );
  thread.deploy();
  await thread.run();
  thread.trigger(0, 1);
  await thread.run();
  thread.abort(0, 1);
  durable.resolve();
  await thread.run();
  assert.deepEqual(thread.of('acknowledgeCheckpoint'), []);
  thread.trigger(0, 2);
  await thread.run();
  assert.deepEqual(
    thread.of('acknowledgeCheckpoint').map((it) => it.checkpointId),
    [2],
  );
});

test('a trigger waits until a watermark that stopped half way has gone through', async () => {
  const written: unknown[] = [];
  let isWritable = true;
  let writable = Promise.withResolvers<void>();
  const sink: Sink<string> = {
    name: 'Narrow',
    write: 'plain',
    createWriter: () => ({
      write(value) {
        written.push(value);
        isWritable = false;
      },
      get isWritable() {
        return isWritable;
      },
      whenWritable: () => writable.promise,
      prepareCommit: () => {
        written.push('barrier');
        return { committables: [], writerStates: [], durable: Promise.resolve() };
      },
      close: () => Promise.resolve(),
    }),
  };
  const thread = new TaskThread(
    job('timers', (env) => {
      env
        .fromCollection([10, 20, 30], { watermarks: monotonousTimestamps((n) => n) })
        .keyBy((n) => n)
        .process({
          emits: type<string>(),
          onElement: (n, context) => context.timerService.registerEventTimeTimer(n),
          onTimer: (timestamp, context) => context.emit(`timer ${timestamp}`),
        })
        .uid('timers')
        .sinkTo(sink);
    }),
  );
  thread.deploy();
  await thread.run();
  feed(thread);
  await thread.run();
  assert.deepEqual(written, ['timer 10']);
  thread.trigger(1, 1);
  await thread.run();
  assert.deepEqual(thread.of('acknowledgeCheckpoint'), []);
  for (let turn = 0; turn < 3; turn++) {
    isWritable = true;
    writable.resolve();
    writable = Promise.withResolvers();
    await thread.run();
  }
  assert.deepEqual(written.slice(0, 3), ['timer 10', 'timer 20', 'timer 30']);
  thread.trigger(0, 1);
  await thread.run();
  assert.equal(written.at(-1), 'barrier');
  assert.equal(thread.of('acknowledgeCheckpoint').length, 2);
});

test('a function that blocks its thread is named in a warning', async () => {
  const thread: TaskThread = new TaskThread(
    oneTask({
      map(n) {
        if (n === 2) thread.clock.advance(1500);
        return n;
      },
    }),
  );
  thread.deploy();
  await thread.run();
  feed(thread);
  await thread.run();
  assert.match(
    thread.logged.join('\n'),
    /warn slow operator: .* of .* blocked its thread for 1500 ms; checkpoints wait as long/,
  );
});

test('what tasks have counted is reported every second', async () => {
  const thread = new TaskThread(
    job('counting', (env) => {
      env
        .fromCollection([1, 2, 3])
        .rebalance()
        .map((n) => n)
        .forEach(() => undefined);
    }),
  );
  thread.deploy();
  await thread.run();
  feed(thread);
  await thread.run(1000);
  const metrics = thread.of('taskMetrics').at(-1)?.metrics ?? [];
  assert.deepEqual(
    metrics.map(({ recordsIn, recordsOut }) => [recordsIn, recordsOut]),
    [
      [3, 3],
      [3, 0],
    ],
  );
});

test('an idle thread is not woken again and again', async () => {
  const thread = new TaskThread(oneTask({ map: (n) => n }));
  thread.deploy();
  await thread.run();
  // What is left is the timer of the metrics.
  assert.equal(thread.clock.pendingCount(), 1);
});

test('a thread whose task waits for room is not woken for timers and probes', async () => {
  const sink: Sink<number> = {
    name: 'Full',
    write: 'plain',
    createWriter: () => ({
      write: () => undefined,
      isWritable: false,
      whenWritable: () => new Promise(() => undefined),
      prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
      close: () => Promise.resolve(),
    }),
  };
  const watermarks = monotonousTimestamps<number>((n) => n, { idleness: 1000 });
  const thread = new TaskThread(
    job('full', (env) => {
      env.fromCollection([1, 2], { watermarks }).sinkTo(sink);
    }),
    { autoWatermarkIntervalMs: 200 },
  );
  thread.deploy();
  await thread.run();
  feed(thread);
  await thread.run(5000);
  assert.equal(thread.clock.pendingCount(), 1);
});

test('closed, a thread cancels its tasks and leaves no timer', async () => {
  let closed = 0;
  const thread = new TaskThread(oneTask({ map: (n) => n, close: () => void closed++ }));
  thread.deploy();
  await thread.run();
  thread.executor.close();
  await thread.run();
  assert.deepEqual([closed, thread.clock.pendingCount()], [1, 0]);
});

test('a split that comes behind the order to drain is left to the enumerator', async () => {
  const seen: number[] = [];
  const thread = new TaskThread(oneTask({ map: (n) => seen.push(n) }));
  thread.deploy();
  await thread.run();
  thread.trigger(0, 1, 'drain');
  feed(thread);
  await thread.run();
  const [acknowledged] = thread.of('acknowledgeCheckpoint');
  const splits = acknowledged?.snapshot.operators
    .flatMap(({ operatorStates }) => operatorStates)
    .find(({ name }) => name === SPLITS_STATE);
  assert.deepEqual(splits?.items ?? [], []);
  assert.deepEqual(seen, []);
});
