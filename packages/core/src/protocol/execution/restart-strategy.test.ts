import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createRestartStrategy,
  defaultRestartStrategy,
  RESTART_STRATEGY_DEFAULTS,
} from './restart-strategy.ts';
import type { RestartStrategy } from './restart-strategy.ts';

const exponential = RESTART_STRATEGY_DEFAULTS['exponential-delay'];

/** The delay of the next restart, or the reason of the refusal. */
function next(strategy: RestartStrategy, now: number, draw = 0.5): number | string {
  const decision = strategy.failed(now, draw);
  return decision.restart ? decision.delayMs : decision.reason;
}

test('exponential delays grow by the multiplier [I-85]', () => {
  const strategy = createRestartStrategy({
    ...exponential,
    firstDelayMs: null,
    initialBackoffMs: 4,
    backoffMultiplier: 2.3,
    jitterFactor: 0,
  });
  assert.deepEqual([next(strategy, 0), next(strategy, 4), next(strategy, 13)], [4, 9, 21]);
});

test('exponential delays begin anew after quiet time, counted from the restart [I-85]', () => {
  const strategy = createRestartStrategy({
    ...exponential,
    firstDelayMs: null,
    initialBackoffMs: 1,
    backoffMultiplier: 2,
    jitterFactor: 0,
    resetBackoffThresholdMs: 8,
  });
  assert.equal(next(strategy, 0), 1);
  assert.equal(next(strategy, 8), 2, '7 ms after the restart: no reset');
  assert.equal(next(strategy, 18), 1, '8 ms after the restart: reset');
});

test('the first restart comes soon, then the delays of Flink follow', () => {
  const strategy = createRestartStrategy(exponential);
  const delays = [0, 1, 2, 3].map((now) => next(strategy, now));
  assert.deepEqual(delays, [100, 1_000, 1_500, 2_250]);
});

test('jitter moves a delay within its share, never below the initial or above the longest', () => {
  const config = { ...exponential, firstDelayMs: null, maxBackoffMs: 1_600 };
  const delaysFor = (draw: number): readonly (number | string)[] => {
    const strategy = createRestartStrategy(config);
    return [0, 1, 2].map((now) => next(strategy, now, draw));
  };
  assert.deepEqual(delaysFor(0), [1_000, 1_350, 1_440]);
  assert.deepEqual(delaysFor(0.999_999), [1_100, 1_600, 1_600]);
});

test('exponential delay refuses once its attempts are used up', () => {
  const strategy = createRestartStrategy({ ...exponential, attemptsBeforeResetBackoff: 2 });
  next(strategy, 0);
  next(strategy, 1_000);
  assert.match(String(next(strategy, 3_000)), /"exponential-delay" allows 2 restarts/);
});

test('a failure rate of 3 per 10 s allows 3 restarts and refuses the fourth [I-86]', () => {
  const strategy = createRestartStrategy({
    type: 'failure-rate',
    maxFailuresPerInterval: 3,
    intervalMs: 10_000,
    delayMs: 7,
  });
  assert.deepEqual(
    [0, 1, 2].map((now) => next(strategy, now)),
    [7, 7, 7],
  );
  assert.match(String(next(strategy, 3)), /failed 4 times within 10000 ms/);
});

test('a failure rate forgets failures older than its interval', () => {
  const strategy = createRestartStrategy(RESTART_STRATEGY_DEFAULTS['failure-rate']);
  assert.equal(next(strategy, 0), 1_000);
  assert.equal(next(strategy, 60_001), 1_000);
  assert.equal(typeof next(strategy, 120_001), 'string');
});

test('fixed delay allows its attempts and no more [I-86]', () => {
  const strategy = createRestartStrategy({ type: 'fixed-delay', attempts: 3, delayMs: 5 });
  assert.deepEqual(
    [0, 1, 2].map((now) => next(strategy, now)),
    [5, 5, 5],
  );
  assert.match(String(next(strategy, 3)), /"fixed-delay" allows 3 restarts/);
});

test('without a configured strategy checkpoints decide [I-87]', () => {
  assert.equal(defaultRestartStrategy(true).type, 'exponential-delay');
  assert.equal(defaultRestartStrategy(false).type, 'none');
  assert.equal(createRestartStrategy({ type: 'none' }).failed(0, 0).restart, false);
});
