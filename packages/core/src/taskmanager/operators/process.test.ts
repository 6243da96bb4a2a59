import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  BroadcastDeclaration,
  KeyedBroadcastProcessFunction,
  KeyedContext,
  KeyValue,
  OnTimerContext,
} from '../../api/functions.ts';
import { broadcastState, valueState } from '../../api/state-descriptors.ts';
import { outputTag } from '../../api/type-markers.ts';
import { assert as engineAssert, AssertionError } from '../../base/assert.ts';
import { createOperator } from './create-operator.ts';
import { KeyedOperator } from './keyed-operator.ts';
import { operatorFixture } from './operator-fixture.ts';
import type { FixtureOptions, OperatorFixture } from './operator-fixture.ts';
import type { StreamOperator } from './stream-operator.ts';
import type { OperatorSpec, StreamNode } from '../../api/stream-graph.ts';

function made(
  spec: OperatorSpec,
  options: FixtureOptions = {},
): { operator: StreamOperator; fixture: OperatorFixture } {
  const keySelectors = spec.type.startsWith('keyed') ? [Number, Number] : undefined;
  const fixture = operatorFixture({ ...(keySelectors ? { keySelectors } : {}), ...options });
  return { operator: createOperator({ spec } as StreamNode, fixture.context), fixture };
}

/** Functions as the API hands them over: their types are checked there. */
function spec(type: OperatorSpec['type'], rest: Readonly<Record<string, unknown>>): OperatorSpec {
  return { type, ...rest } as unknown as OperatorSpec;
}

test('a process function sees the timestamp, the watermark and the time of its record', () => {
  const seen: unknown[] = [];
  const { operator, fixture } = made(
    spec('process', {
      fn: {
        onElement(value: number, context: Record<string, unknown>) {
          seen.push([value, context['timestamp'], context['currentWatermark']]);
          seen.push(context['currentProcessingTime'] === fixture.clock.wallTime());
        },
      },
    }),
  );
  operator.processElement(1, 10);
  operator.processWatermark(15);
  operator.processElement(2, Number.NaN);
  assert.deepEqual(seen, [[1, 10, -Infinity], true, [2, Number.NaN, 15], true]);
});

test('results carry the timestamp of their record, those at the end none', () => {
  const { operator, fixture } = made(
    spec('process', {
      fn: {
        onElement: (value: number, context: { emit(result: unknown): void }) => context.emit(value),
        onEndOfInput: (context: { emit(result: unknown): void }) => context.emit('end'),
      },
    }),
  );
  operator.processElement(1, 10);
  operator.endOfInput();
  assert.deepEqual(fixture.emitted, [
    ['record', 1, 10],
    ['record', 'end', Number.NaN],
  ]);
});

test('emit may be kept by the function: code for it is made once all the same', () => {
  let makes = 0;
  const results: unknown[] = [];
  let kept: ((result: unknown) => void) | null = null;
  const fn = {
    onElement(value: unknown, context: { emit(result: unknown): void }) {
      kept ??= context.emit.bind(context);
      kept(value);
    },
  };
  const { context } = operatorFixture();
  const emitter = (): ((result: unknown) => void) => {
    makes++;
    return (result) => void results.push(result);
  };
  const output = { ...context.output, emitter };
  const node = { spec: spec('process', { fn }) } as StreamNode;
  const operator = createOperator(node, { ...context, output });
  for (const value of [1, 2, 3]) operator.processElement(value, Number.NaN);
  assert.deepEqual(results, [1, 2, 3]);
  assert.equal(makes, 1);
});

type SideOutput = (tag: unknown, value: unknown) => void;

test('a tag that outputTag did not make is refused', () => {
  const { operator, fixture } = made(
    spec('process', {
      fn: {
        // Taken out of the context, as `emit` may be.
        onElement: (value: unknown, { output }: { output: SideOutput }) =>
          output(value === 1 ? outputTag('late') : 'late', 7),
      },
    }),
  );
  operator.processElement(1, 0);
  assert.deepEqual(fixture.sides.get('late'), [7]);
  assert.throws(
    () => operator.processElement(2, 0),
    /the tag is not one that outputTag\(name\) made/,
  );
});

test('timers fire in order of time, with their key, and see the new watermark', () => {
  const fired: unknown[] = [];
  const { operator, fixture } = made(
    spec('keyedProcess', {
      fn: {
        onElement: (n: number, context: KeyedContextLike) =>
          context.timerService.registerEventTimeTimer(n * 10),
        onTimer: (timestamp: number, context: KeyedContextLike) =>
          fired.push([timestamp, context.key, context.timeDomain, context.currentWatermark]),
      },
    }),
  );
  for (const n of [3, 1, 2]) operator.processElement(n, n);
  operator.processWatermark(25);
  assert.deepEqual(fired, [
    [10, 1, 'event', 25],
    [20, 2, 'event', 25],
  ]);
  assert.deepEqual(fixture.emitted.at(-1), ['watermark', 25]);
});

test('what a timer in processing time emits has no event time, as in Flink', () => {
  const seen: number[] = [];
  const { operator, fixture } = made(
    spec('keyedProcess', {
      fn: {
        onElement: (_: number, context: KeyedContext<KeyValue, string, {}>) => {
          context.timerService.registerEventTimeTimer(5);
          context.timerService.registerProcessingTimeTimer(context.currentProcessingTime);
          context.emit('element');
        },
        onTimer: (_: number, context: OnTimerContext<KeyValue, string, {}>) => {
          seen.push(context.timestamp);
          context.emit(context.timeDomain);
        },
      },
    }),
  );
  operator.processElement(1, 3);
  assert.ok(operator instanceof KeyedOperator);
  operator.fireProcessingTimers();
  operator.processWatermark(5);
  assert.deepEqual(seen, [fixture.clock.wallTime(), 5]);
  assert.deepEqual(fixture.emitted.slice(0, 3), [
    ['record', 'element', 3],
    ['record', 'processing', Number.NaN],
    ['record', 'event', 5],
  ]);
});

interface KeyedContextLike {
  readonly key: KeyValue;
  readonly timeDomain: string;
  readonly currentWatermark: number;
  readonly timerService: { registerEventTimeTimer(timestamp: number): void };
  readonly state: { readonly n: { value: number; update(n: number): void } };
}

test('a timer for the time NaN is refused, with what it means', () => {
  const { operator } = made(
    spec('keyedProcess', {
      fn: {
        onElement: (_: number, context: KeyedContextLike & { timestamp: number }) =>
          context.timerService.registerEventTimeTimer(context.timestamp),
      },
    }),
  );
  assert.throws(() => operator.processElement(1, Number.NaN), /assign timestamps at the source/);
});

test('both inputs of a keyed co-process function share the state of a key', () => {
  const seen: number[] = [];
  const count = (_: number, { state: { n } }: KeyedContextLike): void => {
    n.update(n.value + 1);
    seen.push(n.value);
  };
  const { operator } = made(
    spec('keyedCoProcess', {
      fn: { state: { n: valueState({ default: 0 }) }, onElement1: count, onElement2: count },
    }),
  );
  operator.processElement(1, 0);
  operator.processElement2(1, 0);
  operator.processElement2(2, 0);
  assert.deepEqual(seen, [1, 2, 1]);
});

test('the broadcast side of a keyed function has no key', () => {
  const fn: KeyedBroadcastProcessFunction<KeyValue, number, number, number, BroadcastDeclaration> =
    {
      onElement: () => undefined,
      onBroadcastElement(value, context) {
        const rules = context.broadcast['rules'] as unknown as Map<string, number> & {
          put(key: string, value: number): void;
        };
        rules.put('limit', value);
        void (context as unknown as KeyedContextLike).key;
      },
    };
  const broadcast = { rules: broadcastState<string, number>() };
  const { operator } = made(spec('keyedBroadcastProcess', { fn, broadcast }));
  operator.processElement(1, 0);
  assert.throws(() => operator.processElement2(5, 0), {
    code: 'USER_FUNCTION_FAILED',
    message: /key/,
  });
});

test('an operator with one input refuses elements of a second', () => {
  const { operator } = made(spec('map', { fn: { map: (n: number) => n } }));
  assert.throws(() => operator.processElement2(1, 0), /"tested" .* has no second input/);
});

test('a contradiction within the engine is not told as a fault of the function around it', () => {
  const { operator } = made(
    spec('flatMap', { fn: { flatMap: (n: number, emit: (n: number) => void) => emit(n) } }),
    {},
  );
  const failing = made(
    spec('flatMap', { fn: { flatMap: () => engineAssert(false, 'impossible') } }),
  );
  assert.throws(() => failing.operator.processElement(1, 0), AssertionError);
  operator.processElement(1, 0);
});

test('reduce and aggregate emit the running result, whatever the first value is', () => {
  const sums = made(spec('keyedReduce', { reduce: (a: number, b: number) => a + b }), {
    keySelectors: [() => 'all'],
  });
  for (const n of [0, 5, 7]) sums.operator.processElement(n, n);
  assert.deepEqual(
    sums.fixture.emitted.map(([, value]) => value),
    [0, 5, 12],
  );
  const aggregate = {
    createAccumulator: () => 0,
    // Null stands for more than can be shown, and is an accumulator like any other.
    add: (n: number, sum: number | null) => (sum === null || sum + n > 9 ? null : sum + n),
    getResult: (sum: number | null) => (sum === null ? 'many' : `sum ${sum}`),
  };
  const means = made(spec('keyedAggregate', { aggregate }), { keySelectors: [() => 'all'] });
  for (const n of [1, 2, 7, 1]) means.operator.processElement(n, n);
  assert.deepEqual(
    means.fixture.emitted.map(([, value]) => value),
    ['sum 1', 'sum 3', 'many', 'many'],
  );
});

test('an accumulator that is changed in place and emitted stays what it was', () => {
  const aggregate = {
    createAccumulator: () => ({ sum: 0 }),
    add(n: number, total: { sum: number }) {
      total.sum += n;
      return total;
    },
    getResult: (total: { sum: number }) => total,
  };
  const sums = made(spec('keyedAggregate', { aggregate }), { keySelectors: [() => 'all'] });
  for (const n of [1, 2, 3]) sums.operator.processElement(n, n);
  assert.deepEqual(
    sums.fixture.emitted.map(([, value]) => value),
    [{ sum: 1 }, { sum: 3 }, { sum: 6 }],
  );
});
