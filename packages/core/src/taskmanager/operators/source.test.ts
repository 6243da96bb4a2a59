import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PollResult, ReaderOutput, Source, SourceReader } from '../../api/source.ts';
import type { WatermarkStrategy } from '../../api/functions.ts';
import { monotonousTimestamps, noWatermarks } from '../../api/watermarks.ts';
import { operatorFixture } from './operator-fixture.ts';
import type { FixtureOptions, OperatorFixture } from './operator-fixture.ts';
import { SourceOperator, SPLITS_STATE } from './source.ts';

interface TestSource {
  readonly operator: SourceOperator;
  readonly fixture: OperatorFixture;
  readonly calls: string[];
  /** Handed over at the next poll: `[value, split]`. */
  readonly next: (readonly [number, string])[];
  onPoll: (output: ReaderOutput<unknown>) => PollResult;
}

/** The output the engine gives knows the end of a split, beside what the contract asks for. */
type EngineOutput = ReaderOutput<unknown> & { splitFinished(splitId: string): void };

function sourceOf(
  strategy: WatermarkStrategy<unknown> = noWatermarks(),
  options: FixtureOptions & { start?: () => Promise<void>; knowsIds?: boolean } = {},
): TestSource {
  const { start, knowsIds = false, ...rest } = options;
  const fixture = operatorFixture(rest);
  const calls: string[] = [];
  const next: (readonly [number, string])[] = [];
  const reader: SourceReader<unknown, unknown> = {
    async start() {
      calls.push('start');
      await start?.();
    },
    poll: (output) => result.onPoll(output),
    addSplits: (splits) => void calls.push(`splits ${splits.join(',')}`),
    notifyNoMoreSplits: () => void calls.push('no more'),
    snapshotState: (checkpointId) => [`position at ${checkpointId}`],
    notifyCheckpointComplete: (checkpointId) => void calls.push(`complete ${checkpointId}`),
    close: () => void calls.push('close'),
  };
  const source = {
    name: 'Test',
    createReader: () => reader,
    ...(knowsIds && { splitId: String }),
  } as unknown as Source<unknown>;
  const operator = new SourceOperator(fixture.context, source, strategy);
  const result: TestSource = {
    operator,
    fixture,
    calls,
    next,
    onPoll(output) {
      for (const [value, split] of next.splice(0)) output.collect(value, value, split);
      return 'nothing';
    },
  };
  return result;
}

test('restored splits come right after the start, those of the enumerator behind', async () => {
  const started = Promise.withResolvers<void>();
  const { operator, fixture, calls } = sourceOf(undefined, { start: () => started.promise });
  fixture.context.states.restore([{ name: SPLITS_STATE, mode: 'list', items: ['a', 'b'] }]);
  const open = operator.open();
  operator.handleReaderEvent({ type: 'addSplits', splits: ['c'] });
  operator.handleReaderEvent({ type: 'noMoreSplits' });
  started.resolve();
  await open;
  assert.deepEqual(calls, ['start', 'splits a,b', 'splits c', 'no more']);
});

test('a snapshot holds the unfinished splits as they are', () => {
  const { operator, fixture } = sourceOf();
  operator.prepareSnapshot(7);
  const stored: unknown[] = [];
  fixture.context.states.snapshot({ append: (bytes) => stored.push(bytes) as never });
  assert.equal(stored.length, 1);
});

test('the watermark is the minimum over the splits', () => {
  const { operator, fixture, next } = sourceOf(monotonousTimestamps(), {
    autoWatermarkIntervalMs: 0,
  });
  next.push([10, 'a'], [30, 'b']);
  operator.poll();
  next.push([20, 'a']);
  operator.poll();
  const watermarks = fixture.emitted.filter(([kind]) => kind === 'watermark');
  assert.deepEqual(watermarks, [
    ['watermark', 9],
    ['watermark', 19],
  ]);
});

test('a finished split no longer holds back event time', () => {
  const source = sourceOf(monotonousTimestamps(), { autoWatermarkIntervalMs: 0 });
  source.next.push([10, 'a'], [30, 'b']);
  source.operator.poll();
  source.onPoll = (output) => {
    (output as EngineOutput).splitFinished('a');
    return 'nothing';
  };
  source.operator.poll();
  assert.deepEqual(source.fixture.emitted.at(-1), ['watermark', 29]);
});

test('watermarks leave at their interval, not with every poll', () => {
  const { operator, fixture, next } = sourceOf(monotonousTimestamps());
  for (const value of [1, 2, 3]) {
    next.push([value, 'a']);
    operator.poll();
    fixture.clock.advance(150);
  }
  assert.deepEqual(fixture.emitted, [
    ['record', 1, 1],
    ['watermark', 0],
    ['record', 2, 2],
    ['record', 3, 3],
    ['watermark', 2],
  ]);
  assert.equal(operator.nextProbeAt, 500);
});

test('a reader without splits is idle after the time-out, until its first record', () => {
  const strategy = monotonousTimestamps(undefined, { idleness: 1000 });
  const { operator, fixture, next } = sourceOf(strategy);
  for (let i = 0; i < 7; i++) {
    operator.poll();
    fixture.clock.advance(200);
  }
  assert.deepEqual(fixture.emitted, [['idle', true]]);
  next.push([5, 'a']);
  operator.poll();
  assert.deepEqual(fixture.emitted.slice(1), [
    ['record', 5, 5],
    ['idle', false],
    ['watermark', 4],
  ]);
});

test('a split without a record holds back event time from its assignment on [R079]', async () => {
  const options = { autoWatermarkIntervalMs: 0, knowsIds: true };
  const { operator, fixture, next } = sourceOf(monotonousTimestamps(), options);
  fixture.context.states.restore([{ name: SPLITS_STATE, mode: 'list', items: ['a'] }]);
  await operator.open();
  operator.handleReaderEvent({ type: 'addSplits', splits: ['b'] });
  next.push([1000, 'b']);
  operator.poll();
  assert.deepEqual(fixture.emitted, [['record', 1000, 1000]], 'split a may have older records');
  next.push([10, 'a']);
  operator.poll();
  assert.deepEqual(fixture.emitted.at(-1), ['watermark', 9]);
});

test('a reader that waits for no split is idle at once, until it gets one', async () => {
  const options = { autoWatermarkIntervalMs: 0, knowsIds: true };
  const source = sourceOf(monotonousTimestamps(), options);
  const { operator, fixture, next } = source;
  const collects = source.onPoll;
  source.onPoll = (output) => {
    output.hasNoSplit?.();
    return 'nothing';
  };
  await operator.open();
  operator.poll();
  assert.deepEqual(fixture.emitted, [['idle', true]]);
  source.onPoll = collects;
  operator.handleReaderEvent({ type: 'addSplits', splits: ['a'] });
  operator.poll();
  assert.deepEqual(fixture.emitted.at(-1), ['idle', false]);
  next.push([5, 'a']);
  operator.poll();
  assert.deepEqual(fixture.emitted.at(-1), ['watermark', 4]);
});

test('time without room is not idleness of a split', () => {
  const { operator, fixture, next } = sourceOf(monotonousTimestamps(undefined, { idleness: 1000 }));
  next.push([5, 'a']);
  operator.poll();
  fixture.clock.advance(200);
  operator.poll();
  fixture.clock.advance(5000);
  operator.pausedFor(5000);
  operator.poll();
  assert.equal(
    fixture.emitted.some(([kind]) => kind === 'idle'),
    false,
  );
});

test('a reader is asked for no more than there is room for', () => {
  const source = sourceOf();
  let collected = 0;
  source.onPoll = (output) => {
    while (output.remaining > 0) {
      collected++;
      if (collected === 3) source.fixture.hasRoom = false;
      output.collect(collected, Number.NaN, 'a');
    }
    return 'more';
  };
  source.operator.poll();
  assert.equal(collected, 3);
});

test('what the reader throws names the source and what was called', async () => {
  const source = sourceOf();
  source.onPoll = () => {
    throw new Error('bad block');
  };
  assert.throws(() => source.operator.poll(), /poll of operator "tested" .*: bad block/);
  const failing = sourceOf(undefined, { start: () => Promise.reject(new Error('no route')) });
  await assert.rejects(failing.operator.open(), /start of operator .* Test: no route/);
});

test('a timestamp function that throws is named, not the poll around it', () => {
  const strategy = monotonousTimestamps(() => {
    throw new Error('no field');
  });
  const { operator, next } = sourceOf(strategy);
  next.push([1, 'a']);
  assert.throws(() => operator.poll(), /^UserFunctionError: timestamp function of operator/);
});
