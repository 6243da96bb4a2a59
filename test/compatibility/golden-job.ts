/**
 * The job whose savepoints are kept for ever: every kind of state, every kind of key and value. It
 * must never change what it declares, or the savepoints would no longer fit it.
 */
import {
  aggregatingState,
  job,
  listState,
  mapState,
  operatorListState,
  reducingState,
  type,
  unionListState,
  valueState,
} from '@weir/core';
import type { Job } from '@weir/core';
import { pacedSource } from '../integration/support/paced-source.ts';

export const KEYS = 8;

/** What a state may hold. */
export interface Everything {
  readonly n: number;
  readonly text: string;
  readonly big: bigint;
  readonly date: Date;
  readonly numbers: Float64Array;
  readonly nothing: undefined;
  readonly set: ReadonlySet<number>;
  readonly map: ReadonlyMap<string, { readonly deep: readonly unknown[] }>;
}

export function everything(n: number): Everything {
  return {
    n,
    text: `text ${n} ü 😀`,
    big: BigInt(n) * 2n ** 70n,
    date: new Date(n * 86_400_000),
    numbers: new Float64Array([n, -0, Number.NaN]),
    nothing: undefined,
    set: new Set([n]),
    map: new Map([[`k${n}`, { deep: [n, null, true] }]]),
  };
}

/** Results are what the states held before each number came. */
export function goldenJob(numbers: readonly number[], results: unknown[], unbounded: boolean): Job {
  return job('golden', (env) => {
    env
      .fromSource(pacedSource({ splits: [numbers], unbounded }), { uid: 'numbers' })
      .process({
        emits: type<number>(),
        state: { list: operatorListState<number>(), union: unionListState<string>() },
        onElement(n, context) {
          const { list, union } = context.state;
          results.push({ list: [...list.get()], union: [...union.get()] });
          list.add(n);
          union.add(`u${n}`);
          context.emit(n);
        },
      })
      .uid('operator-state')
      .keyBy((n) => [n % KEYS, `key ${n % KEYS}`, BigInt(n % KEYS)] as const)
      .process({
        emits: type<unknown>(),
        state: {
          value: valueState<Everything>(),
          list: listState<number>(),
          map: mapState<readonly [string, number], string>(),
          reducing: reducingState<number>((a, b) => a + b),
          aggregating: aggregatingState({
            createAccumulator: () => ({ sum: 0, count: 0 }),
            add: (n: number, { sum, count }) => ({ sum: sum + n, count: count + 1 }),
            getResult: ({ sum, count }) => sum / count,
          }),
        },
        onElement(n, context) {
          const { value, list, map, reducing, aggregating } = context.state;
          context.emit({
            key: context.key[0],
            value: value.value,
            list: [...list.get()],
            map: [...map.entries()],
            reducing: reducing.get(),
            aggregating: aggregating.get(),
          });
          value.update(everything(n));
          list.add(n);
          map.put(['m', n], `m${n}`);
          reducing.add(n);
          aggregating.add(n);
          context.timerService.registerEventTimeTimer(1_000_000 + n);
        },
        onTimer(timestamp, context) {
          context.emit({ key: context.key[0], timer: timestamp });
        },
      })
      .uid('keyed-state')
      .collect(results);
  });
}
