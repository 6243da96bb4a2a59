import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WeirError } from '../../base/errors.ts';
import {
  checkpointConfig,
  effectiveConcurrency,
  effectiveIntervalMs,
  keepsCheckpoints,
} from './checkpoint-config.ts';
import type { CheckpointCoordinatorConfig, RunEnd } from './checkpoint-config.ts';

function refusalOf(settings: Partial<CheckpointCoordinatorConfig>): WeirError {
  let refusal: unknown = null;
  assert.throws(
    () => checkpointConfig(settings),
    (error) => {
      refusal = error;
      return true;
    },
  );
  return refusal as WeirError;
}

test('an interval of 9 ms is refused and one of 10 ms accepted [I-1]', () => {
  const refusal = refusalOf({ intervalMs: 9 });
  assert.equal(refusal.code, 'CONFIG_INVALID');
  assert.equal(
    refusal.message,
    'execution.checkpointing.interval is 9 ms; allowed is at least 10 ms',
  );
  assert.equal(checkpointConfig({ intervalMs: 10 }).intervalMs, 10);
});

test('a backlog interval below the interval is refused, 0 is accepted [I-3]', () => {
  const refusal = refusalOf({ intervalMs: 1000, intervalDuringBacklogMs: 500 });
  assert.match(refusal.message, /interval-during-backlog is 500 ms.*1000 ms/);
  const none = checkpointConfig({ intervalMs: 1000, intervalDuringBacklogMs: 0 });
  assert.equal(effectiveIntervalMs(none, true), Infinity);
  assert.equal(effectiveIntervalMs(none, false), 1000);
});

test('numbers out of range are refused with their key', () => {
  assert.match(refusalOf({ timeoutMs: 9 }).message, /checkpointing\.timeout is 9 ms/);
  assert.match(refusalOf({ minPauseMs: -1 }).message, /min-pause is -1 ms/);
  assert.match(refusalOf({ maxConcurrentCheckpoints: 0 }).message, /max-concurrent-checkpoints/);
  assert.match(refusalOf({ tolerableFailedCheckpoints: -1 }).message, /tolerable-failed/);
  assert.match(refusalOf({ numRetained: 1.5 }).message, /num-retained is 1.5/);
  assert.match(refusalOf({ intervalMs: Number.NaN }).message, /interval is NaN/);
});

test('nothing set means no periodic checkpoints', () => {
  assert.equal(effectiveIntervalMs(checkpointConfig({}), false), Infinity);
});

test('a pause longer than the interval stretches it, and is capped at 365 days', () => {
  const config = checkpointConfig({ intervalMs: 100, minPauseMs: 500 });
  assert.equal(effectiveIntervalMs(config, false), 500);
  assert.equal(checkpointConfig({ minPauseMs: 1e15 }).minPauseMs, 365 * 86_400_000);
});

test('a pause means one checkpoint at a time', () => {
  assert.equal(effectiveConcurrency(checkpointConfig({ maxConcurrentCheckpoints: 3 })), 3);
  const paused = checkpointConfig({ maxConcurrentCheckpoints: 3, minPauseMs: 1 });
  assert.equal(effectiveConcurrency(paused), 1);
});

test('retention decides for cancelled runs; failed and suspended ones keep all [I-31]', () => {
  const ends: RunEnd[] = ['FINISHED', 'CANCELED', 'FAILED', 'SUSPENDED'];
  const kept = (retention: CheckpointCoordinatorConfig['retention']): RunEnd[] =>
    ends.filter((end) => keepsCheckpoints(retention, end));
  assert.deepEqual(kept('NO_EXTERNALIZED_CHECKPOINTS'), ['FAILED', 'SUSPENDED']);
  assert.deepEqual(kept('DELETE_ON_CANCELLATION'), ['FAILED', 'SUSPENDED']);
  assert.deepEqual(kept('RETAIN_ON_CANCELLATION'), ['CANCELED', 'FAILED', 'SUSPENDED']);
});
