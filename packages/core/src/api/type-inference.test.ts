/**
 * What the compiler infers for jobs, and what it refuses. Assignments to annotated constants are
 * the assertions: this file must compile. Refused calls stand in functions that never run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildStreamGraph } from './build-stream-graph.ts';
import type { KeyedContext, KeyedProcessFunction } from './functions.ts';
import { job } from './job.ts';
import type { Sink } from './sink.ts';
import type { Source } from './source.ts';
import type {
  AggregatingState,
  ListState,
  MapState,
  OperatorListState,
  ReducingState,
  ValueState,
} from './state.ts';
import {
  aggregatingState,
  broadcastState,
  listState,
  mapState,
  operatorListState,
  reducingState,
  valueState,
} from './state-descriptors.ts';
import type { StreamExecutionEnvironment } from './stream-execution-environment.ts';
import type { DataStream } from './streams/data-stream.ts';
import type { KeyedStream } from './streams/keyed-stream.ts';
import { outputTag, type } from './type-markers.ts';
import { boundedOutOfOrderness, noWatermarks } from './watermarks.ts';

interface Order {
  readonly customer: string;
  readonly amount: number;
  readonly status: 'open' | 'paid';
  readonly placedAt: number;
}
interface Total {
  readonly customer: string;
  readonly total: number;
}
const ORDERS: readonly Order[] = [{ customer: 'a', amount: 1, status: 'open', placedAt: 0 }];

interface Format<T> {
  encode(value: T): string;
}
declare function ndjson<T>(): Format<T>;
declare function fileSource<T>(options: { format: Format<T>; path: string }): Source<T>;
declare function fileSink<T>(options: { format: Format<T>; path: string }): Sink<T>;

function compiles(build: (env: StreamExecutionEnvironment) => void): void {
  assert.ok(buildStreamGraph(job('types', build)).graph.nodes.length > 0);
}

/** Compiled, never called. */
function neverRun(_body: (env: StreamExecutionEnvironment) => void): void {
  return undefined;
}

test('the job of the README compiles as it stands', () => {
  neverRun((env) => {
    env.enableCheckpointing('10s');
    env
      .fromSource(fileSource({ path: env.args.string('input'), format: ndjson<Order>() }), {
        uid: 'orders',
        watermarks: boundedOutOfOrderness('5s', (o) => o.placedAt),
      })
      .keyBy((o) => o.customer)
      .process({
        state: { total: valueState({ default: 0 }) },
        onElement(order, ctx) {
          const total = ctx.state.total.value + order.amount;
          ctx.state.total.update(total);
          ctx.emit({ customer: ctx.key, total });
        },
      })
      .uid('totals')
      .sinkTo(fileSink({ path: env.args.string('output'), format: ndjson() }))
      .uid('totals-out');
  });
});

test('a keyed function knows its record, its key, its states and what it emits', () => {
  compiles((env) => {
    const keyed = env.fromCollection(ORDERS).keyBy((order) => order.customer);
    const totals = keyed.process({
      emits: type<Total>(),
      state: {
        total: valueState({ default: 0 }),
        last: valueState<Order | null>({ default: null }),
        maybe: valueState<Date>(),
        parts: valueState({ default: () => ['x'] }),
        seen: listState<Order>(),
        byDay: mapState<string, bigint>(),
        sum: reducingState<number>((a, b) => a + b),
        average: aggregatingState({
          createAccumulator: () => ({ sum: 0, count: 0 }),
          add: (order: Order, a) => ({ sum: a.sum + order.amount, count: a.count + 1 }),
          getResult: (a) => `${a.sum / a.count}`,
        }),
        buffer: operatorListState<Order>(),
      },
      onElement(order, ctx) {
        const amount: number = order.amount;
        const key: string = ctx.key;
        const total: ValueState<number> = ctx.state.total;
        const last: ValueState<Order | null> = ctx.state.last;
        const maybe: ValueState<Date | undefined> = ctx.state.maybe;
        const parts: ValueState<string[]> = ctx.state.parts;
        const seen: ListState<Order> = ctx.state.seen;
        const byDay: MapState<string, bigint> = ctx.state.byDay;
        const sum: ReducingState<number> = ctx.state.sum;
        const average: AggregatingState<Order, string> = ctx.state.average;
        const buffer: OperatorListState<Order> = ctx.state.buffer;
        ctx.emit({ customer: key, total: total.value + amount });
        // @ts-expect-error a value state of numbers takes no text
        total.update('1');
        // @ts-expect-error values are read-only
        seen.get().push(order);
        // @ts-expect-error values are read-only
        ctx.state.parts.value.push('x');
        ctx.state.parts.update([...ctx.state.parts.value, 'x']);
        // @ts-expect-error no such state
        void ctx.state.other;
        // @ts-expect-error not a Total
        ctx.emit({ customer: 1 });
        return void [last, maybe, parts, byDay, sum, average, buffer];
      },
      onTimer(timestamp, ctx) {
        const at: number = timestamp;
        const domain: 'event' | 'processing' = ctx.timeDomain;
        ctx.timerService.registerEventTimeTimer(at + ctx.state.total.value + domain.length);
      },
    });
    const stream: DataStream<Total> = totals;
    stream.map((total) => total.total.toFixed(2)).collect([] as string[]);
  });
});

test('without a type for what it emits, a function emits anything and gives unknown', () => {
  compiles((env) => {
    const keyed = env.fromCollection(ORDERS).keyBy((order) => order.customer);
    const results = keyed.process({ onElement: (order, ctx) => ctx.emit(order.amount) });
    const unknowns: DataStream<unknown> = results;
    // @ts-expect-error nothing is known of the result
    unknowns.map((result) => result.amount);
    const numbers: DataStream<number> = keyed.process<number>({
      onElement: (order, ctx) => ctx.emit(order.amount),
    });
    return void numbers;
  });
});

test('a class instance gives the types of its methods', () => {
  class Totals {
    readonly state = { total: valueState({ default: 0 }) };
    onElement(order: Order, ctx: KeyedContext<string, Total, Totals['state']>): void {
      ctx.emit({ customer: ctx.key, total: ctx.state.total.value + order.amount });
    }
  }
  class Amounts implements KeyedProcessFunction<string, Order, number> {
    onElement(order: Order, ctx: KeyedContext<string, number, {}>): void {
      ctx.emit(order.amount);
    }
  }
  compiles((env) => {
    const keyed = env.fromCollection(ORDERS).keyBy((order) => order.customer);
    const totals: DataStream<Total> = keyed.process(new Totals());
    const amounts: DataStream<number> = keyed.process(new Amounts());
    return void [totals, amounts];
  });
});

test('keys keep their literal types and tuples', () => {
  compiles((env) => {
    const orders = env.fromCollection(ORDERS);
    const byCustomer: KeyedStream<string, Order> = orders.keyBy((order) => order.customer);
    const byBoth: KeyedStream<readonly [string, number], Order> = orders.keyBy((order) => [
      order.customer,
      order.amount,
    ]);
    const byParity: KeyedStream<'even' | 'odd', Order> = orders.keyBy((order) =>
      order.amount % 2 === 0 ? 'even' : 'odd',
    );
    neverRun(() => {
      // @ts-expect-error an object is no key
      orders.keyBy((order) => ({ order }));
      // @ts-expect-error nor is undefined
      orders.keyBy(() => undefined);
      // @ts-expect-error keys of another type
      byCustomer.connect(byBoth);
    });
    return void byParity;
  });
});

test('transformations infer their results', () => {
  compiles((env) => {
    const orders = env.fromCollection(ORDERS);
    const names: DataStream<string> = orders.map((order) => order.customer);
    const objects: DataStream<string> = orders.map({ map: (order) => order.customer });
    const words: DataStream<string> = orders.flatMap((order) => order.customer.split(' '));
    const generated: DataStream<number> = orders.flatMap(function* (order) {
      yield order.amount;
    });
    const emitted: DataStream<number> = orders.flatMap((order, emit: (n: number) => void) => {
      emit(order.amount);
    });
    const paid: DataStream<'paid'> = orders
      .map((order) => order.status)
      .filter((status) => status === 'paid');
    const either: DataStream<string | number> = names.union(generated);
    orders.partitionCustom(
      (order) => order.customer,
      (customer, parallelism) => customer.length % parallelism,
    );
    const three: DataStream<string | number | Order> = names.union(generated, orders);
    const reduced: DataStream<Order> = orders.keyBy((o) => o.customer).reduce((a, _b) => a);
    const counted: DataStream<number> = orders
      .keyBy((o) => o.customer)
      .aggregate({
        createAccumulator: () => 0,
        add: (order, count) => count + order.amount,
        getResult: (count) => count,
      });
    neverRun(() => {
      // @ts-expect-error a stream of texts is none of numbers
      const wrong: DataStream<number> = names;
      // @ts-expect-error the sink takes numbers
      names.sinkTo(fileSink({ path: '', format: ndjson<number>() }));
      // @ts-expect-error a partitioned stream is no operator, so it has no uid
      names.rebalance().uid('x');
      // @ts-expect-error keyed state needs keys
      names.process({ state: { n: valueState({ default: 0 }) }, onElement() {} });
      // @ts-expect-error an unknown unit
      env.enableCheckpointing('10 parsecs');
      return void wrong;
    });
    return void [objects, words, emitted, paid, either, three, reduced, counted];
  });
});

test('connected and broadcast streams know both sides', () => {
  compiles((env) => {
    const orders = env.fromCollection(ORDERS);
    const rules = env.fromCollection([{ customer: 'a', limit: 3n }]);
    const joined: DataStream<bigint> = orders.connect(rules).process({
      emits: type<bigint>(),
      onElement1: (order, ctx) => ctx.emit(BigInt(order.amount)),
      onElement2: (rule, ctx) => ctx.emit(rule.limit),
    });
    const keyed: DataStream<string> = orders
      .connect(rules)
      .keyBy(
        (order) => order.customer,
        (rule) => rule.customer,
      )
      .process({
        emits: type<string>(),
        state: { limit: valueState({ default: 0n }) },
        onElement1: (_order, ctx) => ctx.emit(`${ctx.key} ${ctx.state.limit.value}`),
        onElement2: (rule, ctx) => ctx.state.limit.update(rule.limit),
      });
    const broadcast = rules.broadcast({ limits: broadcastState<string, bigint>() });
    const checked: DataStream<Order> = orders
      .keyBy((order) => order.customer)
      .connect(broadcast)
      .process({
        emits: type<Order>(),
        state: { count: valueState({ default: 0 }) },
        onElement(order, ctx) {
          const limit: bigint | undefined = ctx.broadcast.limits.get(ctx.key);
          if (ctx.state.count.value < Number(limit)) ctx.emit(order);
          // @ts-expect-error only the broadcast side changes the state
          void ctx.broadcast.limits.put;
        },
        onBroadcastElement(rule, ctx) {
          ctx.broadcast.limits.put(rule.customer, rule.limit);
          // @ts-expect-error no key is current
          void ctx.state;
        },
      });
    const unkeyed: DataStream<Order> = orders.connect(broadcast).process({
      emits: type<Order>(),
      onElement: (order, ctx) => ctx.broadcast.limits.has(order.customer) && ctx.emit(order),
      onBroadcastElement: (rule, ctx) => ctx.broadcast.limits.put(rule.customer, rule.limit),
    });
    return void [joined, keyed, checked, unkeyed];
  });
});

test('a side output has the type of its tag', () => {
  compiles((env) => {
    const late = outputTag<Order>('late');
    const main = env.fromCollection(ORDERS).process({
      emits: type<number>(),
      onElement(order, ctx) {
        ctx.output(late, order);
        // @ts-expect-error the tag is for orders
        ctx.output(late, 1);
      },
    });
    const side: DataStream<Order> = main.sideOutput(late);
    return void side;
  });
});

test('state defaults and watermark strategies are checked', () => {
  neverRun((env) => {
    // @ts-expect-error an object would be shared by all keys
    valueState({ default: { count: 0 } });
    // @ts-expect-error so would an array
    valueState<number[]>({ default: [] });
    // @ts-expect-error an order has no such field
    env.fromCollection(ORDERS, { watermarks: boundedOutOfOrderness('1s', (o) => o.at) });
    env.fromCollection(ORDERS, { watermarks: noWatermarks() });
  });
});

test('arguments and options have the types of their readers', () => {
  neverRun((env) => {
    const rate: number = env.args.integer('rate', 5);
    const limit: number | null = env.args.integer('limit', null);
    const interval: number | null = env.configuration.get('execution.checkpointing.interval');
    const mode: 'EXACTLY_ONCE' | 'AT_LEAST_ONCE' = env.configuration.get(
      'execution.checkpointing.mode',
    );
    const workers: number = env.configuration.get('parallelism.default');
    env.configure({ 'execution.checkpointing.timeout': '2 min', 'heartbeat.timeout': 100 });
    // @ts-expect-error no such key
    env.configuration.get('execution.checkpointing.intervall');
    // @ts-expect-error not one of the values
    env.configure({ 'execution.checkpointing.mode': 'twice' });
    return void [rate, limit, interval, mode, workers];
  });
});
