import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job } from '../api/job.ts';
import type { Job } from '../api/job.ts';
import type { Committer, CommitterContext, Sink, SinkWriterContext } from '../api/sink.ts';
import type { Source } from '../api/source.ts';
import type { DataStream } from '../api/streams/data-stream.ts';
import { StorageUnavailableError } from '../base/errors.ts';
import { TestRun } from './run-fixture.ts';

/** A source that reads nothing and never ends. */
function silentSource(): Source<number, number, null> {
  return {
    name: 'Silent',
    boundedness: 'unbounded',
    replay: 'offsets',
    createEnumerator: () => ({
      start: () => undefined,
      handleSplitRequest: () => undefined,
      addReader: () => undefined,
      addSplitsBack: () => undefined,
      snapshotState: () => null,
      close: () => undefined,
    }),
    createReader: () => ({
      start: () => undefined,
      poll: () => 'nothing',
      addSplits: () => undefined,
      notifyNoMoreSplits: () => undefined,
      snapshotState: () => [],
      close: () => undefined,
    }),
  };
}

function silentJob(open: () => void = () => undefined): Job {
  return job('silent', (env) => {
    env
      .fromSource(silentSource(), { uid: 'in' })
      .map({ map: (n: number) => n, open })
      .collect([]);
  });
}

test('jumps of the wall clock neither expire a checkpoint nor shift the next [R119]', async () => {
  const run = new TestRun(silentJob(), {
    'execution.checkpointing.interval': '1 s',
    'execution.checkpointing.timeout': '2 s',
  });
  await run.start();
  await run.run(5000);
  run.clock.jumpWallTime(3_600_000);
  await run.run(5000);
  run.clock.jumpWallTime(-7_200_000);
  await run.run(5000);
  const times = run.timesOf('completed');
  assert.ok(times.length >= 14, `${times.length} checkpoints`);
  for (const [index, at] of times.slice(1).entries())
    assert.ok(Math.abs(at - (times[index] as number) - 1000) <= 60, `${at - times[index]!} ms`);
  assert.deepEqual(
    run.told.filter(({ what }) => what.startsWith('failed') || what.startsWith('restart')),
    [],
  );
});

test('an idle job of twenty operators completes each checkpoint, and sleeps [R043]', async () => {
  const run = new TestRun(
    job('idle', (env) => {
      let stream: DataStream<number> = env.fromSource(silentSource(), { uid: 'in' });
      for (let i = 0; i < 20; i++) stream = stream.map((n) => n).disableChaining();
      stream.collect([]);
    }),
    { 'execution.checkpointing.interval': '1 s' },
  );
  let rounds = 0;
  const defer = run.clock.defer.bind(run.clock);
  run.clock.defer = (label, fn) => {
    if (label === 'task-round') rounds++;
    return defer(label, fn);
  };
  await run.start();
  await run.run(1000, 100);
  rounds = 0;
  await run.run(60_000, 100);
  const completed = run.timesOf('completed').length;
  assert.ok(completed >= 60, `${completed} checkpoints`);
  assert.deepEqual(
    run.told.filter(({ what }) => what.startsWith('failed')),
    [],
  );
  assert.ok(rounds <= completed * 50, `${rounds} rounds of the thread`);
});

test('restarts wait 100 ms, then a second, then half as long again', async () => {
  let failures = 0;
  const run = new TestRun(
    silentJob(() => {
      throw new Error(`failure ${++failures}`);
    }),
    {
      'execution.checkpointing.interval': '1 s',
      'restart-strategy.exponential-delay.jitter-factor': 0,
    },
  );
  await run.start();
  await run.run(8000);
  assert.deepEqual(
    run.told.filter(({ what }) => what.startsWith('restart in')).map(({ what }) => what),
    ['restart in 100', 'restart in 1000', 'restart in 1500', 'restart in 2250', 'restart in 3375'],
  );
});

test('a run that is suspended leaves no timer that would do anything', async () => {
  const run = new TestRun(silentJob(), { 'execution.checkpointing.interval': '1 s' });
  await run.start();
  await run.run(2500);
  run.master.suspend();
  await run.run(100);
  const completed = run.timesOf('completed').length;
  await run.run(10_000);
  assert.equal(run.status, 'SUSPENDED');
  assert.equal(run.timesOf('completed').length, completed);
});

test('a run cancelled while its tasks open ends when they are closed', async () => {
  const opening = Promise.withResolvers<void>();
  const run = new TestRun(
    job('opening', (env) => {
      env
        .fromSource(silentSource(), { uid: 'in' })
        .map({ map: (n: number) => n, open: () => opening.promise })
        .collect([]);
    }),
    { 'execution.checkpointing.interval': '1 s' },
  );
  await run.start();
  run.master.cancel();
  await run.run(100);
  assert.equal(run.status, 'CANCELLING');
  opening.resolve();
  await run.run(100);
  assert.equal(run.status, 'CANCELED');
});

/** A sink whose system goes away at a certain step: it is waited for until the task ends. */
function awaitingSink(step: 'open' | 'commit' | 'recover'): Sink<number, never, number> {
  let recoveries = 0;
  const waitIf = (is: boolean, { signal }: CommitterContext | SinkWriterContext): Promise<void> =>
    new Promise((resolve, reject) => {
      if (!is) return resolve();
      const away = new StorageUnavailableError('the system is away');
      assert.equal(signal?.aborted, false);
      signal?.addEventListener('abort', () => reject(away));
    });
  return {
    name: 'awaiting',
    write: 'two-phase-commit',
    createWriter: (context) => ({
      open: () => waitIf(step === 'open', context),
      write: () => undefined,
      isWritable: true,
      whenWritable: () => Promise.resolve(),
      prepareCommit: ({ checkpointId }) => ({
        committables: [checkpointId],
        writerStates: [],
        durable:
          step === 'recover'
            ? Promise.reject(new StorageUnavailableError('the writer is cut off'))
            : Promise.resolve(),
      }),
      close: () => Promise.resolve(),
    }),
    createCommitter: (context): Committer<number, never> => ({
      commit: () => waitIf(step === 'commit', context),
      probe: () => Promise.resolve('pending'),
      recover: () => waitIf(step === 'recover' && recoveries++ > 0, context),
      close: () => Promise.resolve(),
    }),
  };
}

for (const step of ['open', 'commit', 'recover'] as const)
  for (const how of ['cancel', 'suspend'] as const)
    test(`${how} does not wait for a system that a sink waits for to ${step}`, async () => {
      const run = new TestRun(
        job('awaiting', (env) => {
          env.fromSource(silentSource(), { uid: 'in' }).sinkTo(awaitingSink(step)).uid('out');
        }),
        { 'execution.checkpointing.interval': '1 s' },
      );
      await run.start();
      await run.run(5000);
      const restarts = run.told.filter(({ what }) => what.startsWith('restart in'));
      assert.equal(restarts.length, step === 'recover' ? 1 : 0);
      run.master[how]();
      await run.run(100);
      const { status } = await run.master.ended;
      assert.equal(status, how === 'cancel' ? 'CANCELED' : 'SUSPENDED');
    });
