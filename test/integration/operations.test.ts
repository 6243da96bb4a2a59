/** Every operation and partitioner of the API, at 1 to 3 subtasks, against plain computation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  aggregatingState,
  broadcastState,
  job,
  listState,
  mapState,
  outputTag,
  reducingState,
  type,
  valueState,
} from '@weir/core';
import type { KeyValue, StreamExecutionEnvironment } from '@weir/core';
import { range, sorted } from './support/faults.ts';
import { pacedSource } from './support/paced-source.ts';
import { run } from './support/run.ts';

const PARALLELISMS = [1, 2, 3] as const;
const NUMBERS = range(0, 100);

/** The numbers, spread over as many splits as there may be subtasks. */
function numbers(env: StreamExecutionEnvironment) {
  const splits = range(0, 4).map((split) => NUMBERS.filter((n) => n % 4 === split));
  return env.fromSource(pacedSource({ splits }), { uid: 'numbers' });
}

/** Runs a job that collects, at each parallelism. */
function collects<T>(
  name: string,
  build: (env: StreamExecutionEnvironment, into: T[]) => void,
  check: (results: readonly T[], parallelism: number) => void,
): void {
  for (const parallelism of PARALLELISMS)
    test(`${name}, p=${parallelism}`, async () => {
      const into: T[] = [];
      const { outcome } = await run(
        job('operations', (env) => build(env, into)),
        { parallelism },
      );
      assert.equal(outcome.status, 'FINISHED');
      check(into, parallelism);
    });
}

function equals<T>(expected: readonly T[]): (results: readonly T[]) => void {
  return (results) => assert.deepEqual(sorted(results), sorted(expected));
}

collects<string>(
  'map, filter and flatMap handle every record once',
  (env, into) =>
    numbers(env)
      .map((n) => n * 2)
      .filter((n) => n % 3 === 0)
      .flatMap((n) => [`${n}a`, `${n}b`])
      .flatMap((text, emit: (result: string) => void) => emit(text.toUpperCase()))
      .collect(into),
  equals(
    NUMBERS.map((n) => n * 2)
      .filter((n) => n % 3 === 0)
      .flatMap((n) => [`${n}A`, `${n}B`]),
  ),
);

collects<number>(
  'functions may be objects, opened before the first record and closed after the last',
  (env, into) => {
    let isOpen = false;
    return numbers(env)
      .map({
        open: async () => {
          await Promise.resolve();
          isOpen = true;
        },
        map: (n: number) => (isOpen ? n : -1),
        close: () => {
          isOpen = false;
        },
      })
      .collect(into);
  },
  equals(NUMBERS),
);

const odd = outputTag<string>('odd');

collects<unknown>(
  'side outputs take what is sent to them, and nothing else does',
  (env, into) => {
    const even = numbers(env).process({
      emits: type<number>(),
      onElement(n, context) {
        if (n % 2 === 0) context.emit(n);
        else context.output(odd, `odd ${n}`);
      },
    });
    even.collect(into as number[]);
    even
      .sideOutput(odd)
      .rebalance()
      .collect(into as string[]);
  },
  equals<unknown>(NUMBERS.map((n) => (n % 2 === 0 ? n : `odd ${n}`))),
);

collects<string>(
  'a function on a stream without keys may emit at the end of its input',
  (env, into) =>
    numbers(env)
      .process({
        emits: type<string>(),
        onElement: () => undefined,
        onEndOfInput: (context) => context.emit('end'),
      })
      .collect(into),
  (results, parallelism) => assert.deepEqual(results, Array(parallelism).fill('end')),
);

collects<readonly [number, number]>(
  'reduce emits a running result of each key',
  (env, into) =>
    numbers(env)
      .map((n) => [n % 5, n] as readonly [number, number])
      .keyBy(([key]) => key)
      .reduce(([key, a], [, b]) => [key, a + b])
      .collect(into),
  (results) => {
    assert.equal(results.length, NUMBERS.length);
    for (const key of range(0, 5)) {
      const sums = results.filter((result) => result[0] === key).map((result) => result[1]);
      assert.equal(
        Math.max(...sums),
        NUMBERS.filter((n) => n % 5 === key).reduce((a, b) => a + b),
      );
    }
  },
);

collects<string>(
  'aggregate keeps an accumulator of each key',
  (env, into) =>
    numbers(env)
      .keyBy((n) => `k${n % 3}`)
      .aggregate({
        createAccumulator: () => ({ n: 0, sum: 0 }),
        add: (value: number, { n, sum }: { n: number; sum: number }) => ({
          n: n + 1,
          sum: sum + value,
        }),
        getResult: ({ n, sum }) => `${n}: ${sum}`,
      })
      .collect(into),
  (results) => {
    assert.equal(results.length, NUMBERS.length);
    for (const remainder of range(0, 3)) {
      const mine = NUMBERS.filter((n) => n % 3 === remainder);
      assert.ok(results.includes(`${mine.length}: ${mine.reduce((a, b) => a + b)}`));
    }
  },
);

interface KeyFacts {
  readonly count: number;
  readonly list: readonly number[];
  readonly map: Readonly<Record<string, number>>;
  readonly max: number | undefined;
  readonly mean: number | undefined;
}

collects<KeyFacts>(
  'every kind of keyed state belongs to its key',
  (env, into) =>
    numbers(env)
      .keyBy((n) => n % 10)
      .process({
        emits: type<KeyFacts>(),
        state: {
          count: valueState({ default: 0 }),
          list: listState<number>(),
          map: mapState<string, number>(),
          max: reducingState<number>((a, b) => Math.max(a, b)),
          mean: aggregatingState({
            createAccumulator: (): readonly [number, number] => [0, 0],
            add: (n: number, [count, sum]: readonly [number, number]) =>
              [count + 1, sum + n] as const,
            getResult: ([count, sum]) => sum / count,
          }),
        },
        onElement(n, context) {
          const { count, list, map, max, mean } = context.state;
          count.update(count.value + 1);
          list.add(n);
          map.put(n < 50 ? 'low' : 'high', n);
          max.add(n);
          mean.add(n);
          if (count.value < 10) return;
          context.emit({
            count: count.value,
            list: [...list.get()].toSorted((a, b) => a - b),
            map: Object.fromEntries(map.entries()),
            max: max.get(),
            mean: mean.get(),
          });
          for (const state of [count, list, map, max, mean]) state.clear();
          context.emit({ count: count.value, list: [], map: {}, max: max.get(), mean: mean.get() });
        },
      })
      .collect(into),
  (results) => {
    assert.equal(results.filter(({ count }) => count === 0).length, 10, 'cleared, all is as new');
    for (const result of results.filter(({ count }) => count === 10)) {
      const expected = range(0, 10).map((ten) => ten * 10 + (result.list[0] ?? -1));
      assert.deepEqual(result.list, expected);
      assert.equal(result.max, expected.at(-1));
      assert.equal(result.mean, 45 + (result.list[0] ?? -1));
      assert.ok((result.map['low'] ?? 99) < 50 && (result.map['high'] ?? 0) >= 50);
    }
    for (const result of results) assert.equal(result.max === undefined, result.count === 0);
  },
);

for (const key of [1n, 'text', true, ['a', 1], 1.5] as KeyValue[])
  collects<unknown>(
    `${JSON.stringify(key, (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : v))} may be a key`,
    (env, into) =>
      numbers(env)
        .keyBy(() => key)
        .process({
          emits: type<unknown>(),
          state: { n: valueState({ default: 0 }) },
          onElement(_, context) {
            context.state.n.update(context.state.n.value + 1);
            if (context.state.n.value === NUMBERS.length) context.emit(context.key);
          },
        })
        .collect(into),
    equals<unknown>([key]),
  );

collects<string>(
  'connected streams reach their own methods of one function',
  (env, into) =>
    numbers(env)
      .connect(env.fromCollection(['a', 'b', 'c']))
      .process({
        emits: type<string>(),
        onElement1: (n, context) => context.emit(`number ${n}`),
        onElement2: (text, context) => context.emit(`text ${text}`),
      })
      .collect(into),
  equals([...NUMBERS.map((n) => `number ${n}`), 'text a', 'text b', 'text c']),
);

collects<string>(
  'connected keyed streams share the state of a key',
  (env, into) =>
    numbers(env)
      .keyBy((n) => n % 4)
      .connect(env.fromCollection(NUMBERS.map((n) => ({ key: n % 4, n }))).keyBy(({ key }) => key))
      .process({
        emits: type<string>(),
        state: { first: valueState({ default: 0 }), second: valueState({ default: 0 }) },
        onElement1(_, context) {
          const { first, second } = context.state;
          first.update(first.value + 1);
          if (first.value + second.value === 50) context.emit(`${context.key} first`);
        },
        onElement2({ key }, context) {
          const { first, second } = context.state;
          second.update(second.value + 1);
          if (first.value + second.value === 50) context.emit(`${key} second`);
        },
      })
      .map((text) => text.charAt(0))
      .collect(into),
  equals(['0', '1', '2', '3']),
);

collects<string>(
  'a keyed function reads broadcast state and changes the state of its key',
  (env, into) => {
    const names = env.fromCollection(['x']).broadcast({ names: broadcastState<string, true>() });
    numbers(env)
      .keyBy((n) => n % 4)
      .connect(names)
      .process({
        emits: type<string>(),
        state: { n: valueState({ default: 0 }) },
        onElement(_, context) {
          const { n } = context.state;
          n.update(n.value + 1);
          if (n.value === 25)
            context.emit(`${context.key} ${[...context.broadcast.names.keys()].join()}`);
        },
        onBroadcastElement(name, context) {
          context.broadcast.names.put(name, true);
        },
      })
      .map((text) => text.charAt(0))
      .collect(into);
  },
  equals(['0', '1', '2', '3']),
);

collects<number>(
  'a union is all of its streams',
  (env, into) => {
    const first = numbers(env);
    first
      .union(
        first.map((n) => n + 1000),
        env.fromCollection([5000]),
      )
      .map((n) => n)
      .collect(into);
  },
  equals([...NUMBERS, ...NUMBERS.map((n) => n + 1000), 5000]),
);

collects<string>(
  'broadcast state is the same for every subtask',
  (env, into) => {
    const factors = env
      .fromCollection([3, 7])
      .broadcast({ factors: broadcastState<string, number>() });
    numbers(env)
      .connect(factors)
      .process({
        emits: type<string>(),
        onElement: () => undefined,
        onBroadcastElement(factor, context) {
          context.broadcast.factors.put(`by ${factor}`, factor);
          context.emit([...context.broadcast.factors.keys()].join());
        },
      })
      .collect(into);
  },
  (results, parallelism) =>
    assert.deepEqual(
      sorted(results),
      sorted(range(0, parallelism).flatMap(() => ['by 3', 'by 3,by 7'])),
    ),
);

for (const partitioner of ['rebalance', 'rescale', 'shuffle', 'forward', 'global'] as const)
  collects<number>(
    `${partitioner} loses and repeats nothing`,
    (env, into) =>
      numbers(env)
        [partitioner]()
        .map((n) => n + 1)
        .collect(into),
    equals(NUMBERS.map((n) => n + 1)),
  );

collects<readonly [number, number]>(
  'partitionCustom sends each record where the function says',
  (env, into) => {
    numbers(env)
      .partitionCustom(
        (n) => n,
        (key, parallelism) => key % parallelism,
      )
      .map(withSubtask())
      .collect(into);
  },
  (results, parallelism) =>
    assert.deepEqual(sorted(results), sorted(NUMBERS.map((n) => [n, n % parallelism] as const))),
);

collects<readonly [number, number]>(
  'global sends everything to the first subtask',
  (env, into) => {
    numbers(env).global().map(withSubtask()).collect(into);
  },
  (results) => assert.deepEqual(sorted(results), sorted(NUMBERS.map((n) => [n, 0] as const))),
);

collects<readonly [number, number]>(
  'rebalance gives every subtask its share',
  (env, into) => {
    numbers(env).rebalance().map(withSubtask()).collect(into);
  },
  (results, parallelism) => {
    for (const subtask of range(0, parallelism)) {
      const share = results.filter((result) => result[1] === subtask).length;
      const even = NUMBERS.length / parallelism;
      assert.ok(Math.abs(share - even) <= parallelism + 1, `subtask ${subtask} has ${share}`);
    }
  },
);

/** Adds the subtask to each number. */
function withSubtask() {
  let subtask = -1;
  return {
    open(context: { readonly subtask: number }) {
      subtask = context.subtask;
    },
    map: (n: number) => [n, subtask] as const,
  };
}
