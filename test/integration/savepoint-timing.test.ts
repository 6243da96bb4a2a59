/** Savepoints and stops that are asked for at a bad moment: during a checkpoint, or a restart. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { job, type, valueState } from '@weir/core';
import type { ConfigSettings, Job, RunControl, RunJobOptions, Sink } from '@weir/core';
import { range, sorted } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import { runCheckpointed } from './support/run.ts';

const FIRST = range(0, 30);
const ALL = range(0, 60);
const NEVER: ConfigSettings = { 'execution.checkpointing.interval': '1 h' };

interface Counting {
  readonly sink: Sink<string>;
  readonly values?: readonly number[];
  readonly unbounded?: boolean;
  readonly onElement?: (n: number) => void;
}

/** How often each of three keys came, with a timer far ahead. */
function counting(options: Counting): Job {
  const { sink, values = FIRST, unbounded = true, onElement } = options;
  return job('counting', (env) => {
    env
      .fromSource(pacedSource({ splits: [values], unbounded }), { uid: 'numbers' })
      .keyBy((n) => n % 3)
      .process({
        emits: type<string>(),
        state: { count: valueState({ default: 0 }) },
        onElement(n, context) {
          const { count } = context.state;
          count.update(count.value + 1);
          context.emit(`${n % 3}:${count.value}`);
          context.timerService.registerEventTimeTimer(1_000_000);
          onElement?.(n);
        },
        onTimer(_, context) {
          context.emit(`end ${context.key}`);
        },
      })
      .uid('counts')
      .sinkTo(sink)
      .uid('out');
  });
}

function expected(values: readonly number[]): readonly string[] {
  return sorted(values.map((n) => `${n % 3}:${Math.floor(n / 3) + 1}`));
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'weir-timing-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function eventually(look: () => boolean): Promise<void> {
  while (!look()) await new Promise(setImmediate);
}

/** Takes what the sink was given, but keeps the first snapshot until `then`. */
function holding(ledger: Ledger<string>, then: Promise<void>): [Sink<string>, Promise<void>] {
  const held = Promise.withResolvers<void>();
  const sink = ledgerSink(ledger);
  let isFirst = true;
  const holder: Sink<string> = {
    ...sink,
    createWriter(context, states) {
      const writer = sink.createWriter(context, states as readonly never[]);
      return {
        ...writer,
        prepareCommit(request) {
          const prepared = writer.prepareCommit(request);
          if (!isFirst) return prepared;
          isFirst = false;
          held.resolve();
          return { ...prepared, durable: then };
        },
      };
    },
  };
  return [holder, held.promise];
}

for (const drain of [false, true])
  for (const inTime of [false, true])
    test(`a stop during a checkpoint is exact, drain: ${drain}, in time: ${inTime}`, async (t) => {
      const directory = await folder(t);
      const ledger = new Ledger<string>();
      const release = Promise.withResolvers<void>();
      const [sink, held] = holding(ledger, release.promise);
      const started = Promise.withResolvers<RunControl>();
      let reads = 0;
      const running = runCheckpointed(counting({ sink, onElement: () => reads++ }), {
        config: NEVER,
        onStart: started.resolve,
      });
      const control = await started.promise;
      await eventually(() => reads === FIRST.length);
      const checkpoint = control.triggerCheckpoint().then(
        () => 'completed',
        (error: Error) => error.message,
      );
      await held;
      const stop = control.stopWithSavepoint({ directory, drain });
      // What the checkpoint prepared is in the savepoint too, so the stop waits for it either way.
      if (!inTime) assert.match(await checkpoint, /being stopped with a savepoint/);
      release.resolve();
      const { path } = await stop;
      const { outcome } = await running;
      assert.equal(outcome.status, 'FINISHED');
      assert.equal(outcome.restarts, 0);
      assert.match(await checkpoint, /^completed$|being stopped with a savepoint/);
      const ends = drain ? ['end 0', 'end 1', 'end 2'] : [];
      assert.deepEqual(sorted(ledger.committed), sorted([...expected(FIRST), ...ends]));
      assert.deepEqual(ledger.pending, []);
      assert.equal((await readdir(directory)).length, 1);
      if (drain) return;
      const next = counting({ sink: ledgerSink(ledger), values: ALL, unbounded: false });
      await runCheckpointed(next, { restorePath: path ?? '' });
      const committed = ledger.committed.filter((text) => !text.startsWith('end'));
      assert.deepEqual(sorted(committed), expected(ALL));
    });

test('a stop that is overtaken by a cancel is told so, and leaves nothing half', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const never = Promise.withResolvers<void>();
  const [sink, held] = holding(ledger, never.promise);
  const started = Promise.withResolvers<RunControl>();
  let reads = 0;
  const running = runCheckpointed(counting({ sink, onElement: () => reads++ }), {
    config: NEVER,
    onStart: started.resolve,
  });
  const control = await started.promise;
  await eventually(() => reads === FIRST.length);
  const stop = control.stopWithSavepoint({ directory }).catch((error: unknown) => error);
  await held;
  const second = control.stopWithSavepoint({ directory }).catch((error: unknown) => error);
  assert.match(String(await second), /being stopped with a savepoint/);
  control.cancel();
  const refusal = await stop;
  assert.ok(refusal instanceof Error, 'the stop came to nothing');
  assert.match(refusal.message, /the job does not run any more/);
  assert.equal((await running).outcome.status, 'CANCELED');
  never.resolve();
  assert.deepEqual(await readdir(directory), []);
});

test('a savepoint or a stop asked for during a restart is refused, and later taken', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const started = Promise.withResolvers<RunControl>();
  const refusals: Promise<unknown>[] = [];
  let fails = true;
  let reads = 0;
  const running = runCheckpointed(
    counting({
      sink: ledgerSink(ledger),
      onElement: (n) => {
        reads++;
        if (n !== 20 || !fails) return;
        fails = false;
        throw new Error('planned');
      },
    }),
    {
      config: { ...NEVER, 'restart-strategy.fixed-delay.delay': 100 },
      onStart: started.resolve,
      onEvent: (event) => {
        if (event.type !== 'restarting') return;
        setImmediate(() => void ask());
      },
    },
  );
  const asked = Promise.withResolvers<void>();
  async function ask(): Promise<void> {
    const control = await started.promise;
    refusals.push(
      control.triggerSavepoint(directory).catch((error: unknown) => error),
      control.stopWithSavepoint({ directory }).catch((error: unknown) => error),
    );
    asked.resolve();
  }
  await asked.promise;
  for (const refusal of await Promise.all(refusals)) {
    assert.ok(refusal instanceof Error, 'it must be refused');
    assert.match(refusal.message, /restarting|not running|not every task/i);
  }
  assert.deepEqual(await readdir(directory), []);
  const control = await started.promise;
  await eventually(() => reads === 21 + FIRST.length);
  await control.triggerSavepoint(directory);
  await control.stopWithSavepoint({ directory });
  assert.equal((await running).outcome.restarts, 1);
  assert.deepEqual(sorted(ledger.committed), expected(FIRST));
});

test('a savepoint may be claimed once; then it is the run’s, and gone [I-71]', async (t) => {
  const directory = await folder(t);
  const ledger = new Ledger<string>();
  const stopped = async (first: Job, options: object): Promise<string> => {
    const started = Promise.withResolvers<RunControl>();
    const running = runCheckpointed(first, { ...options, onStart: started.resolve });
    const control = await started.promise;
    await eventually(() => ledger.committed.length > 0);
    const { path } = await control.stopWithSavepoint({ directory });
    await running;
    return path ?? '';
  };
  const path = await stopped(counting({ sink: ledgerSink(ledger) }), {});
  const claim: RunJobOptions = {
    restorePath: path,
    config: { 'execution.state-recovery.claim-mode': 'CLAIM' },
  };
  const next = (): Job => counting({ sink: ledgerSink(ledger), values: ALL, unbounded: false });
  await runCheckpointed(next(), { ...claim, dataDirectory: join(directory, 'data') });
  assert.deepEqual(sorted(ledger.committed.filter((it) => !it.startsWith('end'))), expected(ALL));
  const again = runCheckpointed(next(), { ...claim, dataDirectory: join(directory, 'data') });
  await assert.rejects(again, { code: 'ARGUMENT_INVALID', message: /there is nothing at .*savep/ });
});
