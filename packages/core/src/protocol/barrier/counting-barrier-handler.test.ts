import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTED_CHECKPOINTS_MAX } from './counting-barrier-handler.ts';
import { TestTask } from './test-support.ts';

function counting(channelCount: number, checkpointsAfterTasksFinish = true): TestTask {
  return new TestTask(channelCount, 'AT_LEAST_ONCE', { checkpointsAfterTasksFinish });
}

test('two checkpoints are counted at once, and both are taken [I-49]', () => {
  const task = counting(2).barrier(1, 1).barrier(2, 1).barrier(1, 0);
  assert.deepEqual(task.snapshots, [1]);
  task.barrier(2, 0);
  assert.deepEqual(task.snapshots, [1, 2]);
});

test('no channel is ever blocked', () => {
  const task = counting(3).barrier(1, 0).barrier(2, 0, 1).barrier(1, 1).cancel(3, 0);
  assert.equal(task.effects.filter(({ type }) => type === 'block').length, 0);
});

test('completing a checkpoint drops older ones without a word', () => {
  const task = counting(2).barrier(1, 0).barrier(2, 0, 1);
  assert.deepEqual(task.snapshots, [2]);
  assert.deepEqual(task.declines, []);
  task.barrier(3, 1);
  assert.equal(task.handler.done, 2);
});

test('a checkpoint overtaken on the channel of a newer one is not counted', () => {
  const task = counting(3).barrier(2, 0).barrier(1, 1, 2).end(0);
  assert.deepEqual(task.snapshots, []);
  task.barrier(2, 1, 2);
  assert.deepEqual(task.snapshots, [2]);
});

test('a cancel marker of an overtaken checkpoint says nothing new', () => {
  const task = counting(2).barrier(2, 0).cancel(1, 1).barrier(2, 1);
  assert.deepEqual(task.snapshots, [2]);
  assert.deepEqual(task.declines, []);
});

test('interleaved cancel markers abort each checkpoint once [I-50]', () => {
  const task = counting(3);
  for (const channel of [0, 1, 2]) task.cancel(1, channel).cancel(2, channel);
  assert.deepEqual(task.cancels, [1, 2]);
  assert.equal(task.declines.length, 2);
});

test('a cancel marker gives up its checkpoint and older ones, not newer ones', () => {
  const task = counting(2).barrier(1, 0).barrier(2, 0).barrier(3, 0).cancel(2, 1);
  assert.deepEqual(task.declines, [
    '1 DECLINED_ON_CANCELLATION_BARRIER',
    '2 DECLINED_ON_CANCELLATION_BARRIER',
  ]);
  task.barrier(3, 1);
  assert.deepEqual(task.snapshots, [3]);
});

test('a checkpoint that the coordinator aborted is counted, but not taken [I-59]', () => {
  const task = counting(2).barrier(1, 0).aborted(2).barrier(2, 0).barrier(1, 1).barrier(2, 1);
  assert.deepEqual(task.snapshots, [1]);
  assert.deepEqual(task.cancels, [2]);
  assert.deepEqual(task.declines, []);
});

test('a channel that ends counts as delivered for all that are counted [I-47]', () => {
  const task = counting(2).barrier(1, 1).barrier(2, 1).end(0);
  assert.deepEqual(task.snapshots, [1, 2]);
});

test('a channel counts once, whether it delivers, ends or both [I-46]', () => {
  const task = counting(3).barrier(1, 0).barrier(1, 0).end(0).barrier(1, 1);
  assert.deepEqual(task.snapshots, []);
  task.barrier(1, 2);
  assert.deepEqual(task.snapshots, [1]);
});

test('a channel that ends aborts all that are counted when the feature is off [I-47]', () => {
  const task = counting(2, false).barrier(1, 1).barrier(2, 1).end(0);
  assert.deepEqual(task.snapshots, []);
  assert.deepEqual(task.declines, [
    '1 DECLINED_INPUT_END_OF_STREAM',
    '2 DECLINED_INPUT_END_OF_STREAM',
  ]);
});

test('of more than can be counted the oldest is given up', () => {
  const task = counting(2);
  for (let id = 1; id <= COUNTED_CHECKPOINTS_MAX; id++) task.barrier(id, 0);
  assert.deepEqual(task.declines, []);
  task.barrier(COUNTED_CHECKPOINTS_MAX + 1, 0);
  assert.deepEqual(task.declines, ['1 DECLINED_SUBSUMED']);
  task.barrier(1, 1);
  assert.deepEqual(task.snapshots, []);
  task.barrier(2, 1);
  assert.deepEqual(task.snapshots, [2]);
});

test('a triggered task without open channels takes its snapshot, with some it waits', () => {
  const task = counting(1).triggered(1);
  assert.deepEqual(task.snapshots, []);
  task.end(0).triggered(2);
  assert.deepEqual(task.snapshots, [1, 2]);
});

test('barriers of earlier attempts are dropped', () => {
  const task = new TestTask(1, 'AT_LEAST_ONCE', { ignoreUpTo: 7 });
  task.barrier(7, 0).cancel(7, 0).aborted(7).triggered(7);
  assert.deepEqual(task.effects, []);
  task.barrier(8, 0);
  assert.deepEqual(task.snapshots, [8]);
});
