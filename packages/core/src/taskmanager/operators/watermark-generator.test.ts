import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedOutOfOrderness, noWatermarks, withIdleness } from '../../api/watermarks.ts';
import { MIN_WATERMARK } from '../../base/records.ts';
import { combineTrackers, probeIntervalMs, WatermarkTracker } from './watermark-generator.ts';

const strategy = boundedOutOfOrderness<unknown>(5);
const withIdle = withIdleness(strategy, 1000);

function trackerOf(...timestamps: number[]): WatermarkTracker {
  const tracker = new WatermarkTracker(withIdle);
  for (const timestamp of timestamps) tracker.onEvent(timestamp);
  return tracker;
}

test('the watermark is the highest timestamp less the bound less one, and never falls', () => {
  assert.equal(new WatermarkTracker(strategy).watermark, MIN_WATERMARK);
  assert.equal(trackerOf(100).watermark, 94);
  assert.equal(trackerOf(100, 40, 39, 41).watermark, 94, 'a regression does not block [R079]');
});

test('a record without timestamp moves nothing, but is a sign of life', () => {
  const tracker = trackerOf(100);
  tracker.probeIdle(0);
  tracker.probeIdle(10);
  tracker.onEvent(Number.NaN);
  assert.equal(tracker.watermark, 94);
  assert.equal(tracker.probeIdle(5000), false);
});

test('idleness begins at the first probe without records, shows after the time-out', () => {
  const tracker = trackerOf(1);
  assert.equal(tracker.probeIdle(5000), false, 'there was a record');
  assert.equal(tracker.probeIdle(6000), false, 'from here on');
  assert.equal(tracker.probeIdle(7000), false, 'not yet longer than the time-out');
  assert.equal(tracker.probeIdle(7001), true);
  tracker.onEvent(2);
  assert.equal(tracker.probeIdle(7002), false);
});

test('time without room for results is no sign of idleness', () => {
  const tracker = trackerOf();
  assert.equal(tracker.probeIdle(0), false);
  tracker.pausedFor(60_000);
  assert.equal(tracker.probeIdle(60_900), false);
  assert.equal(tracker.probeIdle(61_001), true);
});

test('a silent split does not hold back the others for longer than the time-out [R079]', () => {
  const loud = trackerOf(100);
  const silent = trackerOf();
  assert.deepEqual(combineTrackers([loud, silent], 0), { watermark: MIN_WATERMARK, idle: false });
  loud.onEvent(101);
  assert.deepEqual(combineTrackers([loud, silent], 1001), { watermark: 95, idle: false });
  silent.onEvent(50);
  assert.deepEqual(combineTrackers([loud, silent], 1002), { watermark: 44, idle: false });
});

test('with all splits idle event time is the highest they reached', () => {
  const trackers = [trackerOf(100), trackerOf(70)];
  combineTrackers(trackers, 0);
  combineTrackers(trackers, 1);
  assert.deepEqual(combineTrackers(trackers, 1002), { watermark: 94, idle: true });
});

test('without an interval only idleness needs to be looked for', () => {
  assert.equal(probeIntervalMs(strategy, 300), 300);
  assert.equal(probeIntervalMs(strategy, 0), null);
  assert.equal(probeIntervalMs(withIdle, 0), 200);
  assert.equal(probeIntervalMs(noWatermarks(), 300), null);
});
