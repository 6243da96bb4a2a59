import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WatermarkStrategy } from '../../api/functions.ts';
import { boundedOutOfOrderness, monotonousTimestamps } from '../../api/watermarks.ts';
import { MAX_WATERMARK } from '../../base/records.ts';
import { operatorFixture } from './operator-fixture.ts';
import type { FixtureOptions, OperatorFixture } from './operator-fixture.ts';
import { TimestampsOperator } from './timestamps.ts';

function opened(
  strategy: WatermarkStrategy<number>,
  options: FixtureOptions = {},
): { operator: TimestampsOperator; fixture: OperatorFixture } {
  const fixture = operatorFixture(options);
  const operator = new TimestampsOperator(fixture.context, strategy as WatermarkStrategy<unknown>);
  operator.open();
  return { operator, fixture };
}

const byValue = monotonousTimestamps<number>((value) => value);

test('records get their event time, watermarks leave between records when the timer asked', () => {
  const { operator, fixture } = opened(boundedOutOfOrderness<number>(10, (value) => value));
  operator.processElement(100, Number.NaN);
  operator.resume();
  assert.deepEqual(fixture.emitted, [['record', 100, 100]]);
  fixture.clock.advance(200);
  assert.equal(fixture.wakeUps, 1);
  operator.resume();
  operator.resume();
  assert.deepEqual(fixture.emitted.slice(1), [['watermark', 89]]);
});

test('with interval 0 a watermark follows each batch, without timers', () => {
  const { operator, fixture } = opened(byValue, { autoWatermarkIntervalMs: 0 });
  assert.equal(fixture.clock.pendingCount(), 0);
  operator.processElement(1, Number.NaN);
  operator.processElement(2, Number.NaN);
  operator.resume();
  assert.deepEqual(fixture.emitted.at(-1), ['watermark', 1]);
});

test('watermarks of upstream are ignored, except the last', () => {
  const { operator, fixture } = opened(byValue);
  operator.processWatermark(500);
  operator.processIdle();
  assert.deepEqual(fixture.emitted, []);
  operator.processWatermark(MAX_WATERMARK);
  assert.deepEqual(fixture.emitted, [['watermark', MAX_WATERMARK]]);
});

test('idleness is told, and taken back before the next watermark', () => {
  const strategy = monotonousTimestamps<number>((value) => value, { idleness: 1000 });
  const { operator, fixture } = opened(strategy);
  operator.processElement(10, Number.NaN);
  for (let i = 0; i < 10; i++) {
    fixture.clock.advance(200);
    operator.resume();
  }
  operator.processElement(20, 20);
  fixture.clock.advance(200);
  operator.resume();
  assert.deepEqual(fixture.emitted, [
    ['record', 10, 10],
    ['watermark', 9],
    ['idle', true],
    ['record', 20, 20],
    ['idle', false],
    ['watermark', 19],
  ]);
});

test('time without room is not idleness', () => {
  const strategy = monotonousTimestamps<number>((value) => value, { idleness: 1000 });
  const { operator, fixture } = opened(strategy);
  operator.processElement(10, Number.NaN);
  for (const _ of [1, 2]) {
    fixture.clock.advance(200);
    operator.resume();
  }
  fixture.clock.advance(5000);
  operator.pausedFor(5000);
  operator.resume();
  assert.equal(
    fixture.emitted.some(([kind]) => kind === 'idle'),
    false,
  );
});

test('nothing comes behind the last watermark, idleness neither', () => {
  const strategy = monotonousTimestamps<number>((value) => value, { idleness: 1000 });
  const { operator, fixture } = opened(strategy);
  operator.processWatermark(MAX_WATERMARK);
  for (let i = 0; i < 10; i++) {
    fixture.clock.advance(200);
    operator.resume();
  }
  assert.deepEqual(fixture.emitted, [['watermark', MAX_WATERMARK]]);
});

test('a timestamp that is none is refused, naming the operator', () => {
  const { operator } = opened(monotonousTimestamps<number>(() => undefined as never));
  assert.throws(() => operator.processElement(1, 1), {
    code: 'USER_FUNCTION_FAILED',
    message: /timestamp function of operator "tested" \(Test, job\.ts:7\) returned undefined/,
  });
});

test('closed, it leaves no timer behind', () => {
  const { operator, fixture } = opened(byValue);
  operator.close();
  assert.equal(fixture.clock.pendingCount(), 0);
});
