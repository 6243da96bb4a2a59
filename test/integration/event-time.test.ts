/** Watermarks, timers and idleness through whole jobs, and over failures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedOutOfOrderness, job, monotonousTimestamps, type, valueState } from '@weir/core';
import type { DataStream, Job, StreamExecutionEnvironment } from '@weir/core';
import { Faults, range, sorted } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import { resumable } from './support/resumable.ts';
import { run, runCheckpointed } from './support/run.ts';

interface Event {
  readonly key: string;
  readonly at: number;
}

function event(key: string, at: number): Event {
  return { key, at };
}

const byTime = monotonousTimestamps<Event>(({ at }) => at);

/** Counts the events of each key in windows of ten, closed by event time; late ones are told. */
function windows(events: DataStream<Event>, onFire: (text: string) => void = () => undefined) {
  return events
    .keyBy(({ key }) => key)
    .process({
      emits: type<string>(),
      state: { counts: valueState<Readonly<Record<string, number>>>({ default: () => ({}) }) },
      onElement({ at }, context) {
        const { counts } = context.state;
        const end = Math.floor(at / 10) * 10 + 10;
        if (end - 1 <= context.currentWatermark) {
          context.emit(`${context.key} late ${at}`);
          return;
        }
        counts.update({ ...counts.value, [end]: (counts.value[end] ?? 0) + 1 });
        context.timerService.registerEventTimeTimer(end - 1);
      },
      onTimer(timestamp, context) {
        const { counts } = context.state;
        const { [timestamp + 1]: count, ...rest } = counts.value;
        counts.update(rest);
        onFire(`${context.key} until ${timestamp + 1}`);
        context.emit(`${context.key} until ${timestamp + 1}: ${count}`);
      },
    })
    .uid('windows');
}

function source(env: StreamExecutionEnvironment, uid: string, events: readonly Event[]) {
  return env.fromSource(pacedSource({ splits: [events] }), { uid, watermarks: byTime });
}

async function collected(
  build: (env: StreamExecutionEnvironment) => DataStream<string>,
): Promise<string[]> {
  const into: string[] = [];
  await run(job('event time', (env) => void build(env).collect(into)));
  return into;
}

test('timers fire in order of time, before the watermark that reached them goes on', async () => {
  const results = await collected((env) =>
    source(env, 'in', [event('a', 3), event('a', 12), event('a', 30)])
      .keyBy(({ key }) => key)
      .process({
        emits: type<string>(),
        onElement({ at }, { timerService }) {
          timerService.registerEventTimeTimer(at + 20);
          timerService.registerEventTimeTimer(at + 20);
          timerService.registerEventTimeTimer(at + 10);
          timerService.deleteEventTimeTimer(13);
        },
        onTimer: (timestamp, context) =>
          context.emit(
            `${timestamp} ${context.timeDomain} ${context.currentWatermark >= timestamp}`,
          ),
      }),
  );
  assert.deepEqual(
    results.map((text) => text.split(' ')[0]),
    ['22', '23', '32', '40', '50'],
    'registered twice it fires once; deleted it does not',
  );
  assert.ok(results.every((text) => text.endsWith('event true')));
});

test('out of order within the bound no record is late, beyond it one is', async () => {
  const strategy = boundedOutOfOrderness<Event>(5, ({ at }) => at);
  const times = [2, 14, 9, 17, 3, 30];
  const results: string[] = [];
  await runCheckpointed(
    job('out of order', (env) => {
      // A watermark behind each record: the source waits for a checkpoint in between.
      const events = env.fromSource(
        pacedSource({ splits: [times.map((at) => event('a', at))], step: 1 }),
        { uid: 'in', watermarks: strategy },
      );
      windows(events).collect(results);
    }),
  );
  assert.deepEqual(results, ['a until 10: 2', 'a late 3', 'a until 20: 2', 'a until 40: 1']);
});

test('a union waits for the slower of its streams', async () => {
  const results = await collected((env) => {
    const fast = source(env, 'fast', [event('a', 1), event('a', 100)]);
    const slow = source(env, 'slow', [event('a', 5), event('a', 12)]);
    return windows(fast.union(slow));
  });
  assert.deepEqual(results, ['a until 10: 2', 'a until 20: 1', 'a until 110: 1']);
});

test('a join of a finished input and an idle one stays at what the idle one reached', async () => {
  const results: string[] = [];
  const controller = new AbortController();
  const { outcome } = await run(
    job('idle join', (env) => {
      const finished = source(env, 'finished', [event('a', 1), event('a', 50)]);
      const idle = env.fromSource(
        pacedSource({ splits: [[event('a', 2), event('a', 20)]], unbounded: true }),
        {
          uid: 'idle',
          watermarks: monotonousTimestamps<Event>(({ at }) => at, { idleness: 1 }),
        },
      );
      finished
        .keyBy(({ key }) => key)
        .connect(idle.keyBy(({ key }) => key))
        .process({
          emits: type<string>(),
          onElement1: ({ at }, { timerService }) => timerService.registerEventTimeTimer(at + 8),
          onElement2: ({ at }, { timerService }) => timerService.registerEventTimeTimer(at + 8),
          onTimer: (timestamp, context) => context.emit(`fired ${timestamp}`),
        })
        .forEach((text) => {
          results.push(text);
          if (text === 'fired 10') setTimeout(() => controller.abort(), 300);
        });
    }),
    { signal: controller.signal },
  );
  assert.equal(outcome.status, 'CANCELED');
  assert.deepEqual(results, ['fired 9', 'fired 10'], 'not the timers behind 20');
});

test('a silent subtask does not hold back event time once it is idle [R079]', async () => {
  const controller = new AbortController();
  const results: string[] = [];
  await run(
    job('silent', (env) => {
      // Three subtasks, one split: two readers have nothing to read.
      const events = env.fromSource(
        pacedSource({ splits: [range(1, 101).map((at) => event('a', at))], unbounded: true }),
        {
          uid: 'in',
          watermarks: monotonousTimestamps<Event>(({ at }) => at, { idleness: 1 }),
        },
      );
      windows(events).forEach((text) => {
        results.push(text);
        if (text.startsWith('a until 100')) controller.abort();
      });
    }),
    { parallelism: 3, signal: controller.signal },
  );
  assert.equal(results.length, 10);
  assert.equal(results[0], 'a until 10: 9');
});

test('the end of the input fires what is left, idle or not', async () => {
  const results: string[] = [];
  await run(
    job('idle end', (env) => {
      const events = env.fromSource(pacedSource({ splits: [[event('a', 5)]] }), {
        uid: 'in',
        parallelism: 2,
        watermarks: monotonousTimestamps<Event>(({ at }) => at, { idleness: 1 }),
      });
      windows(events).collect(results);
    }),
  );
  assert.deepEqual(results, ['a until 10: 1']);
});

test('event time assigned behind the source works alike', async () => {
  const results = await collected((env) =>
    windows(
      env
        .fromCollection([event('a', 1), event('a', 11), event('a', 25)])
        .assignTimestampsAndWatermarks(byTime)
        .filter(() => true),
    ),
  );
  assert.deepEqual(results, ['a until 10: 1', 'a until 20: 1', 'a until 30: 1']);
});

function windowJob(
  ledger: Ledger<string>,
  faults: Faults,
  options: { readonly events: readonly Event[]; readonly fired?: string[] },
): Job {
  const { events, fired = [] } = options;
  return job('windows', (env) => {
    const stream = env.fromSource(
      pacedSource({
        splits: [events],
        step: 5,
        onRead: ({ at }) => faults.pass(`at ${at}`),
      }),
      { uid: 'in', watermarks: byTime },
    );
    windows(stream, (text) => fired.push(text))
      .sinkTo(ledgerSink(ledger))
      .uid('out');
  });
}

const EVENTS = range(0, 60).map((at) => event(at % 2 === 0 ? 'a' : 'b', at));
const WINDOWS = ['a', 'b'].flatMap((key) => range(1, 7).map((w) => `${key} until ${w * 10}: 5`));

test('after a restore no window fires again, nothing in time is late [R007] [R008]', async () => {
  const faults = new Faults();
  faults.plan('at 23', 'at 38', 'at 51');
  const ledger = new Ledger<string>();
  const { outcome } = await runCheckpointed(windowJob(ledger, faults, { events: EVENTS }), {
    parallelism: 2,
  });
  assert.equal(outcome.restarts, 3);
  assert.deepEqual(sorted(ledger.committed), sorted(WINDOWS));
});

test('a late record is late again after a restore, since watermarks come back [R008]', async () => {
  const faults = new Faults();
  faults.plan('at 1');
  const ledger = new Ledger<string>();
  const late = event('a', 1);
  // Time 40 is in a checkpoint when the late record is read: its window is long closed.
  const events = [...range(0, 5).map((i) => event('a', i * 10)), late, event('a', 45)];
  await runCheckpointed(windowJob(ledger, faults, { events }));
  assert.deepEqual(faults.happened, ['at 1']);
  assert.ok(ledger.committed.includes('a late 1'), ledger.committed.join());
});

test('another run goes on with timers and watermarks where the first died', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const ledger = new Ledger<string>();
    for (const parallelism of [2, 2, 3]) {
      faults.plan(`at ${15 + faults.happened.length * 12}`);
      await crash(windowJob(ledger, faults, { events: EVENTS }), { parallelism });
    }
    await finish(windowJob(ledger, faults, { events: EVENTS }), { parallelism: 1 });
    assert.deepEqual(sorted(ledger.committed), sorted(WINDOWS));
  }));

test('processing-time timers fire, and overdue ones at once after a restore [R091]', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const fired: { readonly at: number; readonly now: number }[] = [];
    let due = 0;
    const waiting = job('waiting', (env) => {
      env
        .fromSource(
          pacedSource({ splits: [range(0, 4)], step: 1, onRead: (n) => faults.pass(`read ${n}`) }),
          { uid: 'in' },
        )
        // Ends only when the timer has fired.
        .keyBy(() => 'k')
        .process({
          emits: type<number>(),
          state: { due: valueState({ default: 0 }) },
          onElement(n, context) {
            if (n !== 0) return;
            due = context.currentProcessingTime + 600;
            context.timerService.registerProcessingTimeTimer(due);
          },
          onTimer(timestamp, context) {
            fired.push({ at: timestamp, now: context.currentProcessingTime });
            assert.equal(context.timeDomain, 'processing');
          },
        })
        .uid('timers')
        .collect([]);
    });
    faults.plan('read 2');
    await crash(waiting);
    assert.equal(fired.length, 0);
    await new Promise((resolve) => {
      setTimeout(resolve, 700);
    });
    await finish(waiting);
    assert.equal(fired.length, 1);
    assert.equal(fired[0]?.at, due, 'with its original time');
    assert.ok((fired[0]?.now ?? 0) >= due);
  }));
