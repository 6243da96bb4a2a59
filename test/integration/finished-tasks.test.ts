/** Checkpoints beside and after tasks that have ended, and the last one of a run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job, type, unionListState } from '@weir/core';
import type { RuntimeContext } from '@weir/core';
import { Faults, range, sorted } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import { resumable } from './support/resumable.ts';
import { eventsOf, run, runCheckpointed } from './support/run.ts';

/** A short source and a long one, read side by side into one sink. */
function shortAndLong(
  ledger: Ledger<number>,
  faults: Faults,
  opened: string[] = [],
): ReturnType<typeof job> {
  return job('short and long', (env) => {
    const stage = (name: string) => ({
      open: ({ attemptNumber }: RuntimeContext) => void opened.push(`${name} ${attemptNumber}`),
      map: (n: number) => n,
    });
    const short = env
      .fromSource(pacedSource({ splits: [range(0, 3)], name: 'Short' }), { uid: 'short' })
      .map(stage('short'))
      .uid('short-map');
    const long = env
      .fromSource(
        pacedSource({
          splits: [range(100, 160)],
          step: 5,
          name: 'Long',
          onRead: (n) => faults.pass(`read ${n}`),
        }),
        { uid: 'long' },
      )
      .map(stage('long'))
      .uid('long-map');
    short
      .union(long)
      .map((n) => n)
      .uid('both')
      .sinkTo(ledgerSink(ledger))
      .uid('out');
  });
}

const ALL = [...range(0, 3), ...range(100, 160)];

test('checkpoints go on when one source has ended, and recovery is exact [I-33]', async () => {
  const faults = new Faults();
  faults.plan('read 123', 'read 140');
  const ledger = new Ledger<number>();
  const { outcome } = await runCheckpointed(shortAndLong(ledger, faults));
  assert.equal(outcome.restarts, 2);
  assert.ok(outcome.completedCheckpoints >= 12, 'one for every five records of the long one');
  assert.deepEqual(sorted(ledger.committed), sorted(ALL));
});

test('what had finished before a restart is not opened again, and passes on its end [I-37]', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const ledger = new Ledger<number>();
    const opened: string[] = [];
    faults.plan('read 130');
    await crash(shortAndLong(ledger, faults, opened));
    assert.deepEqual(sorted(opened), ['long 0', 'short 0']);
    opened.length = 0;
    const { events } = await finish(shortAndLong(ledger, faults, opened));
    assert.deepEqual(opened, ['long 0']);
    assert.match(eventsOf(events, 'started')[0]?.start ?? '', /short has ended; long at split 0/);
    assert.deepEqual(sorted(ledger.committed), sorted(ALL));
  }));

test('a source that finished in part goes on at another parallelism with the rest [R038]', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const ledger = new Ledger<number>();
    const two = job('two writers', (env) => {
      env
        .fromSource(
          pacedSource({
            splits: [range(1, 6), range(6, 21)],
            step: 3,
            onRead: (n) => faults.pass(`read ${n}`),
          }),
          { uid: 'in' },
        )
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    });
    for (const parallelism of [2, 2, 3]) {
      faults.plan(`read ${13 + faults.happened.length * 3}`);
      await crash(two, { parallelism });
      assert.ok(
        range(1, 6).every((n) => ledger.committed.includes(n)),
        'one writer had finished',
      );
    }
    await finish(two, { parallelism: 2 });
    assert.deepEqual(sorted(ledger.committed), sorted(range(1, 21)));
  }));

test('a task that finished and was rescaled with the others reads nothing twice', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const ledger = new Ledger<number>();
    for (const parallelism of [2, 3, 1]) {
      faults.plan(`read ${115 + faults.happened.length * 12}`);
      await crash(shortAndLong(ledger, faults), { parallelism });
    }
    await finish(shortAndLong(ledger, faults), { parallelism: 2 });
    assert.deepEqual(sorted(ledger.committed), sorted(ALL));
  }));

test('with checkpoints-after-tasks-finish off they stop when a task has finished', async () => {
  const ledger = new Ledger<number>();
  let isLong = true;
  const controller = new AbortController();
  const { events } = await runCheckpointed(
    job('flag off', (env) => {
      const short = env.fromSource(pacedSource({ splits: [range(0, 3)] }), { uid: 'short' });
      const long = env.fromSource(pacedSource({ splits: [[100]], unbounded: true }), {
        uid: 'long',
      });
      for (const [uid, stream] of Object.entries({ short, long }))
        stream.sinkTo(ledgerSink(ledger)).uid(`${uid}-out`);
      if (isLong) setTimeout(() => controller.abort(), 250);
      isLong = false;
    }),
    {
      signal: controller.signal,
      config: { 'execution.checkpointing.checkpoints-after-tasks-finish': false },
    },
  );
  assert.ok(eventsOf(events, 'checkpointCompleted').length <= 2);
  assert.deepEqual(
    ledger.committed.filter((n) => n < 100),
    range(0, 3),
    'committed at its end',
  );
});

test('the end of the input brings a checkpoint at once that commits the rest [R037]', async () => {
  const ledger = new Ledger<number>();
  const startedAt = Date.now();
  const { outcome } = await runCheckpointed(
    job('final', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(0, 25)] }), { uid: 'in' })
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    }),
    { config: { 'execution.checkpointing.interval': '1 h' } },
  );
  assert.ok(Date.now() - startedAt < 30_000, 'it did not wait for the interval');
  assert.equal(outcome.completedCheckpoints, 1);
  assert.deepEqual(ledger.committed, range(0, 25));
});

test('a crash just before the last checkpoint repeats nothing [R037]', async () => {
  const ledger = new Ledger<number>();
  const faults = new Faults();
  let written = 0;
  const { outcome } = await runCheckpointed(
    job('crash at the end', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(0, 25)], step: 10 }), { uid: 'in' })
        .sinkTo(
          ledgerSink(ledger, {
            onWrite: (n) => {
              written = Math.max(written, (n as number) + 1);
            },
            onPrepare: () => {
              if (written === 25) faults.pass('last');
            },
          }),
        )
        .uid('out');
      if (faults.happened.length === 0) faults.plan('last');
    }),
  );
  assert.deepEqual([faults.happened, outcome.restarts], [['last'], 1]);
  assert.deepEqual(ledger.committed, range(0, 25));
});

/** Reasons that count as no failure: a task has finished, or the whole job meanwhile. */
const HARMLESS = ['DECLINED_TASK_CLOSING', 'CHECKPOINT_SUBSUMED', 'CHECKPOINT_COORDINATOR_SUSPEND'];

test('a union list, some subtasks finished, fails checkpoints but not the job [I-35]', async () => {
  const ledger = new Ledger<number>();
  const { outcome, events } = await runCheckpointed(
    job('union', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(0, 2), range(100, 160)], step: 100 }), {
          uid: 'in',
        })
        .process({
          emits: type<number>(),
          state: { items: unionListState<number>() },
          open: () => new Promise((resolve) => void setTimeout(resolve, 1)),
          onElement(n, context) {
            context.state.items.add(n);
            context.emit(n);
          },
        })
        .uid('keeper')
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    }),
    { parallelism: 2 },
  );
  assert.equal(outcome.status, 'FINISHED');
  assert.equal(outcome.restarts, 0);
  for (const { reason } of eventsOf(events, 'checkpointFailed'))
    assert.ok(HARMLESS.includes(reason), reason);
  assert.deepEqual(sorted(ledger.committed), sorted([...range(0, 2), ...range(100, 160)]));
});

test('without checkpoints a bounded run commits everything at its end', async () => {
  const ledger = new Ledger<number>();
  const { outcome } = await run(
    job('no checkpoints', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(0, 25), range(25, 50)] }), { uid: 'in' })
        .rebalance()
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    }),
    { parallelism: 2 },
  );
  assert.deepEqual([outcome.status, outcome.completedCheckpoints], ['FINISHED', 0]);
  assert.deepEqual(sorted(ledger.committed), sorted(range(0, 50)));
});
