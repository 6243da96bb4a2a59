/**
 * The type of a state changes and nobody raises its version: noticed by what the code itself says
 * of the type, before the start, or else by the first values that are written.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  aggregatingState,
  job,
  listState,
  mapState,
  operatorListState,
  reducingState,
  type,
  valueState,
} from '@weir/core';
import type { Job, RunControl, StreamExecutionEnvironment } from '@weir/core';
import { range } from './support/faults.ts';
import { pacedSource } from './support/paced-source.ts';
import { logged, run } from './support/run.ts';

const FIRST = range(0, 20);
const ALL = range(0, 40);

let directory = '';
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-types-'));
});
after(() => rm(directory, { recursive: true, force: true }));

/** Operators over numbers, which send something for each. */
type Version = (numbers: ReturnType<typeof numbersOf>) => { collect(into: unknown[]): void };

function numbersOf(env: StreamExecutionEnvironment, values: readonly number[], unbounded: boolean) {
  return env
    .fromSource(pacedSource({ splits: [values], unbounded }), { uid: 'numbers' })
    .keyBy((n) => n % 4);
}

function jobOf(version: Version, values: readonly number[], into: unknown[]): Job {
  return job('typed', (env) => {
    version(numbersOf(env, values, values === FIRST)).collect(into);
  });
}

async function savepointOf(version: Version): Promise<string> {
  const into: unknown[] = [];
  const started = Promise.withResolvers<RunControl>();
  const running = run(jobOf(version, FIRST, into), { onStart: started.resolve });
  const control = await started.promise;
  while (into.length < FIRST.length) await new Promise(setImmediate);
  const { path } = await control.stopWithSavepoint({ directory });
  await running;
  return path ?? '';
}

/** A value for each key, made of the one before; `undefined` as a default is none. */
function value<T>(next: (before: T) => T, options: object = {}): Version {
  return (numbers) =>
    numbers
      .process({
        emits: type<unknown>(),
        state: { it: valueState<T>(options) },
        onElement(_, context) {
          const { state } = context;
          const after = next(state.it.value as T);
          state.it.update(after);
          context.emit(after);
        },
      })
      .uid('values');
}

/** A validator that takes every value. */
const anything = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
};

interface Row {
  readonly change: string;
  readonly from: Version;
  readonly to: Version;
  /** `null`: it goes on. */
  readonly refused: RegExp | null;
  readonly warns?: RegExp;
  /** Found out by what is written, not before the start. */
  readonly runs?: boolean;
}

const counting = value<number>((n) => n + 1, { default: 0 });
const countingUnsaid = value<number | undefined>((n) => (n ?? 0) + 1);
const objects = value<{ n: number }>(({ n }) => ({ n: n + 1 }), { default: () => ({ n: 0 }) });

const ROWS: readonly Row[] = [
  {
    change: 'number to object, by the default',
    from: counting,
    to: objects,
    refused:
      /^a value of state "it" of "values" .* stored as number, .* give the state version: 2 and m/,
  },
  {
    change: 'number to object, where only the new code has a default',
    from: countingUnsaid,
    to: objects,
    refused: /stored as number, but the default of the state is now \{ n: number \}/,
  },
  {
    change: 'string to number',
    from: value<string>((text) => `${text}x`, { default: '' }),
    to: counting,
    refused: /stored as string, but the default of the state is now number/,
  },
  {
    change: 'a field of another type',
    from: objects,
    to: value<{ n: string }>(({ n }) => ({ n: `${n}x` }), { default: () => ({ n: '' }) }),
    refused: /^field "n" of a value of state "it" .* stored as number, but .* is now string/,
  },
  {
    change: 'all fields have other names',
    from: objects,
    to: value<{ count: number }>(({ count }) => ({ count: count + 1 }), {
      default: () => ({ count: 0 }),
    }),
    refused: /stored as \{ n: number \}, but the default of the state is now \{ count: number \}/,
  },
  {
    change: 'a field more in the default: goes on, with a warning',
    from: objects,
    to: value<{ n: number; label?: string }>(({ n, label }) => ({ n: n + 1, label: label ?? '' }), {
      default: () => ({ n: 0, label: '' }),
    }),
    refused: null,
    warns: /state "it" of "values" .* lack label, which its default has: .* undefined/,
  },
  {
    change: 'optional fields that the default has not come and go',
    from: value<{ n: number; old?: string }>(({ n }) => ({ n: n + 1, old: 'x' }), {
      default: () => ({ n: 0 }),
    }),
    to: value<{ n: number; fresh?: number }>(({ n }) => ({ n: n + 1, fresh: 1 }), {
      default: () => ({ n: 0 }),
    }),
    refused: null,
  },
  {
    change: 'nothing, and values are of another kind than the default [false alarm]',
    from: value<number | 'none'>((n) => (n === 'none' ? 1 : n + 1), { default: 'none' }),
    to: value<number | 'none'>((n) => (n === 'none' ? 1 : n + 1), { default: 'none' }),
    refused: null,
  },
  {
    change: 'another type, with a version and a migration',
    from: counting,
    to: value<{ n: number }>(({ n }) => ({ n: n + 1 }), {
      default: () => ({ n: 0 }),
      version: 2,
      migrate: { 1: (n: number) => ({ n }) },
    }),
    refused: null,
  },
  ...migrated([
    [
      'text',
      String,
      /^migrate\[1\] of state "it" of "values" .* is string, but the default .* has/,
    ],
    [
      'nothing',
      () => undefined,
      /one that is undefined, but the default of the state is \{ n: num/,
    ],
    ['another field', (n) => ({ n: String(n) }), /one that has field "n" as string, but the def/],
    ['a function', (n) => ({ n, f: () => n }), /one that cannot be stored: /],
    ['a promise', async (n) => ({ n }), /the migration of state "it" .* returned a promise under/],
  ]),
  {
    change: 'number to object without a default: by the first value that is written',
    from: countingUnsaid,
    to: value<{ n: number } | undefined>((it) => ({ n: (it?.n ?? 0) + 1 })),
    refused: /state "it" of values: its values are number in the snapshot, and are now written as/,
    runs: true,
  },
  {
    change: 'a type that holds both, as a schema says',
    from: countingUnsaid,
    to: value<unknown>(() => ({ n: 1 }), {
      schema: anything,
    }),
    refused: null,
  },
  {
    change: 'the accumulator of an aggregating state',
    from: accumulating(() => 0),
    to: accumulating(() => ({ sum: 0 })),
    refused: /stored as number, but the first accumulator of the state is now \{ sum: number \}/,
  },
  {
    change: 'the accumulator of aggregate(), which has no version',
    from: rolling(() => 0),
    to: rolling(() => ({ sum: 0 })),
    refused: /state "rolling" of "rolling" .* is now \{ sum: number \}.* another uid .* -n/,
  },
  {
    change: 'items of a list, values of a map, merged values, items of operator state',
    from: many((n) => n),
    to: many((n) => ({ n })),
    refused: /state "(list|map|sum)" of many: its values are number in the snapshot/,
    runs: true,
  },
];

/** As a job without a compiler may have them, or one that says `any`. */
function migrated(
  makes: readonly (readonly [what: string, migrate: (n: number) => unknown, refused: RegExp])[],
): readonly Row[] {
  return makes.map(([what, migrate, refused]) => ({
    change: `a migration that makes ${what} where an object is wanted`,
    from: counting,
    to: value<{ n: number }>(({ n }) => ({ n: n + 1 }), {
      default: () => ({ n: 0 }),
      version: 2,
      migrate: { 1: migrate },
    }),
    refused,
  }));
}

function accumulating(first: () => unknown): Version {
  return (numbers) =>
    numbers
      .process({
        emits: type<unknown>(),
        state: {
          it: aggregatingState({
            createAccumulator: first,
            add: (_: number, accumulator: unknown) => accumulator,
            getResult: (accumulator) => accumulator,
          }),
        },
        onElement(n, context) {
          const { state } = context;
          state.it.add(n);
          context.emit(state.it.get());
        },
      })
      .uid('accumulating');
}

function rolling(first: () => unknown): Version {
  return (numbers) =>
    numbers
      .aggregate({
        createAccumulator: first,
        add: (_: number, accumulator: unknown) => accumulator,
        getResult: (accumulator) => accumulator,
      })
      .uid('rolling');
}

function many(of: (n: number) => unknown): Version {
  return (numbers) =>
    numbers
      .process({
        emits: type<unknown>(),
        state: {
          list: listState<unknown>(),
          map: mapState<string, unknown>(),
          sum: reducingState<unknown>((_, b) => b),
        },
        onElement(n, context) {
          const { state } = context;
          const turns = [
            () => state.list.add(of(n)),
            () => state.map.put('x', of(n)),
            () => state.sum.add(of(n)),
          ];
          // The second version begins with another state for each key.
          for (const turn of n < FIRST.length ? turns : turns.slice(n % 3)) turn();
          context.emit(n);
        },
      })
      .uid('many');
}

for (const { change, from, to, refused, warns, runs = false } of ROWS)
  test(`a changed type without a new version: ${change}`, async () => {
    const restorePath = await savepointOf(from);
    const into: unknown[] = [];
    const start = (): ReturnType<typeof run> => run(jobOf(to, ALL, into), { restorePath });
    if (refused !== null) {
      await assert.rejects(start(), { code: 'STATE_INCOMPATIBLE', message: refused });
      if (!runs) assert.deepEqual(into, [], 'nothing was started');
      return;
    }
    const { events } = await start();
    assert.equal(into.length, ALL.length - FIRST.length);
    const warnings = logged(events, 'warn').join('\n');
    if (warns === undefined) assert.equal(warnings, '');
    else assert.match(warnings, warns);
  });

test('items of operator state of another kind are refused when they are written', async () => {
  const adding =
    (of: (n: number) => unknown): Version =>
    (numbers) =>
      numbers
        .map((n) => n)
        .process({
          emits: type<unknown>(),
          state: { seen: operatorListState<unknown>() },
          onElement(n, context) {
            const { state } = context;
            state.seen.add(of(n));
            context.emit(n);
          },
        })
        .uid('adding');
  const restorePath = await savepointOf(adding((n) => n));
  await assert.rejects(run(jobOf(adding(String), ALL, []), { restorePath }), {
    code: 'STATE_INCOMPATIBLE',
    message: /state "seen" of adding: its values are number .* written as string/,
  });
});

test('a migration of operator state that throws is found before the start', async () => {
  const seen = (evolution: object): Version => {
    return (numbers) =>
      numbers
        .map((n) => n)
        .process({
          emits: type<unknown>(),
          state: { seen: operatorListState<unknown>(evolution) },
          onElement(n, context) {
            const { state } = context;
            state.seen.add(n);
            context.emit(n);
          },
        })
        .uid('seen');
  };
  const restorePath = await savepointOf(seen({}));
  const cannot = (): never => {
    throw new Error('cannot');
  };
  const into: unknown[] = [];
  const next = jobOf(seen({ version: 2, migrate: { 1: cannot } }), ALL, into);
  await assert.rejects(run(next, { restorePath }), {
    code: 'STATE_INCOMPATIBLE',
    message: /the migration of state "seen" of "seen" .* from version 1 threw: cannot; mend/,
  });
  assert.deepEqual(into, [], 'nothing was started');
});
