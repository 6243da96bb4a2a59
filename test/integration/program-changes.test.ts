/**
 * A job is stopped with a savepoint, changed, and started from it: what becomes of its state, or
 * why it is refused. One row a change.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { job, mapState, runJob, valueState, type } from '@weir/core';
import type {
  DataStream,
  KeyedStream,
  RunControl,
  RunJobOptions,
  StreamExecutionEnvironment,
} from '@weir/core';
import { murmur128 } from '../../packages/core/src/base/murmur.ts';
import { range } from './support/faults.ts';
import { pacedSource } from './support/paced-source.ts';
import { logged, run } from './support/run.ts';
import type { TestRun } from './support/run.ts';

const FIRST = range(0, 20);
const ALL = range(0, 40);

interface Total {
  readonly n: number;
}

function numbers(env: StreamExecutionEnvironment, values: readonly number[], isFirst: boolean) {
  return env.fromSource(pacedSource({ splits: [values], unbounded: isFirst }), { uid: 'numbers' });
}

type Numbers = DataStream<number>;

/** Two operators with state, which let everything pass. */
function once(stream: Numbers): Numbers {
  return stream
    .keyBy((n) => n)
    .process({
      emits: type<number>(),
      state: { times: valueState({ default: 0 }) },
      onElement(n, context) {
        const { times } = context.state;
        times.update(times.value + 1);
        assert.equal(times.value, 1, 'each number comes once');
        context.emit(n);
      },
    })
    .uid('once');
}

function seen(stream: Numbers): Numbers {
  return stream
    .keyBy((n) => n % 2)
    .process({
      emits: type<number>(),
      state: { next: valueState({ default: -1 }) },
      onElement(n, context) {
        const { next } = context.state;
        if (next.value >= 0) assert.equal(n, next.value, 'it goes on where it was');
        next.update(n + 2);
        context.emit(n);
      },
    })
    .uid('seen');
}

/** Counts by key. */
function count(uid: string, name?: string, uidHash?: string) {
  return (keyed: KeyedStream<number, number>, into: string[]): void => {
    const counted = keyed.process({
      emits: type<string>(),
      state: { total: valueState<Total>({ default: () => ({ n: 0 }) }) },
      onElement(_, context) {
        const { total } = context.state;
        total.update({ n: total.value.n + 1 });
        context.emit(`${context.key}:${total.value.n}`);
      },
    });
    counted.uid(uid);
    if (name !== undefined) counted.name(name);
    if (uidHash !== undefined) counted.setUidHash(uidHash);
    counted.collect(into);
  };
}

function version(
  values: readonly number[],
  into: string[],
  counts: (keyed: KeyedStream<number, number>, into: string[]) => void,
  between: (stream: Numbers) => Numbers = (stream) => stream,
) {
  const isFirst = values === FIRST;
  return job('changing', (env) => {
    counts(
      between(numbers(env, values, isFirst)).keyBy((n) => n % 4),
      into,
    );
  });
}

let directory = '';
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-changes-'));
});
after(() => rm(directory, { recursive: true, force: true }));

/** Runs the first version over the first numbers and stops it. */
async function savepointOf(
  counts = count('counts'),
  options: RunJobOptions = {},
  between?: (stream: Numbers) => Numbers,
): Promise<string> {
  const into: string[] = [];
  const path = Promise.withResolvers<string>();
  const started = Promise.withResolvers<RunControl>();
  const running = run(version(FIRST, into, counts, between), {
    ...options,
    onStart: (control) => started.resolve(control),
    onEvent: (event) => {
      if (event.type === 'statusChanged' && event.status === 'RUNNING') void stop();
    },
  });
  const stop = async (): Promise<void> => {
    const control = await started.promise;
    while (into.length < FIRST.length) await new Promise(setImmediate);
    const { path: taken } = await control.stopWithSavepoint({ directory });
    path.resolve(taken ?? '');
  };
  await running;
  return path.promise;
}

/** The last count of each key. */
function last(into: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const text of into) {
    const [key = '', n] = text.split(':');
    counts[key] = Math.max(counts[key] ?? 0, Number(n));
  }
  return counts;
}

const KEPT = { 0: 10, 1: 10, 2: 10, 3: 10 };
const LOST = { 0: 5, 1: 5, 2: 5, 3: 5 };

interface Row {
  readonly change: string;
  readonly savepoint?: () => Promise<string>;
  readonly next: (into: string[]) => ReturnType<typeof version>;
  readonly options?: RunJobOptions;
  /** What the counts are in the end, or why the start is refused. */
  readonly expect: Readonly<Record<string, number>> | RegExp;
  readonly warns?: RegExp;
}

const ROWS: readonly Row[] = [
  { change: 'nothing', next: (into) => version(ALL, into, count('counts')), expect: KEPT },
  {
    change: 'an operator without state is added',
    next: (into) =>
      version(ALL, into, count('counts'), (stream) => stream.map((n) => n).filter(() => true)),
    expect: KEPT,
  },
  {
    change: 'an operator with state is added, and starts empty',
    next: (into) =>
      version(ALL, into, count('counts'), (stream) =>
        stream
          .keyBy((n) => n % 2)
          .process({
            emits: type<number>(),
            state: { seen: valueState({ default: 0 }) },
            onElement(n, context) {
              context.state.seen.update(context.state.seen.value + 1);
              assert.ok(context.state.seen.value <= 10, 'only what comes now');
              context.emit(n);
            },
          })
          .uid('seen'),
      ),
    expect: KEPT,
  },
  {
    change: 'an operator is renamed',
    next: (into) => version(ALL, into, count('counts', 'another name')),
    expect: KEPT,
  },
  {
    change: 'operators are reordered',
    savepoint: () => savepointOf(count('counts'), {}, (stream) => seen(once(stream))),
    next: (into) => version(ALL, into, count('counts'), (stream) => once(seen(stream))),
    expect: KEPT,
  },
  {
    change: 'the operator is cut out of its chain',
    next: (into) =>
      version(ALL, into, count('counts'), (stream) => stream.map((n) => n).disableChaining()),
    expect: KEPT,
  },
  {
    change: 'parallelism rises',
    next: (into) => version(ALL, into, count('counts')),
    options: { parallelism: 3 },
    expect: KEPT,
  },
  {
    change: 'maximum parallelism stays that of the savepoint, unless it is fixed [I-69]',
    savepoint: () => savepointOf(count('counts'), { config: { 'pipeline.max-parallelism': 64 } }),
    next: (into) => version(ALL, into, count('counts')),
    expect: KEPT,
  },
  {
    change: 'maximum parallelism is fixed to another number [I-69]',
    next: (into) => version(ALL, into, count('counts')),
    options: { config: { 'pipeline.max-parallelism': 64 } },
    expect: /maximum parallelism/,
  },
  {
    change: 'parallelism rises above the maximum of the savepoint [I-65]',
    savepoint: () => savepointOf(count('counts'), { config: { 'pipeline.max-parallelism': 13 } }),
    next: (into) => version(ALL, into, count('counts')),
    options: { parallelism: 14 },
    expect: /13/,
  },
  {
    change: 'the operator is removed: refused [I-70] [R053]',
    next: (into) =>
      version(ALL, into, (keyed, results) => keyed.map((n) => `${n % 4}:1`).collect(results)),
    expect: /"counts"/,
  },
  {
    change: 'the operator is removed and its state dropped on purpose [I-70]',
    next: (into) =>
      version(ALL, into, (keyed, results) => keyed.map((n) => `${n % 4}:1`).collect(results)),
    options: { allowNonRestored: true },
    expect: { 0: 1, 1: 1, 2: 1, 3: 1 },
    warns: /the state of .*"counts".* is dropped/,
  },
  {
    change: 'the uid changes: refused, naming where the state may belong [R053]',
    next: (into) => version(ALL, into, count('totals')),
    expect: /"counts".*"totals"/s,
  },
  {
    change: 'the uid changes and the state is dropped on purpose',
    next: (into) => version(ALL, into, count('totals')),
    options: { allowNonRestored: true },
    expect: LOST,
    warns: /the state of operator "counts" \(.*, 4 keys, .*\) is dropped/,
  },
  {
    change: 'the uid changes, and an explicit hash says whose state it is',
    next: (into) => version(ALL, into, count('totals', 'totals', murmur128('counts'))),
    expect: KEPT,
  },
  {
    change: 'an explicit hash that the savepoint does not have: refused, naming it',
    next: (into) => version(ALL, into, count('totals', 'totals', 'a'.repeat(32))),
    expect: /"counts".*has no home in this job/s,
  },
  {
    change: 'the operator had an explicit hash, and keeps it under another uid',
    savepoint: () => savepointOf(count('counts', 'counts', 'b'.repeat(32))),
    next: (into) => version(ALL, into, count('totals', 'totals', 'b'.repeat(32))),
    expect: KEPT,
  },
  {
    change: 'a state is renamed: the old one is dropped, the new one starts empty',
    next: (into) =>
      version(ALL, into, (keyed, results) => {
        keyed
          .process({
            emits: type<string>(),
            state: { sum: valueState<Total>({ default: () => ({ n: 0 }) }) },
            onElement(_, context) {
              const { sum } = context.state;
              sum.update({ n: sum.value.n + 1 });
              context.emit(`${context.key}:${sum.value.n}`);
            },
          })
          .uid('counts')
          .collect(results);
      }),
    expect: LOST,
    warns: /state "total" of .* is declared no more and was dropped/,
  },
  {
    change: 'the kind of a state changes: refused before the start',
    next: (into) =>
      version(ALL, into, (keyed, results) => {
        keyed
          .process({
            emits: type<string>(),
            state: { total: mapState<string, number>() },
            onElement(_, context) {
              context.emit(`${context.key}:${context.state.total.isEmpty ? 1 : 2}`);
            },
          })
          .uid('counts')
          .collect(results);
      }),
    expect: /state "total" of "counts" .*was stored as value state and is declared as map state/,
  },
  {
    change: 'the version of a state rises with a migration',
    next: (into) => version(ALL, into, migrating({ 1: ({ n }: Total) => ({ count: n }) })),
    expect: KEPT,
  },
  {
    change: 'the version of a state rises without a migration: refused',
    next: (into) => version(ALL, into, migrating({})),
    expect: /stored with version 1 of its type and is declared with version 2, without a migration/,
  },
  {
    change: 'the version of a state is lower than the stored one: refused, naming both',
    savepoint: () => savepointOf(migrating({ 1: ({ n }: Total) => ({ count: n }) })),
    next: (into) => version(ALL, into, count('counts')),
    expect:
      /"total" of "counts" .* stored with version 2 of its type and is declared with version 1/,
  },
  {
    change: 'a migration throws: refused before the start',
    next: (into) =>
      version(
        ALL,
        into,
        migrating({
          1: () => {
            throw new Error('cannot');
          },
        }),
      ),
    expect:
      /the migration of state "total" of "counts" .* from version 1 threw under key \d: cannot/,
  },
];

function migrating(migrate: Readonly<Record<number, (stored: never) => { count: number }>>) {
  return (keyed: KeyedStream<number, number>, into: string[]): void => {
    keyed
      .process({
        emits: type<string>(),
        state: {
          total: valueState<{ count: number }>({
            default: () => ({ count: 0 }),
            version: 2,
            migrate,
          }),
        },
        onElement(_, context) {
          const { total } = context.state;
          total.update({ count: total.value.count + 1 });
          context.emit(`${context.key}:${total.value.count}`);
        },
      })
      .uid('counts')
      .collect(into);
  };
}

for (const { change, savepoint = () => savepointOf(), next, options, expect, warns } of ROWS)
  test(change, async () => {
    const restorePath = await savepoint();
    const into: string[] = [];
    const start = (): Promise<TestRun> => run(next(into), { ...options, restorePath });
    if (expect instanceof RegExp) {
      await assert.rejects(start(), { code: 'STATE_INCOMPATIBLE', message: expect });
      assert.deepEqual(into, [], 'nothing was started');
      return;
    }
    const { events } = await start();
    assert.deepEqual(last(into), expect);
    if (warns === undefined) assert.deepEqual(logged(events, 'warn'), []);
    else assert.match(logged(events, 'warn').join('\n'), warns);
  });

test('a snapshot of another job is refused, unless all of it may be dropped', async () => {
  const restorePath = await savepointOf();
  const other = job('other', (env) => {
    env.fromSource(pacedSource({ splits: [ALL] }), { uid: 'other numbers' }).collect([]);
  });
  await assert.rejects(runJob(other, { restorePath }), { code: 'STATE_INCOMPATIBLE' });
  const { status } = await runJob(other, { restorePath, allowNonRestored: true });
  assert.equal(status, 'FINISHED');
});
