import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  broadcastState,
  job,
  listState,
  operatorListState,
  outputTag,
  type,
  valueState,
} from '@weir/core';
import type { DataStream } from '@weir/core';
import { OperatorHarness } from './operator-harness.ts';
import type { HarnessOptions } from './operator-harness.ts';

interface Reading {
  readonly sensor: string;
  readonly value: number;
}

const tooHigh = outputTag<Reading>('too-high');

/** Sums up by sensor, tells the sum of each when its minute is over, and asks after a silence. */
function sums(options: HarnessOptions = {}): OperatorHarness<Reading, string> {
  return OperatorHarness.oneInput(
    (readings: DataStream<Reading>) =>
      readings
        .keyBy((reading) => reading.sensor)
        .process({
          emits: type<string>(),
          state: { sum: valueState({ default: 0 }) },
          onElement(reading, ctx) {
            ctx.state.sum.update(ctx.state.sum.value + reading.value);
            if (reading.value > 100) ctx.output(tooHigh, reading);
            ctx.timerService.registerEventTimeTimer(60_000);
            ctx.timerService.registerProcessingTimeTimer(5000);
          },
          onTimer(_timestamp, ctx) {
            ctx.emit(`${ctx.key} ${ctx.timeDomain} ${ctx.state.sum.value}`);
          },
        })
        .uid('sums'),
    options,
  );
}

async function feed(harness: OperatorHarness<Reading, string>): Promise<void> {
  await harness.processElement({ sensor: 'a', value: 1 }, 1000);
  await harness.processElement({ sensor: 'b', value: 200 }, 2000);
  await harness.processElement({ sensor: 'a', value: 3 }, 3000);
  await harness.processWatermark(59_999);
  await harness.setProcessingTime(4999);
  assert.deepEqual(harness.extractOutputValues(), []);
  await harness.setProcessingTime(5000);
  await harness.processWatermark(60_000);
}

const SUMS = ['a event 4', 'a processing 4', 'b event 200', 'b processing 200'];

test('a function without state is driven record by record, with its timestamps', async () => {
  const harness = OperatorHarness.oneInput((numbers: DataStream<number>) =>
    numbers.map((n) => n * 2),
  );
  await harness.processElement(1, 10);
  await harness.processElement(2);
  assert.deepEqual(harness.getOutput(), [
    { value: 2, timestamp: 10 },
    { value: 4, timestamp: Number.NaN },
  ]);
});

test('timers of both kinds fire when it is time, with the state of their key', async () => {
  const harness = sums();
  await feed(harness);
  assert.deepEqual(harness.extractOutputValues().toSorted(), SUMS);
  assert.deepEqual(harness.getWatermarks(), [59_999, 60_000]);
  assert.deepEqual(harness.getSideOutput(tooHigh), [{ sensor: 'b', value: 200 }]);
});

test('timers and keys with state are counted', async () => {
  const harness = sums({ parallelism: 3 });
  await harness.processElement({ sensor: 'a', value: 1 });
  await harness.processElement({ sensor: 'b', value: 1 });
  assert.equal(harness.numEventTimeTimers(), 2);
  assert.equal(harness.numProcessingTimeTimers(), 2);
  assert.equal(harness.numKeyedStateEntries(), 2);
  await harness.setProcessingTime(5000);
  assert.equal(harness.numProcessingTimeTimers(), 0);
});

test('a snapshot is restored into another harness of another parallelism', async () => {
  const first = sums();
  for (const sensor of ['a', 'b', 'c', 'd', 'e'])
    await first.processElement({ sensor, value: 1 }, 1000);
  const snapshot = await first.snapshot();
  assert.equal(snapshot.keyCount, 5);
  assert.ok(snapshot.sizeBytes > 0);
  // What comes after the snapshot is not in it.
  await first.processElement({ sensor: 'a', value: 1000 }, 1000);
  const second = sums({ parallelism: 4 });
  await second.restore(snapshot);
  await second.processElement({ sensor: 'a', value: 1 }, 1000);
  await second.processWatermark(60_000);
  assert.deepEqual(second.extractOutputValues().toSorted(), [
    'a event 2',
    'b event 1',
    'c event 1',
    'd event 1',
    'e event 1',
  ]);
});

for (const options of [
  { crashAfterEvery: 1 },
  { crashAfterEvery: 2 },
  { crashAfterEvery: 1, parallelism: 2, crashParallelisms: [3, 1, 4] },
])
  test(`an operator is no other when it crashes: ${JSON.stringify(options)}`, async () => {
    const harness = sums(options);
    await feed(harness);
    assert.deepEqual(harness.extractOutputValues().toSorted(), SUMS);
    assert.deepEqual(harness.getSideOutput(tooHigh), [{ sensor: 'b', value: 200 }]);
    assert.deepEqual(harness.getWatermarks(), [59_999, 60_000]);
  });

test('state in a variable does not outlive a crash', async () => {
  const counting = (options: HarnessOptions): OperatorHarness<number, number> =>
    OperatorHarness.oneInput((numbers: DataStream<number>) => {
      let count = 0;
      return numbers.map(() => ++count);
    }, options);
  for (const [options, expected] of [
    [{}, [1, 2, 3]],
    [{ crashAfterEvery: 1 }, [1, 1, 1]],
  ] as const) {
    const harness = counting(options);
    for (const n of [7, 8, 9]) await harness.processElement(n);
    assert.deepEqual(harness.extractOutputValues(), expected);
  }
});

test('event time goes on from where it was after a crash', async () => {
  const harness = OperatorHarness.oneInput(
    (numbers: DataStream<number>) =>
      numbers
        .keyBy((n) => n)
        .process({
          emits: type<number>(),
          onElement: (_n, ctx) => ctx.emit(ctx.currentWatermark),
        }),
    { crashAfterEvery: 1 },
  );
  await harness.processWatermark(500);
  await harness.processElement(1);
  assert.deepEqual(harness.extractOutputValues(), [500]);
});

test('an operator of two inputs has the event time of the slower', async () => {
  const harness = OperatorHarness.twoInput(
    (left: DataStream<string>, right: DataStream<string>) =>
      left
        .keyBy((text) => text)
        .connect(right.keyBy((text) => text))
        .process({
          emits: type<string>(),
          state: { seen: listState<string>() },
          onElement1(text, ctx) {
            ctx.state.seen.add('left');
            ctx.timerService.registerEventTimeTimer(10);
            ctx.emit(`${text} ${[...ctx.state.seen.get()].join('+')}`);
          },
          onElement2(text, ctx) {
            ctx.state.seen.add('right');
            ctx.emit(`${text} ${[...ctx.state.seen.get()].join('+')}`);
          },
          onTimer: (_timestamp, ctx) => ctx.emit(`${ctx.key} fired`),
        }),
    { crashAfterEvery: 1, crashParallelisms: [2, 1] },
  );
  await harness.processElement1('x');
  await harness.processElement2('x');
  await harness.processElement2('y');
  await harness.processWatermark1(50);
  assert.deepEqual(harness.getWatermarks(), []);
  await harness.processWatermark2(9);
  await harness.processWatermark2(10);
  assert.deepEqual(harness.extractOutputValues(), ['x left', 'x left+right', 'y right', 'x fired']);
  assert.deepEqual(harness.getWatermarks(), [9, 10]);
});

test('a record of a broadcast reaches every subtask, also those added by a restore', async () => {
  const rules = broadcastState<string, number>();
  const harness = OperatorHarness.twoInput(
    (numbers: DataStream<number>, limits: DataStream<number>) =>
      numbers.connect(limits.broadcast({ rules })).process({
        emits: type<string>(),
        onElement: (n, ctx) => ctx.emit(`${n} of ${ctx.broadcast.rules.get('limit')}`),
        onBroadcastElement: (limit, ctx) => ctx.broadcast.rules.put('limit', limit),
      }),
    { parallelism: 2 },
  );
  await harness.processElement2(10);
  for (const n of [1, 2]) await harness.processElement1(n);
  await harness.restore(await harness.snapshot(), { parallelism: 3 });
  for (const n of [3, 4, 5]) await harness.processElement1(n);
  assert.deepEqual(
    harness.extractOutputValues(),
    [1, 2, 3, 4, 5].map((n) => `${n} of 10`),
  );
});

test('operator list state is dealt out anew at another parallelism', async () => {
  const harness = OperatorHarness.oneInput(
    (words: DataStream<string>) =>
      words.process({
        emits: type<string>(),
        state: { kept: operatorListState<string>() },
        onElement: (word, ctx) => ctx.state.kept.add(word),
        onEndOfInput: (ctx) => ctx.emit([...ctx.state.kept.get()].join(' ')),
      }),
    { parallelism: 1 },
  );
  for (const word of ['a', 'b', 'c', 'd']) await harness.processElement(word);
  await harness.restore(await harness.snapshot(), { parallelism: 2 });
  await harness.endInput();
  assert.deepEqual(harness.extractOutputValues(), ['a b', 'c d']);
});

test('an operator is taken out of a job by its uid', async () => {
  const lengths = job('lengths', (env) => {
    env
      .fromCollection(['x'])
      .filter((word) => word.length > env.args.integer('over'))
      .uid('long')
      .map((word) => word.length)
      .uid('lengths')
      .print();
  });
  const harness = OperatorHarness.ofJob<string, string>(lengths, 'long', { args: { over: 2 } });
  for (const word of ['to', 'three', 'four']) await harness.processElement(word);
  assert.deepEqual(harness.extractOutputValues(), ['three', 'four']);
  assert.throws(
    () => OperatorHarness.ofJob(lengths, 'longer', { args: { over: 2 } }),
    /has no operator "longer" between sources and sinks; it has "long", "lengths"/,
  );
});

test('what the function throws names the operator', async () => {
  const harness = OperatorHarness.oneInput((numbers: DataStream<number>) =>
    numbers
      .map((n) => {
        if (n > 1) throw new Error('too many');
        return n;
      })
      .uid('checked'),
  );
  await harness.processElement(1);
  await assert.rejects(harness.processElement(2), /map of operator "checked" .* threw: too many/);
});

test('functions are opened before the first record and closed with the harness', async () => {
  const calls: string[] = [];
  const harness = OperatorHarness.oneInput(
    (numbers: DataStream<number>) =>
      numbers.map({
        open: ({ subtask, attemptNumber }) => void calls.push(`open ${subtask} ${attemptNumber}`),
        map: (n: number) => n,
        close: () => void calls.push('close'),
      }),
    { parallelism: 2 },
  );
  await harness.processElement(1);
  await harness.restore(await harness.snapshot(), { parallelism: 1 });
  await harness.close();
  assert.deepEqual(calls, ['open 0 0', 'open 1 0', 'close', 'close', 'open 0 1', 'close']);
});

test('several operators, or none, are refused', () => {
  assert.throws(
    () => OperatorHarness.oneInput((n: DataStream<number>) => n.map((x) => x).filter(() => true)),
    /build exactly one operator, not 2 \("Map", "Filter"\); of a whole job take one with ofJob/,
  );
  assert.throws(() => OperatorHarness.oneInput((n: DataStream<number>) => n), /not 0/);
});
