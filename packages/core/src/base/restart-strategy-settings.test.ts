import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigSettings } from './config-options.ts';
import { Configuration } from './configuration.ts';
import { restartStrategyOf } from './restart-strategy-settings.ts';

const CHECKPOINTS = { 'execution.checkpointing.interval': '1s' } as const;

function strategyOf(settings: ConfigSettings): ReturnType<typeof restartStrategyOf> {
  return restartStrategyOf(Configuration.of(settings));
}

test('without a strategy a job with checkpoints restarts, one without does not [I-87]', () => {
  assert.equal(strategyOf(CHECKPOINTS).type, 'exponential-delay');
  assert.deepEqual(strategyOf({}), { type: 'none' });
});

test('the first restart comes after 100 ms unless the delays are given', () => {
  const prefix = 'restart-strategy.exponential-delay';
  const firstOf = (settings: ConfigSettings): number | null => {
    const strategy = strategyOf({ ...CHECKPOINTS, ...settings });
    assert.ok(strategy.type === 'exponential-delay');
    return strategy.firstDelayMs;
  };
  assert.equal(firstOf({}), 100);
  assert.equal(firstOf({ [`${prefix}.initial-backoff`]: 4 }), null);
  assert.equal(firstOf({ [`weir.${prefix}.first-backoff`]: 7 }), 7);
});

test('an exponential delay has the defaults of Flink', () => {
  assert.deepEqual(strategyOf(CHECKPOINTS), {
    type: 'exponential-delay',
    firstDelayMs: 100,
    initialBackoffMs: 1000,
    maxBackoffMs: 60_000,
    backoffMultiplier: 1.5,
    jitterFactor: 0.1,
    resetBackoffThresholdMs: 3_600_000,
    attemptsBeforeResetBackoff: Infinity,
  });
});

test('each strategy reads its own options', () => {
  const fixed = {
    'restart-strategy.type': 'fixed-delay',
    'restart-strategy.fixed-delay.attempts': 3,
    'restart-strategy.fixed-delay.delay': '2s',
  } as const;
  assert.deepEqual(strategyOf(fixed), { type: 'fixed-delay', attempts: 3, delayMs: 2000 });
  const rate = {
    'restart-strategy.type': 'failure-rate',
    'restart-strategy.failure-rate.max-failures-per-interval': 4,
    'restart-strategy.failure-rate.failure-rate-interval': '10s',
    'restart-strategy.failure-rate.delay': 0,
  } as const;
  assert.deepEqual(strategyOf(rate), {
    type: 'failure-rate',
    maxFailuresPerInterval: 4,
    intervalMs: 10_000,
    delayMs: 0,
  });
});
