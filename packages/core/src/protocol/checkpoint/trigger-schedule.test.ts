import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkpointConfig } from './checkpoint-config.ts';
import type { CheckpointCoordinatorConfig } from './checkpoint-config.ts';
import { TriggerSchedule } from './trigger-schedule.ts';

function schedule(config: Partial<CheckpointCoordinatorConfig> = {}): TriggerSchedule {
  return new TriggerSchedule(checkpointConfig({ intervalMs: 1000, ...config }));
}

test('the first trigger lies between the pause and the interval', () => {
  const times = [0, 0.5, 0.999999].map((draw) => {
    const triggers = schedule({ minPauseMs: 200 });
    triggers.start(50, draw);
    return triggers.dueAt;
  });
  assert.deepEqual(times, [250, 650, 1050]);
});

test('triggers keep to the grid of the interval, however late a timer fires', () => {
  const triggers = schedule();
  triggers.start(0, 0);
  assert.equal(triggers.tick(300), true);
  assert.equal(triggers.dueAt, 1000);
  assert.equal(triggers.tick(999), false);
  assert.equal(triggers.tick(1000), true);
  assert.equal(triggers.dueAt, 2000);
});

test('after a long sleep one trigger fires, and missed ones are left out', () => {
  const triggers = schedule();
  triggers.start(0, 0);
  assert.equal(triggers.tick(10_500), true);
  assert.equal(triggers.dueAt, 11_000);
});

test('no interval, no trigger', () => {
  const triggers = schedule({ intervalMs: null });
  triggers.start(0, 0);
  assert.equal(triggers.dueAt, Infinity);
});

test('a backlog interval of 0 suspends triggers until the backlog is worked off', () => {
  const triggers = schedule({ intervalDuringBacklogMs: 0 });
  triggers.start(0, 0);
  triggers.setBacklog('source', true, 0);
  assert.equal(triggers.tick(0), false);
  assert.equal(triggers.dueAt, Infinity);
  triggers.setBacklog('source', false, 5000);
  assert.equal(triggers.dueAt, 6000);
});

test('the backlog interval holds while any source has a backlog', () => {
  const triggers = schedule({ intervalDuringBacklogMs: 60_000 });
  triggers.start(0, 0);
  triggers.setBacklog('one', true, 0);
  triggers.setBacklog('two', true, 0);
  assert.equal(triggers.tick(0), true);
  assert.equal(triggers.dueAt, 60_000);
  triggers.setBacklog('one', false, 100);
  assert.equal(triggers.dueAt, 60_000);
  triggers.setBacklog('two', false, 100);
  assert.equal(triggers.dueAt, 1100);
});

test('a backlog that begins does not put off the next trigger', () => {
  const triggers = schedule({ intervalDuringBacklogMs: 60_000 });
  triggers.start(0, 0.999999);
  triggers.setBacklog('source', true, 0);
  assert.equal(triggers.dueAt, 1000);
});

test('a stopped schedule stays quiet', () => {
  const triggers = schedule();
  triggers.start(0, 0);
  triggers.stop();
  triggers.postpone(5);
  triggers.setBacklog('source', false, 0);
  assert.equal(triggers.tick(1e9), false);
});
