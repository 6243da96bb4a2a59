import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestTask } from './test-support.ts';

test('the snapshot comes with the last barrier, and then nothing is blocked [I-41]', () => {
  const task = new TestTask(3).barrier(1, 1, 2);
  assert.deepEqual([...task.blocked], [1, 2]);
  assert.deepEqual(task.snapshots, []);
  task.barrier(1, 0);
  assert.deepEqual(task.snapshots, [1]);
  assert.deepEqual([...task.blocked], []);
  assert.equal(task.handler.done, 1);
});

test('the snapshot is taken before anything behind a barrier is let in', () => {
  const task = new TestTask(2).barrier(1, 0, 1);
  assert.deepEqual(
    task.effects.map(({ type }) => type),
    ['block', 'snapshot', 'unblock'],
  );
});

test('a snapshot says when its alignment began', () => {
  const task = new TestTask(2);
  task.now = 5;
  task.barrier(1, 0);
  task.now = 30;
  task.barrier(1, 1);
  const snapshot = task.effects.find(({ type }) => type === 'snapshot');
  assert.equal(snapshot?.type === 'snapshot' ? snapshot.alignmentStart : null, 5);
});

test('a newer barrier aborts the alignment and begins its own [I-42]', () => {
  const task = new TestTask(3).barrier(1, 1, 2, 0).barrier(2, 1, 0);
  assert.deepEqual([...task.blocked], [1, 0]);
  task.barrier(3, 2);
  assert.deepEqual([...task.blocked], [2]);
  assert.deepEqual(task.declines, ['2 DECLINED_SUBSUMED']);
  task.barrier(3, 0).barrier(4, 1).cancel(4, 0);
  assert.deepEqual(task.snapshots, [1]);
  assert.deepEqual(task.cancels, [2, 3, 4]);
  assert.deepEqual([...task.blocked], []);
});

test('one channel: barriers 1, 2, cancel 4, barrier 5, cancel 6 [I-43]', () => {
  const task = new TestTask(1).barrier(1, 0).barrier(2, 0).cancel(4, 0).barrier(5, 0).cancel(6, 0);
  assert.deepEqual(task.snapshots, [1, 2, 5]);
  assert.deepEqual(task.declines, [
    '4 DECLINED_ON_CANCELLATION_BARRIER',
    '6 DECLINED_ON_CANCELLATION_BARRIER',
  ]);
  assert.equal(task.effects.filter(({ type }) => type === 'block').length, 0);
});

test('channels that ended before are not waited for [I-45]', () => {
  const task = new TestTask(4).barrier(1, 0, 1, 2, 3).end(0, 2).barrier(2, 1);
  assert.deepEqual(task.snapshots, [1]);
  task.barrier(2, 3);
  assert.deepEqual(task.snapshots, [1, 2]);
});

test('a channel that delivers its barrier and then ends counts once [I-46]', () => {
  const task = new TestTask(2).barrier(1, 0).end(0);
  assert.deepEqual(task.snapshots, []);
  task.barrier(1, 1);
  assert.deepEqual(task.snapshots, [1]);
});

test('the end of a channel replaces its missing barrier [I-47]', () => {
  const task = new TestTask(2).barrier(1, 0).end(1);
  assert.deepEqual(task.snapshots, [1]);
  assert.deepEqual([...task.blocked], []);
});

test('the end of a channel aborts the alignment when the feature is off [I-47]', () => {
  const options = { checkpointsAfterTasksFinish: false };
  const task = new TestTask(2, 'EXACTLY_ONCE', options).barrier(1, 0).end(1);
  assert.deepEqual(task.snapshots, []);
  assert.deepEqual(task.declines, ['1 DECLINED_INPUT_END_OF_STREAM']);
  assert.deepEqual([...task.blocked], []);
});

test('interleaved cancel markers abort each checkpoint once [I-50]', () => {
  const task = new TestTask(3);
  for (const channel of [0, 1, 2]) task.cancel(1, channel).cancel(2, channel);
  assert.deepEqual(task.cancels, [1, 2]);
  assert.equal(task.declines.length, 2);
});

test('a cancel marker during alignment frees the fast channels, and is passed on [R046]', () => {
  const task = new TestTask(2).barrier(1, 0);
  assert.deepEqual([...task.blocked], [0]);
  task.cancel(1, 1);
  assert.deepEqual([...task.blocked], []);
  assert.deepEqual(task.cancels, [1]);
  const downstream = new TestTask(2).barrier(1, 1).cancel(1, 0);
  assert.deepEqual([...downstream.blocked], [], 'who is downstream does not wait');
});

test('only the channel that delivered its barrier is held back [R046]', () => {
  const task = new TestTask(3).barrier(1, 0);
  assert.deepEqual([...task.blocked], [0]);
});

test('a checkpoint aborted by the coordinator before its barrier is not taken [I-59]', () => {
  const task = new TestTask(2).aborted(1).barrier(1, 0);
  assert.deepEqual(task.cancels, [1]);
  assert.deepEqual([...task.blocked], []);
  task.barrier(1, 1);
  assert.deepEqual(task.snapshots, []);
  assert.deepEqual(task.cancels, [1], 'the marker is sent once');
  assert.deepEqual(task.declines, [], 'the coordinator knows already');
});

test('an abort during alignment unblocks at once, and never opens again', () => {
  const task = new TestTask(2).barrier(1, 0).aborted(1);
  assert.deepEqual([...task.blocked], []);
  assert.deepEqual(task.cancels, [1]);
  task.aborted(1).barrier(1, 1);
  assert.deepEqual(task.cancels, [1]);
  assert.deepEqual(task.snapshots, []);
  task.barrier(2, 0, 1);
  assert.deepEqual(task.snapshots, [2]);
});

test('aborting a newer checkpoint leaves the one that is aligned alone', () => {
  const task = new TestTask(2).barrier(1, 0).aborted(2).barrier(1, 1);
  assert.deepEqual(task.snapshots, [1]);
  task.barrier(2, 0, 1);
  assert.deepEqual(task.snapshots, [1]);
  assert.deepEqual(task.cancels, [2]);
});

test('the barrier of an aborted newer checkpoint still ends the alignment it overtakes', () => {
  const task = new TestTask(2).barrier(1, 0).aborted(2).barrier(2, 1);
  assert.deepEqual(task.declines, ['1 DECLINED_SUBSUMED']);
  assert.deepEqual(task.cancels, [1, 2]);
  assert.deepEqual([...task.blocked], []);
});

test('an abort that comes after the snapshot, or for an older id, does nothing', () => {
  const task = new TestTask(2).barrier(2, 0, 1).aborted(2).aborted(1).barrier(3, 0).aborted(2);
  assert.deepEqual(task.cancels, []);
  assert.deepEqual([...task.blocked], [0]);
});

test('barriers of earlier attempts are dropped', () => {
  const task = new TestTask(2, 'EXACTLY_ONCE', { ignoreUpTo: 7 }).barrier(7, 0, 1).cancel(6, 0);
  assert.deepEqual(task.effects, []);
  task.barrier(8, 0, 1);
  assert.deepEqual(task.snapshots, [8]);
});

test('a barrier sent again after a reconnect counts once', () => {
  const task = new TestTask(3).barrier(1, 0);
  task.blocked.clear();
  task.barrier(1, 0);
  assert.deepEqual([...task.blocked], []);
  task.barrier(1, 1);
  assert.deepEqual(task.snapshots, []);
});

test('a cancel marker newer than the alignment gives up both', () => {
  const task = new TestTask(2).barrier(1, 0).cancel(2, 1);
  assert.deepEqual(task.declines, ['1 DECLINED_SUBSUMED', '2 DECLINED_ON_CANCELLATION_BARRIER']);
  assert.deepEqual([...task.blocked], []);
  assert.equal(task.handler.done, 2);
});

test('a source takes its snapshot when triggered', () => {
  const task = new TestTask(0).triggered(1).triggered(1).triggered(2).aborted(3).triggered(3);
  assert.deepEqual(task.snapshots, [1, 2]);
  assert.deepEqual(task.cancels, [3]);
});

test('a task triggered after all its producers finished waits for the ends of its channels', () => {
  const task = new TestTask(2).end(0).triggered(1);
  assert.deepEqual(task.snapshots, []);
  task.end(1);
  assert.deepEqual(task.snapshots, [1]);
  task.triggered(2);
  assert.deepEqual(task.snapshots, [1, 2]);
});

test('a barrier on a channel that ended is a contradiction', () => {
  const task = new TestTask(2).end(0);
  assert.throws(() => task.barrier(1, 0), /barrier 1 on channel 0, which ended/);
});
