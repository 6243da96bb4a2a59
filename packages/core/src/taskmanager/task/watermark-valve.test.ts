import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAX_WATERMARK, MIN_WATERMARK } from '../../base/records.ts';
import { WatermarkValve } from './watermark-valve.ts';

type Said = number | 'idle' | 'active';

/** A valve and what it said since the last look. */
function valveOf(channels: number): { valve: WatermarkValve; said: () => Said[] } {
  let said: Said[] = [];
  const valve = new WatermarkValve(channels, {
    emitWatermark: (timestamp) => said.push(timestamp),
    emitIdle: (idle) => said.push(idle ? 'idle' : 'active'),
  });
  return {
    valve,
    said: () => {
      const since = said;
      said = [];
      return since;
    },
  };
}

test('the result is the minimum of all channels, once each has a watermark', () => {
  const { valve, said } = valveOf(3);
  valve.watermark(0, 10);
  valve.watermark(1, 7);
  assert.deepEqual(said(), []);
  valve.watermark(2, 3);
  assert.deepEqual(said(), [3]);
  valve.watermark(2, 8);
  assert.deepEqual(said(), [7]);
});

test('without channels nothing is said, also when it settles', () => {
  const { valve, said } = valveOf(0);
  valve.settle();
  assert.deepEqual(said(), []);
});

test('a channel that resumes behind the result rejoins when it has caught up [I-105]', () => {
  const { valve, said } = valveOf(3);
  for (const [channel, timestamp] of [10, 7, 3].entries()) valve.watermark(channel, timestamp);
  said();
  valve.idle(2, true);
  assert.deepEqual(said(), [7], 'idle, it does not hold back the others');
  valve.idle(2, false);
  valve.watermark(2, 5);
  valve.watermark(0, 11);
  assert.deepEqual(said(), [], 'behind 7 it neither counts nor sets the result back');
  valve.watermark(2, 9);
  valve.watermark(1, 12);
  assert.deepEqual(said(), [9], 'caught up, it counts again');
});

test('an ended input beside an idle one does not jump to the end of time [R080]', () => {
  const { valve, said } = valveOf(2);
  valve.watermark(0, 5);
  valve.watermark(1, 20);
  valve.watermark(0, MAX_WATERMARK);
  assert.deepEqual(said(), [5, 20]);
  valve.idle(1, true);
  assert.deepEqual(said(), ['idle']);
  valve.watermark(1, MAX_WATERMARK);
  assert.deepEqual(said(), [MAX_WATERMARK], 'only when both have ended');
});

test('an input that ends while it is idle ends all the same', () => {
  const { valve, said } = valveOf(1);
  valve.watermark(0, 20);
  valve.idle(0, true);
  said();
  valve.watermark(0, MAX_WATERMARK);
  assert.deepEqual(said(), [MAX_WATERMARK]);
});

test('an input that is idle when the last active one ends goes on to be waited for', () => {
  const { valve, said } = valveOf(2);
  valve.watermark(0, 5);
  valve.idle(1, true);
  said();
  valve.watermark(0, MAX_WATERMARK);
  assert.deepEqual(said(), ['idle'], 'nobody is left who could raise event time');
  valve.idle(1, false);
  valve.watermark(1, 6);
  assert.deepEqual(said(), ['active', 6]);
});

test('with all channels idle the result is the highest they reached, then idleness', () => {
  const { valve, said } = valveOf(2);
  valve.watermark(0, 10);
  valve.watermark(1, 30);
  valve.idle(0, true);
  assert.deepEqual(said(), [10, 30]);
  valve.idle(1, true);
  assert.deepEqual(said(), ['idle']);
  valve.idle(0, false);
  valve.watermark(0, 12);
  assert.deepEqual(said(), ['active'], '12 is behind what was promised');
  valve.watermark(0, 31);
  assert.deepEqual(said(), [31]);
});

test('a restored valve promises what it had promised, and idleness too', () => {
  const before = valveOf(3);
  before.valve.watermark(0, 10);
  before.valve.watermark(1, 7);
  before.valve.idle(2, true);
  assert.deepEqual(before.said(), [7]);
  const after = valveOf(3);
  for (const channel of [0, 1, 2]) after.valve.restore(channel, before.valve.stateOf(channel));
  after.valve.settle();
  assert.deepEqual(after.said(), [7]);
  for (const channel of [0, 1]) after.valve.idle(channel, true);
  assert.deepEqual(after.said(), [10, 'idle']);
});

test('watermarks that fall on a channel are ignored', () => {
  const { valve, said } = valveOf(1);
  for (const timestamp of [5, 4, 5, 6, MIN_WATERMARK]) valve.watermark(0, timestamp);
  assert.deepEqual(said(), [5, 6]);
});

test('whatever comes in, event time never falls and is the end only when all have ended', () => {
  const step = fc.record({
    channel: fc.nat(2),
    what: fc.oneof(
      fc.integer({ min: 0, max: 50 }),
      fc.constantFrom('idle', 'active', 'end' as const),
    ),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { valve, said } = valveOf(3);
      const ended = new Set<number>();
      let last = MIN_WATERMARK;
      for (const { channel, what } of steps) {
        if (ended.has(channel)) continue;
        if (what === 'end') {
          ended.add(channel);
          valve.watermark(channel, MAX_WATERMARK);
        } else if (typeof what === 'number') valve.watermark(channel, what);
        else valve.idle(channel, what === 'idle');
        for (const one of said()) {
          if (typeof one !== 'number') continue;
          assert.ok(one > last, `${one} after ${last}`);
          last = one;
        }
        assert.equal(last === MAX_WATERMARK, ended.size === 3);
      }
    }),
  );
});
