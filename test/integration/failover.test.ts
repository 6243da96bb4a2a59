/** What restarts after which failure, what never does, and what is exact afterwards. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job, JobSubmissionError, type, valueState } from '@weir/core';
import type { Job, Sink, StreamExecutionEnvironment, WeirError } from '@weir/core';
import { Faults, numbersOf, range, sorted } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import type { PacedSplit } from './support/paced-source.ts';
import { resumable } from './support/resumable.ts';
import { CHECKPOINTED, eventsOf, run, runCheckpointed } from './support/run.ts';

/** Passes records on; tells which attempt of which subtask was opened. */
function watched(name: string, opened: string[], faults: Faults) {
  return {
    open({ subtask, attemptNumber }: { subtask: number; attemptNumber: number }) {
      opened.push(`${name}${subtask} attempt ${attemptNumber}`);
    },
    map(n: number) {
      faults.pass(`${name} ${n}`);
      return n;
    },
  };
}

test('a failed region restarts alone: the other keeps attempt and records [I-83]', async () => {
  const faults = new Faults();
  faults.plan('a 25', 'a 60', 'a 61');
  const opened: string[] = [];
  const ledgers = { a: new Ledger<number>(), b: new Ledger<number>() };
  const pipeline = (env: StreamExecutionEnvironment, name: 'a' | 'b'): void => {
    env
      .fromSource(pacedSource({ splits: [range(0, 80)], step: 10 }), { uid: name })
      .map(watched(name, opened, faults))
      .sinkTo(ledgerSink(ledgers[name]))
      .uid(`${name}-out`);
  };
  const { outcome, events } = await runCheckpointed(
    job('two pipelines', (env) => {
      pipeline(env, 'a');
      pipeline(env, 'b');
    }),
  );
  assert.equal(outcome.restarts, 3);
  assert.deepEqual(
    eventsOf(events, 'restarting').map(({ tasks }) => tasks),
    [1, 1, 1],
  );
  assert.deepEqual(
    opened.filter((text) => text.startsWith('b')),
    ['b0 attempt 0'],
  );
  assert.equal(opened.filter((text) => text.startsWith('a')).length, 4);
  for (const ledger of Object.values(ledgers)) {
    assert.deepEqual(ledger.committed, range(0, 80));
    assert.deepEqual(ledger.pending, []);
  }
});

for (const seed of range(0, 6))
  test(`subtasks without exchange restart one by one, seed ${seed} [I-83]`, async () => {
    const random = numbersOf(seed);
    const faults = new Faults();
    for (const _ of range(0, 5)) faults.plan(`m ${random(120)}`);
    const ledger = new Ledger<number>();
    const opened: string[] = [];
    const splits = range(0, 8).map((split) => range(split * 15, split * 15 + 15));
    const { outcome } = await runCheckpointed(
      job('forward only', (env) => {
        env
          .fromSource(pacedSource({ splits, step: 4 + random(6) }), { uid: 'in' })
          .map(watched('m', opened, faults))
          .sinkTo(ledgerSink(ledger))
          .uid('out');
      }),
      { parallelism: 3 },
    );
    assert.deepEqual(sorted(ledger.committed), sorted(range(0, 120)));
    assert.ok(faults.happened.length > 0);
    assert.equal(opened.length, 3 + faults.happened.length, 'one subtask a failure');
    assert.ok(outcome.restarts > 0);
  });

test('splits assigned since the restored snapshot come back to a region that restarts', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const ledgers = { a: new Ledger<number>(), b: new Ledger<number>() };
    const returned: number[] = [];
    const pipelines = (step: number): Job =>
      job('assigned since', (env) => {
        for (const name of ['a', 'b'] as const) {
          const splits = range(0, 4).map((split) => range(split * 10, split * 10 + 10));
          const onSplitsBack = (back: readonly PacedSplit[]): void =>
            void returned.push(...back.map(({ split }) => split));
          env
            .fromSource(pacedSource({ splits, step, onSplitsBack }), { uid: name })
            .map((n) => {
              faults.pass(`${name} ${n}`);
              return n;
            })
            .sinkTo(ledgerSink(ledgers[name]))
            .uid(`${name}-out`);
        }
      });
    faults.plan('a 12');
    await crash(pipelines(5));
    // From here on no checkpoint completes before the end: all restarts are from that of run one.
    faults.plan('a 25', 'a 35');
    const { outcome } = await finish(pipelines(Infinity), {
      config: { ...CHECKPOINTED, 'execution.checkpointing.interval': '1 h' },
    });
    assert.equal(outcome.restarts, 2);
    assert.ok(returned.includes(2) && returned.includes(3), returned.join());
    for (const ledger of Object.values(ledgers)) assert.deepEqual(ledger.committed, range(0, 40));
  }));

test('with failover strategy full every task restarts', async () => {
  const faults = new Faults();
  faults.plan('a 15');
  const opened: string[] = [];
  const { outcome } = await runCheckpointed(
    job('full', (env) => {
      for (const name of ['a', 'b'])
        env
          .fromSource(pacedSource({ splits: [range(0, 30)], step: 10 }), { uid: name })
          .map(watched(name, opened, faults))
          .collect([]);
    }),
    { config: { 'jobmanager.execution.failover-strategy': 'full' } },
  );
  assert.equal(outcome.restarts, 1);
  assert.deepEqual(sorted(opened), [
    'a0 attempt 0',
    'a0 attempt 1',
    'b0 attempt 0',
    'b0 attempt 1',
  ]);
});

function failing(message: (n: number) => string, step = 10): Job {
  return job('poison', (env) => {
    env
      .fromSource(pacedSource({ splits: [range(0, 30)], step }), { uid: 'in' })
      .map((n) => {
        if (n === 17) throw new Error(message(n));
        return n;
      })
      .name('Parse')
      .collect([]);
  });
}

test('a record that fails again and again ends the job, whatever the strategy [R107]', async () => {
  await assert.rejects(runCheckpointed(failing(() => 'cannot parse "x"')), (error: WeirError) => {
    assert.equal(error.code, 'JOB_FAILED');
    assert.match(error.message, /failed 3 times for the same cause/);
    assert.match(
      error.message,
      /map of operator Parse, .*failover\.test\.ts:\d+.*: cannot parse "x"/,
    );
    return true;
  });
});

test('how often it may fail can be set', async () => {
  const config = { 'weir.restart-strategy.max-repeated-failures': 5 };
  await assert.rejects(
    runCheckpointed(
      failing(() => 'no'),
      { config },
    ),
    /failed 5 times/,
  );
});

test('failures that differ are left to the restart strategy', async () => {
  let failures = 0;
  await assert.rejects(
    runCheckpointed(
      failing(() => `failure ${++failures}`),
      { config: { 'restart-strategy.fixed-delay.attempts': 6 } },
    ),
    /failure 7/,
  );
});

test('without checkpoints a failure ends the job: nothing is replayed', async () => {
  await assert.rejects(run(failing(() => 'no', Infinity)), {
    code: 'JOB_FAILED',
    message: /not restarted, since the restart strategy is "none": map of operator Parse/,
  });
});

test('a mistake of the user is never tried again', async () => {
  let calls = 0;
  const wrong = job('wrong', (env) => {
    env
      .fromCollection([1, 2, 3])
      .map((n) => {
        calls++;
        throw new JobSubmissionError(`no table for ${n}`, { code: 'ARGUMENT_INVALID' });
      })
      .collect([]);
  });
  await assert.rejects(runCheckpointed(wrong), { code: 'ARGUMENT_INVALID', message: /no table/ });
  assert.equal(calls, 1);
});

test('a failing enumerator restarts the whole job, from the last checkpoint', async () => {
  const ledger = new Ledger<number>();
  const opened: string[] = [];
  const faults = new Faults();
  let snapshots = 0;
  const { outcome } = await runCheckpointed(
    job('enumerator', (env) => {
      const splits = range(0, 6).map((split) => range(split * 10, split * 10 + 10));
      const onEnumerator = (call: string): void => {
        if (call === 'snapshot') snapshots++;
        if (call === 'request' && snapshots > 1) faults.pass('request');
      };
      for (const name of ['a', 'b'])
        env
          .fromSource(pacedSource({ splits, step: 7, ...(name === 'a' ? { onEnumerator } : {}) }), {
            uid: name,
          })
          .map(watched(name, opened, faults))
          .filter(() => name === 'a')
          .sinkTo(ledgerSink(ledger))
          .uid(`${name}-out`);
      faults.plan(...(faults.happened.length === 0 ? ['request'] : []));
    }),
  );
  assert.deepEqual(faults.happened, ['request']);
  assert.equal(outcome.restarts, 1);
  assert.deepEqual(sorted(opened), [
    'a0 attempt 0',
    'a0 attempt 1',
    'b0 attempt 0',
    'b0 attempt 1',
  ]);
  assert.deepEqual(sorted(ledger.committed), sorted(range(0, 60)));
});

test('more failed checkpoints than tolerated restart the whole job', async () => {
  const opened: string[] = [];
  let isBroken = true;
  const ledger = new Ledger<number>();
  const { outcome, events } = await runCheckpointed(
    job('unwritable state', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(0, 40)], step: 10 }), { uid: 'in' })
        .map(watched('m', opened, new Faults()))
        .keyBy((n) => n % 3)
        .process({
          emits: type<number>(),
          state: { seen: valueState<unknown>() },
          open: (context) => {
            isBroken = context.attemptNumber < 1;
          },
          onElement(n, context) {
            context.state.seen.update(isBroken ? () => n : n);
            context.emit(n);
          },
        })
        .uid('seen')
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    }),
    { config: { 'execution.checkpointing.tolerable-failed-checkpoints': 2 } },
  );
  assert.equal(outcome.restarts, 1);
  const failed = eventsOf(events, 'checkpointFailed').filter(
    ({ reason }) => reason === 'CHECKPOINT_ASYNC_EXCEPTION',
  );
  assert.equal(failed.length, 3, 'the third failure is one too many');
  assert.match(failed[0]?.message ?? '', /state "seen"/);
  const [restart] = eventsOf(events, 'restarting');
  assert.match(restart?.error.message ?? '', /3 checkpoints failed in a row/);
  assert.deepEqual(sorted(ledger.committed), sorted(range(0, 40)));
});

test('a checkpoint that one worker has not confirmed does not exist [R002]', async () => {
  const ledger = new Ledger<number>();
  const { outcome, events } = await runCheckpointed(
    job('two workers', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(1, 6), range(6, 11)], step: 3 }), { uid: 'in' })
        .keyBy((n) => (n < 6 ? 'low' : 'high'))
        .reduce((a, b) => a + b)
        .uid('sum')
        .sinkTo(unconfirmedAtFirst(ledger))
        .uid('out');
    }),
    { parallelism: 2 },
  );
  assert.equal(outcome.restarts, 1);
  const firstDone = events.findIndex((event) => event.type === 'checkpointCompleted');
  assert.ok(firstDone > events.findIndex((event) => event.type === 'restarting'));
  assert.equal(ledger.committed.length, 10);
  assert.ok(ledger.committed.includes(15) && ledger.committed.includes(40), 'together 55');
});

/** In its first attempt one subtask never confirms a checkpoint, and then dies. */
function unconfirmedAtFirst(ledger: Ledger<number>): Sink<number> {
  const sink = ledgerSink(ledger);
  return {
    ...sink,
    createWriter(context, restored) {
      const writer = sink.createWriter(context, restored as never[]);
      if (context.attempt.counter > 1 || context.subtask !== 1) return writer;
      return {
        ...writer,
        isWritable: true,
        prepareCommit(options) {
          const durable = new Promise<void>((_, reject) => {
            setTimeout(() => reject(new Error('the worker died')), 30);
          });
          return { ...writer.prepareCommit(options), durable };
        },
      };
    },
  };
}

test('a record whose handler failed after it changed state is applied once [R116]', async () => {
  const table = [
    { key: 'k', group: 'g', value: 5 },
    { key: 'k', group: 'g', value: 7 },
  ];
  const faults = new Faults();
  faults.plan('after the change');
  const ledger = new Ledger<number>();
  await runCheckpointed(
    job('grouped sum', (env) => {
      env
        .fromSource(pacedSource({ splits: [table], step: 1 }), { uid: 'table' })
        .keyBy((row) => row.key)
        .process({
          emits: type<readonly [string, number]>(),
          state: { old: valueState<number>() },
          onElement(row, context) {
            const before = context.state.old.value ?? 0;
            context.state.old.update(row.value);
            if (row.value === 7) faults.pass('after the change');
            context.emit([row.group, row.value - before]);
          },
        })
        .uid('changes')
        .keyBy(([group]) => group)
        .reduce(([group, a], [, b]) => [group, a + b])
        .uid('sum')
        .map(([, sum]) => sum)
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    }),
  );
  assert.deepEqual(faults.happened, ['after the change']);
  assert.deepEqual(ledger.committed, [5, 7]);
});

test('emitting only what changed loses no output to a crash behind the change [R005]', async () => {
  const faults = new Faults();
  faults.plan('before it is committed');
  const ledger = new Ledger<readonly [string, number]>();
  await runCheckpointed(
    job('on change', (env) => {
      env
        .fromSource(pacedSource({ splits: [[4, 4, 5, 5, 5]], step: 2 }), { uid: 'in' })
        .keyBy(() => 'k')
        .process({
          emits: type<readonly [string, number]>(),
          state: { last: valueState<number>() },
          onElement(n, context) {
            if (context.state.last.value === n) return;
            context.state.last.update(n);
            context.emit([context.key, n]);
          },
        })
        .uid('changes')
        .sinkTo(
          ledgerSink(ledger, {
            onWrite: (value) => {
              if ((value as [string, number])[1] === 5) faults.pass('before it is committed');
            },
          }),
        )
        .uid('out');
    }),
  );
  assert.deepEqual(faults.happened, ['before it is committed']);
  assert.deepEqual(ledger.committed, [
    ['k', 4],
    ['k', 5],
  ]);
});

test('a key seen first after a failure gets the next number, never a used one [R001]', async () => {
  const faults = new Faults();
  faults.plan('c');
  const ledger = new Ledger<string>();
  await runCheckpointed(
    job('ids', (env) => {
      env
        .fromSource(pacedSource({ splits: [['a', 'b', 'a', 'c', 'a']], step: 3 }), { uid: 'in' })
        .keyBy(() => 'all')
        .process({
          emits: type<string>(),
          state: { ids: valueState<Readonly<Record<string, number>>>({ default: () => ({}) }) },
          onElement(key, context) {
            const { ids } = context.state;
            const id = ids.value[key] ?? Object.keys(ids.value).length + 1;
            ids.update({ ...ids.value, [key]: id });
            faults.pass(key);
            context.emit(`${key}=${id}`);
          },
        })
        .uid('ids')
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    }),
  );
  assert.deepEqual(ledger.committed, ['a=1', 'b=2', 'a=1', 'c=3', 'a=1']);
});

test('at-least-once loses nothing, and state holds every record at least once', async () => {
  for (const seed of range(0, 4)) {
    const random = numbersOf(seed + 100);
    const faults = new Faults();
    for (const _ of range(0, 4)) faults.plan(`m ${random(100)}`);
    const results: number[] = [];
    const splits = range(0, 4).map((split) => range(split * 25, split * 25 + 25));
    const { outcome } = await runCheckpointed(
      job('at least once', (env) => {
        env
          .fromSource(pacedSource({ splits, step: 6 }), { uid: 'in' })
          .rebalance()
          .map(watched('m', [], faults))
          .keyBy((n) => n)
          .reduce((a) => a)
          .uid('seen')
          .collect(results);
      }),
      { parallelism: 2, config: { 'execution.checkpointing.mode': 'AT_LEAST_ONCE' } },
    );
    assert.ok(outcome.restarts > 0);
    assert.deepEqual(
      [...new Set(results)].toSorted((a, b) => a - b),
      range(0, 100),
    );
  }
});

test('a job that is cancelled before it starts, or while it restarts, ends CANCELED', async () => {
  const endless = job('endless', (env) => {
    env
      .fromSource(pacedSource({ splits: [[1]], unbounded: true }), { uid: 'in' })
      .map((n) => {
        throw new Error(`fails with ${n}`);
      })
      .collect([]);
  });
  const aborted = await runCheckpointed(endless, { signal: AbortSignal.abort() });
  assert.equal(aborted.outcome.status, 'CANCELED');
  const controller = new AbortController();
  const restarting = await runCheckpointed(endless, {
    signal: controller.signal,
    config: { ...CHECKPOINTED, 'restart-strategy.fixed-delay.delay': '1 h' },
    onEvent: (event) => {
      if (event.type === 'restarting') controller.abort();
    },
  });
  assert.equal(restarting.outcome.status, 'CANCELED');
});
