import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatencyHistogram } from './latency-histogram.ts';

test('quantiles lie between the samples, in proportion', () => {
  const histogram = new LatencyHistogram(200);
  for (let ms = 100; ms >= 1; ms--) histogram.add(ms);
  const { count, min, max, mean, median, p90, p99, p999, stddev } = histogram.numbers();
  assert.deepEqual([count, min, max, mean, median], [100, 1, 100, 50.5, 50.5]);
  assert.deepEqual(
    [p90, p99, p999].map((ms) => Math.round(ms * 100) / 100),
    [90.9, 99.99, 100],
  );
  assert.equal(Math.round(stddev * 100), 2901);
});

test('only the last samples count, but all are counted', () => {
  const histogram = new LatencyHistogram(3);
  for (const ms of [1000, 1, 2, 3]) histogram.add(ms);
  const { count, min, max, median } = histogram.numbers();
  assert.deepEqual([count, min, max, median], [4, 1, 3, 2]);
});

test('one sample, and none, have quantiles too', () => {
  const histogram = new LatencyHistogram(3);
  assert.deepEqual([histogram.numbers().count, histogram.numbers().p99], [0, 0]);
  histogram.add(7);
  const { min, p75, p999, stddev } = histogram.numbers();
  assert.deepEqual([min, p75, p999, stddev], [7, 7, 7, 0]);
});
