import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boundedOutOfOrderness,
  fileSink,
  fileSource,
  job,
  ndjson,
  outputTag,
  type,
  valueState,
} from '@weir/core';
import type { DataStream, Job, RuntimeContext, SingleOutputStreamOperator } from '@weir/core';
import { simulate } from './simulate.ts';
import { SimulationError } from './simulation-error.ts';
import type { SimulateOptions } from './simulate-options.ts';

interface Order {
  readonly customer: string;
  readonly amount: number;
  readonly at: number;
}

interface Total {
  readonly customer: string;
  readonly total: number;
}

const ORDERS: readonly Order[] = Array.from({ length: 40 }, (_, index) => ({
  customer: 'abc'[index % 3] ?? '',
  amount: index,
  at: index * 1000,
}));

const INPUT = { orders: ORDERS };

/** A job that reads orders from a file and writes what `build` makes of them in two phases. */
function orderJob<R>(build: (orders: SingleOutputStreamOperator<Order>) => DataStream<R>): Job {
  return job('orders', (env) => {
    const orders = env.fromSource(fileSource({ path: 'in', format: ndjson<Order>() }), {
      uid: 'orders',
      watermarks: boundedOutOfOrderness('2s', (order) => order.at),
    });
    build(orders)
      .sinkTo(fileSink({ path: 'out', format: ndjson<R>() }))
      .uid('out');
  });
}

const totals = orderJob((orders) =>
  orders
    .keyBy((order) => order.customer)
    .process({
      emits: type<Total>(),
      state: { total: valueState({ default: 0 }) },
      onElement(order, ctx) {
        const total = ctx.state.total.value + order.amount;
        ctx.state.total.update(total);
        ctx.emit({ customer: ctx.key, total });
      },
    })
    .uid('totals'),
);

/** Keeps its totals in a variable. */
const closureTotals = orderJob((orders) => {
  const known = new Map<string, number>();
  return orders
    .keyBy((order) => order.customer)
    .process({
      emits: type<Total>(),
      onElement(order, ctx) {
        const total = (known.get(order.customer) ?? 0) + order.amount;
        known.set(order.customer, total);
        ctx.emit({ customer: order.customer, total });
      },
    })
    .uid('totals');
});

async function failureOf(subject: Job, options: SimulateOptions): Promise<SimulationError> {
  const error: unknown = await simulate(subject, options).catch((reason: unknown) => reason);
  assert.ok(error instanceof SimulationError, `simulate found nothing: ${String(error)}`);
  return error;
}

test('a job whose state is declared gives the same under every schedule', async () => {
  const seen: number[] = [];
  const result = await simulate(totals, {
    input: INPUT,
    seeds: 25,
    onProgress: ({ done }) => seen.push(done),
  });
  assert.equal(result.schedules, 25);
  assert.ok(result.kills > 10 && result.restores > 10, JSON.stringify(result));
  assert.equal(result.outputs['out']?.length, ORDERS.length);
  const [sink] = result.sinks;
  assert.deepEqual(sink, {
    sink: 'out',
    write: 'two-phase-commit',
    comparison: 'exact',
    repeated: 0,
  });
  assert.deepEqual(result.notes, []);
  assert.deepEqual(
    seen,
    Array.from({ length: 25 }, (_, index) => index + 1),
  );
});

test('state in a variable is found, with the shortest schedule that shows it', async () => {
  const { message, failure } = await failureOf(closureTotals, { input: INPUT });
  assert.equal(failure.finding, 'wrong-result');
  assert.match(message, /^job "orders", seed \d+: other results than without failure/);
  assert.match(message, /sink "out" \(each record exactly once\): \d+ changed/);
  assert.match(message, /changed +\{ customer: "[abc]", total: \d+ \}\n +came as/);
  assert.match(message, /killed the process \(\d+ of 40 records read\)/);
  assert.match(message, /started again with parallelism \d, from checkpoint \d+/);
  assert.match(message, /Likely cause:\n  - state in a variable of the function given to job\(\)/);
  assert.ok(message.split('\n').every((line) => line.length <= 100));
  assert.match(message, /Again: simulate\(job, \{ seed: \d+, … \}\)/);
  // What was drawn besides is left out.
  assert.ok(!failure.story.some((line) => /disk|clock|thread|sinks/.test(line)), message);
});

test('the stack of a failure begins where the simulation was asked for', async () => {
  const { stack = '' } = await failureOf(closureTotals, { input: INPUT });
  assert.match(stack, /^SimulationError: job "orders"/);
  assert.match(stack, /\n +at failureOf \(.*simulate\.test\.ts:\d+:\d+\)/);
});

test('a failing seed fails again, with the same message', async () => {
  const first = await failureOf(closureTotals, { input: INPUT });
  const seed = first.failure.seed ?? 0;
  const again = await failureOf(closureTotals, { input: INPUT, seed });
  assert.equal(again.message, first.message);
});

test('the wall clock in a map is found, and the line that asked for it', async () => {
  const clocked = orderJob((orders) =>
    orders.map((order) => ({ ...order, day: Math.floor(Date.now() / 86_400_000) })),
  );
  const { message, failure } = await failureOf(clocked, { input: INPUT });
  assert.equal(failure.finding, 'not-deterministic');
  assert.match(message, /the job called Date\.now\(\) at simulate\.test\.ts:\d+: /);
  assert.match(failure.causes[0] ?? '', /use the time of the record \(ctx\.timestamp\)/);
});

for (const [what, ask] of [
  ['new Date()', () => new Date().toISOString()],
  ['Math.random()', () => Math.random()],
  ['crypto.randomUUID()', () => crypto.randomUUID()],
] as const)
  test(`${what} in a map is found`, async () => {
    const random = orderJob((orders) => orders.map((order) => ({ ...order, asked: ask() })));
    const { failure } = await failureOf(random, { input: INPUT });
    assert.equal(failure.finding, 'not-deterministic');
    assert.ok(failure.causes[0]?.includes(`the job called ${what}`), failure.causes.join());
  });

test('time that does not reach the results is no failure', async () => {
  const logged: number[] = [];
  const result = await simulate(
    orderJob((orders) =>
      orders.map((order) => {
        logged.push(Date.now());
        return order;
      }),
    ),
    { input: INPUT, seeds: 3 },
  );
  assert.equal(result.schedules, 3);
  assert.ok(logged.length >= 3 * ORDERS.length);
});

test('a variable at the top of the module is found by two runs in one process', async () => {
  let count = 0;
  const numbered = orderJob((orders) => orders.map((order) => ({ ...order, number: count++ })));
  const { failure } = await failureOf(numbered, { input: INPUT });
  assert.equal(failure.finding, 'not-deterministic');
  assert.match(failure.causes[0] ?? '', /a variable outside of the function given to job/);
});

test('a failing schedule that goes otherwise the second time is told apart', async () => {
  // Shows after a restart alone.
  let serial = 0;
  const moody = job('moody', (env) => {
    let isRestarted = false;
    env
      .fromCollection(ORDERS, { uid: 'orders' })
      .map({
        open({ attemptNumber }: RuntimeContext) {
          isRestarted = attemptNumber > 0;
        },
        map: (order: Order) => ({ ...order, serial: isRestarted ? ++serial : 0 }),
      })
      .uid('moods')
      .sinkTo(fileSink({ path: 'out', format: ndjson<object>() }))
      .uid('out');
  });
  const { failure } = await failureOf(moody, { parallelism: 1, faults: ['thread'] });
  assert.equal(failure.finding, 'not-deterministic');
  assert.ok(failure.story.length > 0 && failure.seed !== null);
  assert.match(failure.causes.join(), /randomness or time that the simulation cannot hold/);
});

test('a result that another parallelism changes is found without any failure', async () => {
  const numbered = orderJob((orders) => {
    let count = 0;
    return orders.rebalance().map((order) => ({ ...order, number: count++ }));
  });
  const { failure } = await failureOf(numbered, { input: INPUT });
  assert.equal(failure.finding, 'depends-on-parallelism');
  assert.match(failure.causes[0] ?? '', /counts for one subtask alone/);
});

test('a result that depends on when watermarks come is found without any failure', async () => {
  const timed = orderJob((orders) =>
    orders
      .keyBy((order) => order.customer)
      .process({
        emits: type<number>(),
        onElement: (_order, ctx) => ctx.emit(ctx.currentWatermark),
      }),
  );
  const { failure, message } = await failureOf(timed, { input: INPUT, parallelism: 1 });
  assert.equal(failure.finding, 'depends-on-order');
  assert.match(message, /come in another order, without any failure/);
  assert.match(failure.causes[0] ?? '', /watermarks, which fire timers, come at any moment/);
});

test('a sink that writes at once may repeat records, which is said and not reported', async () => {
  const printed = job('printed', (env) => {
    env.fromCollection(ORDERS, { uid: 'orders' }).print().uid('console');
  });
  const result = await simulate(printed, { seeds: 15 });
  assert.equal(result.sinks[0]?.comparison, 'repeatable');
  assert.ok((result.sinks[0]?.repeated ?? 0) > 0);
  assert.match(result.notes[0] ?? '', /sink "console" \(plain\) may repeat records/);
});

test('a record that a plain sink lacks is reported', async () => {
  const droppedAfterRestart = job('dropped', (env) => {
    let count = 0;
    env
      .fromCollection(ORDERS, { uid: 'orders' })
      // The first three of every attempt are swallowed: only those of the first should be.
      .filter(() => count++ >= 3)
      .print()
      .uid('console');
  });
  const { failure } = await failureOf(droppedAfterRestart, { parallelism: 1 });
  assert.equal(failure.finding, 'wrong-result');
  assert.equal(failure.differences[0]?.comparison, 'repeatable');
  assert.ok((failure.differences[0]?.missing.length ?? 0) > 0);
});

test('a result that is not what was expected is found before any failure', async () => {
  const { message, failure } = await failureOf(totals, {
    input: { orders: ORDERS.slice(0, 2) },
    expect: { out: [{ customer: 'a', total: 0 }] },
  });
  assert.equal(failure.finding, 'unexpected-result');
  assert.match(message, /not expected +\{ customer: "b", total: 1 \}/);
});

test('two sources, event-time timers and side outputs give the same every time', async () => {
  const late = outputTag<Order>('late');
  const joined = job('joined', (env) => {
    const options = { watermarks: boundedOutOfOrderness<Order>('2s', (order) => order.at) };
    const source = fileSource({ path: 'in', format: ndjson<Order>() });
    const both = env
      .fromSource(source, { uid: 'left', ...options })
      .union(env.fromSource(source, { uid: 'right', ...options }))
      .keyBy((order) => order.customer)
      .process({
        emits: type<Total>(),
        state: { total: valueState({ default: 0 }) },
        onElement(order, ctx) {
          ctx.state.total.update(ctx.state.total.value + order.amount);
          ctx.timerService.registerEventTimeTimer(100_000);
          if (order.amount % 7 === 0) ctx.output(late, order);
        },
        onTimer(_timestamp, ctx) {
          ctx.emit({ customer: ctx.key, total: ctx.state.total.value });
        },
      })
      .uid('sums');
    both.sinkTo(fileSink({ path: 'out', format: ndjson<Total>() })).uid('out');
    both
      .sideOutput(late)
      .sinkTo(fileSink({ path: 'late', format: ndjson<Order>() }))
      .uid('late-out');
  });
  const input = {
    left: { splits: [ORDERS.slice(0, 10), ORDERS.slice(10, 20)] },
    right: ORDERS.slice(20),
  };
  const result = await simulate(joined, { input, seeds: 20 });
  assert.equal(result.outputs['out']?.length, 3);
  assert.equal(result.outputs['late-out']?.length, 6);
});

test('a view compares only what counts', async () => {
  const both = orderJob((orders) =>
    orders
      .rebalance()
      .map((order) => order)
      .keyBy((order) => order.customer)
      .process({
        emits: type<Total>(),
        state: { total: valueState({ default: 0 }) },
        onElement(order, ctx) {
          ctx.state.total.update(ctx.state.total.value + order.amount);
          ctx.emit({ customer: ctx.key, total: ctx.state.total.value });
        },
      }),
  );
  const largest = (records: readonly Total[]): readonly Total[] => [
    ...new Map(
      records.toSorted((a, b) => a.total - b.total).map((record) => [record.customer, record]),
    ).values(),
  ];
  const result = await simulate(both, { input: INPUT, seeds: 8, view: { out: largest } });
  assert.equal(result.schedules, 8);
});

test('a job that fails says so, with what it threw', async () => {
  const failing = orderJob((orders) =>
    orders.map((order) => {
      if (order.amount === 17) throw new Error('seventeen');
      return order;
    }),
  );
  const { message, failure } = await failureOf(failing, { input: INPUT });
  assert.equal(failure.finding, 'job-failed');
  assert.match(message, /seventeen/);
});

test('input and expectations must fit the job', async () => {
  await assert.rejects(
    simulate(totals),
    /there is no input for Source: files .*input: \{ "orders"/,
  );
  await assert.rejects(
    simulate(totals, { input: { ...INPUT, order: [] } }),
    /no such source; it has "orders"/,
  );
  await assert.rejects(simulate(totals, { input: INPUT, expect: { outt: [] } }), /it has "out"/);
});

test('the globals are as they were, also when runs are asked for side by side', async () => {
  const globals = (): readonly unknown[] => [
    Date,
    Reflect.get(Math, 'random'),
    Reflect.get(performance, 'now'),
    Reflect.get(crypto, 'randomUUID'),
  ];
  const before = globals();
  const both = await Promise.all([
    simulate(totals, { input: INPUT, seeds: 2 }),
    simulate(totals, { input: INPUT, seeds: 2 }),
  ]);
  assert.deepEqual(both[0].outputs, both[1].outputs);
  for (const [index, value] of globals().entries()) assert.equal(value, before[index]);
  assert.ok(Math.abs(Date.now() - new Date().getTime()) < 1000);
});

test('a simulation can be ended', async () => {
  const controller = new AbortController();
  const ended = simulate(totals, {
    input: INPUT,
    signal: controller.signal,
    onProgress: () => controller.abort(new Error('enough')),
  });
  await assert.rejects(ended, /enough/);
});
