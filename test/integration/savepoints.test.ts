/** Savepoints of a running job, stopping with one, and starting from one. */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { job, type, valueState } from '@weir/core';
import type { ConfigSettings, Job, RunControl, RunJobOptions, Sink, SinkWriter } from '@weir/core';
import { range, sorted } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import { eventsOf, logged, run, runCheckpointed } from './support/run.ts';

const FAR = 1_000_000;

/** Running sums of seven keys; the stream stays open after its values. A timer waits far ahead. */
function sums(options: {
  readonly values: readonly number[];
  readonly ledger: Ledger<string>;
  readonly unbounded?: boolean;
  readonly onRead?: (value: number) => void;
  /** Records between two checkpoints. */
  readonly step?: number | undefined;
  readonly sink?: Sink<string> | undefined;
}): Job {
  const { values, ledger, onRead, step = Infinity, sink = ledgerSink(ledger) } = options;
  const unbounded = options.unbounded ?? true;
  return job('sums', (env) => {
    const splits = range(0, 2).map((split) => values.filter((n) => n % 2 === split));
    const source = pacedSource({ splits, unbounded, step, onRead: (value) => onRead?.(value) });
    env
      .fromSource(source, { uid: 'numbers' })
      .keyBy((n) => n % 7)
      .process({
        emits: type<string>(),
        state: { sum: valueState({ default: 0 }) },
        onElement(value, context) {
          const { key, state } = context;
          state.sum.update(state.sum.value + value);
          context.emit(`${key}:${value}:${state.sum.value}`);
          context.timerService.registerEventTimeTimer(FAR);
        },
        onTimer(_, context) {
          context.emit(`end ${context.key}:${context.state.sum.value}`);
        },
      })
      .uid('sums')
      .sinkTo(sink)
      .uid('out');
  });
}

/** Every value once, each key's last sum right. */
function checkSums(committed: readonly string[], values: readonly number[]): void {
  const parts = committed.filter((text) => !text.startsWith('end')).map((it) => it.split(':'));
  assert.deepEqual(sorted(parts.map(([, value]) => Number(value))), sorted(values));
  for (const key of range(0, 7)) {
    const mine = parts.filter(([it]) => Number(it) === key).map(([, , sum]) => Number(sum));
    const total = values.filter((n) => n % 7 === key).reduce((a, b) => a + b, 0);
    assert.equal(Math.max(0, ...mine), total, `sum of key ${key}`);
  }
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'weir-savepoints-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Calls once, when so many values were read, and gives the job the turn before. */
function after(count: number, call: () => void): () => void {
  let seen = 0;
  return () => {
    if (++seen === count) setImmediate(call);
  };
}

interface Operated {
  readonly operate: (control: RunControl) => Promise<void>;
  readonly options?: RunJobOptions;
  readonly values: readonly number[];
  readonly ledger: Ledger<string>;
  readonly config?: ConfigSettings;
  /** Calls the operation after so many reads; by default when all is read. */
  readonly reads?: number;
  readonly step?: number;
  readonly sink?: Sink<string>;
  /** No checkpoint by itself, and no restart. */
  readonly plain?: boolean;
}

/** Runs the job and operates it once all values are read. */
async function operated(operation: Operated): ReturnType<typeof runCheckpointed> {
  const { operate, options, values, ledger, config, plain, step, sink } = operation;
  let control: RunControl | null = null;
  let done: Promise<void> = Promise.reject(new Error('never operated'));
  done.catch(() => undefined);
  const reads = operation.reads ?? values.length;
  const rare: ConfigSettings = {
    'execution.checkpointing.interval': '1 h',
    'restart-strategy.type': 'none',
  };
  const result = await runCheckpointed(
    sums({
      values,
      ledger,
      step,
      sink,
      onRead: after(reads, () => {
        done = operate(control as unknown as RunControl);
        done.catch(() => control?.cancel());
      }),
    }),
    {
      parallelism: 2,
      ...options,
      config: { ...(plain === true ? rare : {}), ...config, ...options?.config },
      onStart: (it) => {
        control = it;
      },
    },
  );
  await done;
  return result;
}

for (const p of [1, 2, 4])
  test(`a suspended job goes on from its savepoint at parallelism ${p} [I-38]`, async (t) => {
    const directory = await folder(t);
    const ledger = new Ledger<string>();
    const first = range(0, 60);
    let path = '';
    const { outcome } = await operated({
      values: first,
      ledger,
      operate: async (control) => {
        path = (await control.stopWithSavepoint({ directory })).path ?? '';
      },
    });
    assert.equal(outcome.status, 'FINISHED');
    assert.match(path, /\/savepoint-[0-9a-f]{6}-[0-9a-f]{12}$/);
    assert.deepEqual(ledger.pending, [], 'what the savepoint holds is committed');
    checkSums(ledger.committed, first);
    assert.ok(!ledger.committed.some((text) => text.startsWith('end')), 'no timer fires');

    const all = range(0, 120);
    await runCheckpointed(sums({ values: all, ledger, unbounded: false }), {
      parallelism: p,
      restorePath: path,
    });
    checkSums(ledger.committed, all);
    const ends = ledger.committed.filter((text) => text.startsWith('end'));
    assert.equal(ends.length, 7, 'timers were in the savepoint');
  });

test('draining brings event time to its end and flushes before the snapshot [I-38]', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const values = range(0, 60);
  let path = '';
  const { outcome } = await operated({
    values,
    ledger,
    operate: async (control) => {
      path = (await control.stopWithSavepoint({ directory, drain: true })).path ?? '';
    },
  });
  assert.equal(outcome.status, 'FINISHED');
  assert.deepEqual(ledger.pending, []);
  checkSums(ledger.committed, values);
  assert.equal(ledger.committed.filter((text) => text.startsWith('end')).length, 7);

  // Whoever goes on from it nevertheless reads on from where the sources were.
  const all = range(0, 80);
  await runCheckpointed(sums({ values: all, ledger, unbounded: false }), {
    parallelism: 2,
    restorePath: path,
  });
  checkSums(ledger.committed, all);
});

test('with checkpoints off a job can be stopped with a savepoint as well', async (t) => {
  const directory = await folder(t);
  for (const drain of [false, true]) {
    const results: number[] = [];
    const counting = (values: readonly number[], unbounded: boolean, onRead: () => void): Job =>
      job('counting', (env) => {
        env
          .fromSource(pacedSource({ splits: [values], unbounded, onRead }), { uid: 'numbers' })
          .keyBy(() => 'all')
          .process({
            emits: type<number>(),
            state: { n: valueState({ default: 0 }) },
            onElement(_, context) {
              const { n } = context.state;
              n.update(n.value + 1);
              context.emit(n.value);
            },
          })
          .uid('count')
          .collect(results);
      });
    let control: RunControl | null = null;
    const stopped = Promise.withResolvers<string>();
    const stop = after(30, () => {
      const path = control?.stopWithSavepoint({ directory, drain }).then((it) => it.path ?? '');
      stopped.resolve(path as Promise<string>);
    });
    const { outcome } = await run(counting(range(0, 30), true, stop), {
      onStart: (it) => {
        control = it;
      },
    });
    assert.equal(outcome.status, 'FINISHED');
    const restorePath = await stopped.promise;
    await run(
      counting(range(0, 50), false, () => undefined),
      { restorePath },
    );
    assert.deepEqual(results, range(1, 51));
  }
});

test('a savepoint commits nothing, and restores where its folder was moved', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const values = range(0, 60);
  let path = '';
  const { outcome, events } = await operated({
    values,
    ledger,
    reads: 30,
    plain: true,
    operate: async (control) => {
      path = (await control.triggerSavepoint(`file:${directory}`)).path ?? '';
      assert.deepEqual(ledger.committed, [], 'nobody is told of a savepoint');
      control.cancel();
    },
    // All state in files, so that every path counts.
    options: { config: { 'execution.checkpointing.data-inline-threshold': 0 } },
  });
  assert.equal(outcome.status, 'CANCELED');
  assert.equal(eventsOf(events, 'checkpointCompleted').length, 1);
  const moved = join(directory, 'moved');
  await rename(path, moved);
  await runCheckpointed(sums({ values, ledger, unbounded: false }), { restorePath: moved });
  checkSums(ledger.committed, values);
});

test('the savepoint folder can be configured', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const paths: (string | null)[] = [];
  await operated({
    values: range(0, 10),
    ledger,
    config: { 'execution.checkpointing.savepoint-dir': directory },
    operate: async (control) => {
      paths.push((await control.triggerSavepoint()).path);
      await control.stopWithSavepoint();
    },
  });
  assert.equal((await readdir(directory)).length, 2);
  await assert.rejects(
    operated({
      values: range(0, 10),
      ledger: new Ledger<string>(),
      operate: async (control) => {
        await control.triggerSavepoint();
      },
    }),
    /no folder is named for the savepoint, and execution.checkpointing.savepoint-dir is not set/,
  );
});

test('a stop whose savepoint cannot be made fails alone, and the job goes on [I-39]', async (t) => {
  const directory = await folder(t);
  const file = join(directory, 'file');
  await writeFile(file, '');
  const ledger = new Ledger<string>();
  const values = range(0, 40);
  const { outcome, events } = await operated({
    values,
    ledger,
    operate: async (control) => {
      await assert.rejects(control.stopWithSavepoint({ directory: file }), {
        code: 'CHECKPOINT_DECLINED',
      });
      await control.triggerCheckpoint();
      await control.stopWithSavepoint({ directory });
    },
  });
  assert.equal(outcome.status, 'FINISHED');
  assert.equal(outcome.restarts, 0);
  assert.equal(eventsOf(events, 'checkpointFailed').length > 0, true);
  checkSums(ledger.committed, values);
});

/** A sink whose first snapshot becomes durable only then. */
function stuckUntil(ledger: Ledger<string>, then: Promise<void>): Sink<string> {
  const sink = ledgerSink(ledger);
  let isStuck = true;
  return {
    ...sink,
    createWriter(context, states) {
      const writer = sink.createWriter(context, states as readonly never[]);
      return {
        ...writer,
        prepareCommit(request) {
          const prepared = writer.prepareCommit(request);
          if (!isStuck) return prepared;
          isStuck = false;
          return { ...prepared, durable: then };
        },
      };
    },
  };
}

for (const drain of [false, true])
  test(`a stop that fails midway lets the job go on, drain: ${drain} [I-39] [R044]`, async (t) => {
    const directory = await folder(t);
    const ledger = new Ledger<string>();
    const values = range(0, 60);
    const unstuck = Promise.withResolvers<void>();
    const { outcome } = await operated({
      values,
      ledger,
      // Each of two readers stops after so many, until a checkpoint is complete.
      step: 15,
      reads: 30,
      plain: true,
      sink: stuckUntil(ledger, unstuck.promise),
      config: {
        'execution.checkpointing.timeout': 300,
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.delay': 0,
      },
      operate: async (control) => {
        const stopped = control.stopWithSavepoint({ directory, drain });
        await assert.rejects(stopped, { code: 'CHECKPOINT_EXPIRED' });
        unstuck.resolve();
        while (ledger.committed.length < values.length) {
          await control.triggerCheckpoint().catch(() => undefined);
          await new Promise(setImmediate);
        }
        // On a busy machine it may expire as well.
        const isStopped = (): Promise<boolean> =>
          control.stopWithSavepoint({ directory }).then(
            () => true,
            () => false,
          );
        while (!(await isStopped())) await new Promise(setImmediate);
      },
    });
    assert.equal(outcome.status, 'FINISHED');
    assert.equal(outcome.restarts, drain ? 1 : 0, 'what was flushed can only be taken back');
    assert.ok(!ledger.committed.some((text) => text.startsWith('end')));
    assert.equal((await readdir(directory)).length, 1, 'nothing is left of the failed one');
    checkSums(ledger.committed, values);
  });

test('a stop whose sink cannot commit fails the job; a later start goes on [R101]', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const values = range(0, 40);
  const options = { dataDirectory: join(directory, 'data') };
  const operate = async (control: RunControl): Promise<void> => {
    ledger.commitErrors.push(new Error('the other side says no'));
    await control.stopWithSavepoint({ directory: join(directory, 'sp') });
  };
  const stopped = operated({ values, ledger, operate, options, plain: true });
  await assert.rejects(stopped, (error: Error) => {
    assert.equal((error as Error & { code: string }).code, 'STOP_INCOMPLETE');
    assert.match(
      error.message,
      /complete in .*savepoint-.*, but the job did not finish: .*says no/,
    );
    return true;
  });
  const [name = ''] = await readdir(join(directory, 'sp'));
  const { events } = await runCheckpointed(sums({ values, ledger, unbounded: false }), options);
  const [started] = eventsOf(events, 'started');
  assert.match(started?.start ?? '', new RegExp(`resumes from savepoint 1 \\(.*${name}`));
  checkSums(ledger.committed, values);
});

test('two jobs can start from one checkpoint, whatever becomes of the first [R104]', async (t) => {
  const directory = await folder(t);
  const values = range(0, 30);
  const ledger = new Ledger<string>();
  let shared = '';
  await operated({
    values: range(0, 10),
    ledger,
    plain: true,
    options: { jobId: 'a'.repeat(32), dataDirectory: join(directory, 'a') },
    config: {
      'execution.checkpointing.externalized-checkpoint-retention': 'RETAIN_ON_CANCELLATION',
    },
    operate: async (control) => {
      shared = (await control.triggerCheckpoint()).path ?? '';
      control.cancel();
    },
  });
  await operated({
    values,
    ledger,
    reads: 20,
    plain: true,
    options: { jobId: 'b'.repeat(32), dataDirectory: join(directory, 'b'), restorePath: shared },
    operate: async (control) => {
      for (const _ of range(0, 5)) await control.triggerCheckpoint();
      control.cancel();
    },
  });
  const before = ledger.committed.length;
  await runCheckpointed(sums({ values, ledger, unbounded: false }), {
    jobId: 'c'.repeat(32),
    dataDirectory: join(directory, 'c'),
    restorePath: shared,
  });
  assert.deepEqual(
    sorted(
      ledger.committed
        .slice(before)
        .filter((it) => !it.startsWith('end'))
        .map((it) => it.split(':')[1]),
    ),
    sorted(range(10, 30).map(String)),
  );
});

test('with NO_CLAIM the savepoint stays, and may go after a checkpoint [I-71]', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const values = range(0, 40);
  let path = '';
  const stop = async (control: RunControl): Promise<void> => {
    path = (await control.stopWithSavepoint({ directory: join(directory, 'sp') })).path ?? '';
  };
  await operated({ values, ledger, operate: stop });
  const savepoint = path;
  const more = range(0, 60);
  await operated({
    values: more,
    ledger,
    reads: 20,
    options: { restorePath: savepoint, dataDirectory: join(directory, 'data') },
    operate: async (control) => {
      await control.triggerCheckpoint();
      await control.triggerCheckpoint();
      assert.deepEqual((await readdir(join(directory, 'sp'))).length, 1, 'it is the user’s');
      await rm(savepoint, { recursive: true });
      await control.stopWithSavepoint({ directory: join(directory, 'sp') });
    },
  });
  checkSums(ledger.committed, more);
});

test('with CLAIM the savepoint goes once a checkpoint has taken its place [I-71]', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const values = range(0, 40);
  let savepoint = '';
  await operated({
    values,
    ledger,
    operate: async (control) => {
      savepoint =
        (await control.stopWithSavepoint({ directory: join(directory, 'sp') })).path ?? '';
    },
  });
  const more = range(0, 60);
  const { events } = await operated({
    values: more,
    ledger,
    reads: 20,
    plain: true,
    options: { restorePath: savepoint, dataDirectory: join(directory, 'data') },
    config: { 'execution.state-recovery.claim-mode': 'CLAIM' },
    operate: async (control) => {
      assert.deepEqual((await readdir(join(directory, 'sp'))).length, 1);
      await control.triggerCheckpoint();
      await control.triggerCheckpoint();
      for (let tries = 0; (await readdir(join(directory, 'sp'))).length > 0; tries++) {
        assert.ok(tries < 1000, 'the claimed savepoint is removed');
        await new Promise(setImmediate);
      }
      await control.stopWithSavepoint({ directory: join(directory, 'sp') });
    },
  });
  assert.deepEqual(logged(events, 'warn'), []);
  checkSums(ledger.committed, more);
});

const writerThatForgets: SinkWriter<string> = {
  write: () => undefined,
  isWritable: true,
  whenWritable: () => Promise.resolve(),
  prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
  close: () => Promise.resolve(),
};

const forgetful: Sink<string> = {
  name: 'forgetful',
  write: 'plain',
  createWriter: () => writerThatForgets,
};

test('every checkpoint behind a claimed savepoint restores without it [R058]', async (t) => {
  const directory = await folder(t);
  const values = range(0, 40);
  const ledger = new Ledger<string>();
  let savepoint = '';
  await operated({
    values: range(0, 20),
    ledger,
    operate: async (control) => {
      const stopped = await control.stopWithSavepoint({ directory: join(directory, 'a') });
      savepoint = stopped.path ?? '';
    },
  });
  const copies: string[] = [];
  await operated({
    values,
    ledger,
    reads: 20,
    plain: true,
    options: { restorePath: savepoint, dataDirectory: join(directory, 'b') },
    // All state in files, so that every path counts.
    config: {
      'execution.state-recovery.claim-mode': 'CLAIM',
      'execution.checkpointing.data-inline-threshold': 0,
    },
    operate: async (control) => {
      for (const n of range(0, 4)) {
        const { path } = await control.triggerCheckpoint();
        copies.push(join(directory, `copy-${n}`));
        await cp(path ?? '', copies[n] ?? '', { recursive: true });
      }
      control.cancel();
    },
  });
  assert.deepEqual(await readdir(join(directory, 'a')), [], 'the savepoint is gone');
  for (const copy of copies) {
    // The outer system of a sink would not have it that runs go on from each in turn.
    const ends: string[] = [];
    const sink: Sink<string> = {
      ...forgetful,
      createWriter: () => ({
        ...writerThatForgets,
        write: (text: string) => void (text.startsWith('end') && ends.push(text)),
      }),
    };
    await run(sums({ values: range(0, 60), ledger, unbounded: false, sink }), {
      restorePath: copy,
      parallelism: 3,
    });
    const expected = range(0, 7).map((key) => {
      const total = range(0, 60).filter((n) => n % 7 === key);
      return `end ${key}:${total.reduce((a, b) => a + b, 0)}`;
    });
    assert.deepEqual(sorted(ends), sorted(expected), copy);
  }
});

test('a run that was stopped is not repeated, and says with what it goes on', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const values = range(0, 20);
  const options = { dataDirectory: join(directory, 'data') };
  await operated({
    values,
    ledger,
    options,
    operate: async (control) => {
      await control.stopWithSavepoint({ directory });
    },
  });
  const { outcome, events } = await runCheckpointed(sums({ values, ledger }), options);
  assert.equal(outcome.status, 'ALREADY_FINISHED');
  const [said] = eventsOf(events, 'log').map(({ message }) => message);
  assert.match(said ?? '', /was stopped with a savepoint; go on from it with -s .*savepoint-/);
  checkSums(ledger.committed, values);
});
