/** When the coordinator triggers: intervals, pauses, concurrency, savepoints, ends of data. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestBed } from './test-support.ts';

test('periodic checkpoints keep to their interval', () => {
  const bed = new TestBed({ config: { intervalMs: 100 } }).start(0);
  for (const id of [1, 2, 3]) {
    bed.acknowledgeAll(id);
    bed.advance(100);
  }
  assert.deepEqual(bed.ids('checkpointStarted'), [1, 2, 3, 4]);
});

test('the next trigger comes no sooner than the pause after a completion [I-5]', () => {
  const bed = new TestBed({ config: { intervalMs: 12, minPauseMs: 50 } }).start();
  bed.advance(50);
  bed.advance(30);
  bed.acknowledgeAll(1);
  bed.advance(49);
  assert.deepEqual(bed.ids('checkpointStarted'), [1]);
  bed.advance(1);
  assert.deepEqual(bed.ids('checkpointStarted'), [1, 2]);
});

test('a waiting periodic request is given up within the pause and comes later [I-6]', () => {
  const bed = new TestBed({ config: { intervalMs: 1000, minPauseMs: 1000 } }).start();
  bed.advance(2000);
  assert.deepEqual(bed.coordinator.pendingIds, [1]);
  bed.advance(500);
  bed.acknowledgeAll(1);
  bed.advance(500);
  assert.deepEqual(bed.coordinator.pendingIds, []);
  assert.deepEqual(bed.failures, ['MINIMUM_TIME_BETWEEN_CHECKPOINTS']);
  bed.advance(500);
  assert.deepEqual(bed.coordinator.pendingIds, [2]);
});

test('a checkpoint or savepoint that somebody wants ignores the pause [I-7]', () => {
  const bed = new TestBed({ config: { minPauseMs: 1000 } }).start();
  bed.advance(1000);
  bed.acknowledgeAll(1);
  bed.request();
  assert.deepEqual(bed.coordinator.pendingIds, [2]);
  bed.acknowledgeAll(2);
  bed.request('savepoint');
  assert.deepEqual(bed.coordinator.pendingIds, [3]);
});

test('two may run at once, and completing the newer one subsumes the older [I-9, I-17]', () => {
  const bed = new TestBed({ config: { intervalMs: 100, maxConcurrentCheckpoints: 2 } }).start();
  bed.advance(400);
  assert.deepEqual(bed.coordinator.pendingIds, [1, 2]);
  bed.acknowledge(1, 'a0');
  bed.acknowledgeAll(2);
  assert.deepEqual(bed.failures.slice(-1), ['1 CHECKPOINT_SUBSUMED']);
  assert.deepEqual(bed.ids('discardPending'), [1]);
  assert.deepEqual(bed.ids('notifyComplete'), [2]);
  assert.deepEqual(bed.coordinator.pendingIds, [3, 4]);
  bed.acknowledge(1, 'b0');
  assert.deepEqual(bed.ids('discardSnapshot'), [1], 'an acknowledgement for it comes too late');
});

test('checkpoints become durable one at a time, in the order of their ids', () => {
  const config = { intervalMs: 100, maxConcurrentCheckpoints: 2 };
  const bed = new TestBed({ config, hold: ['finalise'] }).start();
  bed.advance(200);
  bed.acknowledgeAll(1);
  bed.acknowledgeAll(2);
  assert.deepEqual(bed.ids('finalise'), [1]);
  bed.answer('finalise');
  assert.deepEqual(bed.ids('notifyComplete'), [1]);
  assert.deepEqual(bed.ids('finalise'), [1, 2]);
});

test('nothing starts while more checkpoints are being removed than may run [I-11]', () => {
  const config = { intervalMs: 100, tolerableFailedCheckpoints: Infinity };
  const bed = new TestBed({ config, hold: ['discardPending'] }).start();
  for (const id of [1, 2]) {
    bed.advance(100);
    bed.decline(id, 'b0', 'CHECKPOINT_DECLINED');
  }
  bed.advance(500);
  assert.deepEqual(bed.coordinator.pendingIds, []);
  bed.send({ type: 'discarded', checkpointId: 1 });
  assert.deepEqual(bed.coordinator.pendingIds, [3]);
});

test('a savepoint runs beside a pending checkpoint, a second checkpoint waits [I-10]', () => {
  const bed = new TestBed().start();
  bed.advance(1000);
  bed.request();
  assert.deepEqual(bed.coordinator.pendingIds, [1]);
  bed.request('savepoint');
  assert.deepEqual(bed.coordinator.pendingIds, [1, 2]);
  assert.equal(bed.of('triggerTasks')[1]?.trigger.options.kind, 'savepoint');
});

test('a pending savepoint outlives the completion of a newer checkpoint [I-18]', () => {
  const bed = new TestBed({ config: { maxConcurrentCheckpoints: 2, intervalMs: 100 } }).start();
  const savepoint = bed.request('savepoint');
  bed.advance(100);
  assert.deepEqual(bed.coordinator.pendingIds, [1, 2]);
  bed.acknowledgeAll(2);
  assert.deepEqual(bed.coordinator.pendingIds, [1]);
  bed.acknowledgeAll(1);
  const [completed] = bed.of('requestCompleted');
  assert.equal(completed?.requestId, savepoint);
  assert.equal(completed?.checkpoint.directory, '/savepoints/chk-1');
});

test('a savepoint is not stored, and no task is told of it [I-19]', () => {
  const bed = new TestBed().start();
  bed.request('savepoint');
  bed.acknowledgeAll(1);
  assert.equal(bed.of('requestCompleted').length, 1);
  assert.deepEqual(bed.coordinator.completed, []);
  assert.deepEqual(bed.ids('notifyComplete'), []);
  bed.acknowledge(1, 'a0');
  assert.deepEqual(bed.ids('discardSnapshot'), [], 'a repeated answer removes nothing of it');
});

test('neither an expired savepoint is a failure of the job, nor one that a task fails', () => {
  const bed = new TestBed({ config: { intervalMs: null, timeoutMs: 100 } }).start();
  const requestId = bed.request('savepoint');
  bed.advance(100);
  assert.equal(bed.of('requestFailed')[0]?.requestId, requestId);
  assert.equal(bed.of('requestFailed')[0]?.reason, 'CHECKPOINT_EXPIRED');
  assert.equal(bed.of('failJob').length, 0);
  bed.request('savepoint');
  bed.decline(2, 'b0', 'CHECKPOINT_ASYNC_EXCEPTION');
  assert.equal(bed.of('requestFailed')[1]?.reason, 'CHECKPOINT_ASYNC_EXCEPTION');
  assert.equal(bed.of('failJob').length, 0);
});

test('a request is refused while the job does not run', () => {
  const bed = new TestBed();
  bed.request();
  assert.equal(bed.of('requestFailed')[0]?.reason, 'NOT_ALL_REQUIRED_TASKS_RUNNING');
});

test('without an interval only what is asked for is triggered', () => {
  const bed = new TestBed({ config: { intervalMs: null } }).start();
  bed.advance(1e9);
  assert.deepEqual(bed.ids('checkpointStarted'), []);
  const requestId = bed.request();
  bed.acknowledgeAll(1);
  assert.equal(bed.of('requestCompleted')[0]?.requestId, requestId);
  bed.endOfData('a0');
  assert.deepEqual(bed.ids('checkpointStarted'), [1], 'nor does a task wait for a final one');
});

test('none is triggered during backlog at backlog interval 0, and one soon after', () => {
  const config = { intervalMs: 100, intervalDuringBacklogMs: 0 };
  const bed = new TestBed({ config }).start();
  bed.send({ type: 'backlogChanged', operatorId: 'source', isBacklog: true });
  bed.advance(10_000);
  assert.deepEqual(bed.ids('checkpointStarted'), []);
  bed.send({ type: 'backlogChanged', operatorId: 'source', isBacklog: false });
  bed.advance(100);
  assert.deepEqual(bed.ids('checkpointStarted'), [1]);
});

test('a timer that fires early is set again', () => {
  const bed = new TestBed({ config: { timeoutMs: 500 } }).start();
  for (const timerId of ['trigger', 'expire-1']) {
    const at = bed.timers.get(timerId);
    bed.timers.delete(timerId);
    bed.send({ type: 'timer', timerId });
    assert.equal(bed.timers.get(timerId), at);
    bed.advance(1000);
  }
  assert.deepEqual(bed.failures, ['1 CHECKPOINT_EXPIRED']);
});

test('the end of data triggers a checkpoint at once, which serves the task [R037]', () => {
  const bed = new TestBed({ config: { intervalMs: 600_000 } }).start();
  bed.endOfData('a0');
  assert.deepEqual(bed.coordinator.pendingIds, [1]);
  bed.acknowledge(1, 'a0', { finished: true });
  bed.acknowledge(1, 'b0');
  bed.finish('a0');
  bed.advance(599_000);
  assert.deepEqual(bed.ids('checkpointStarted'), [1]);
});

test('tasks that end while a checkpoint runs share the next one', () => {
  const job = { vertices: { a: 3 }, edges: [] };
  const bed = new TestBed({ job, config: { intervalMs: 600_000 } }).start();
  bed.endOfData('a0');
  bed.endOfData('a1');
  bed.endOfData('a2');
  assert.deepEqual(bed.ids('checkpointStarted'), [1]);
  bed.acknowledgeAll(1);
  assert.deepEqual(bed.ids('checkpointStarted'), [1, 2]);
  bed.acknowledgeAll(2);
  assert.deepEqual(bed.ids('checkpointStarted'), [1, 2]);
});

test('a downstream task that acknowledged as finished needs no further checkpoint', () => {
  const bed = new TestBed({ config: { intervalMs: 600_000 } }).start();
  bed.endOfData('a0');
  bed.acknowledge(1, 'a0', { finished: true });
  bed.endOfData('b0');
  bed.acknowledge(1, 'b0', { finished: true });
  assert.deepEqual(bed.ids('checkpointStarted'), [1]);
  assert.deepEqual(bed.ids('notifyComplete'), [1]);
});

test('a final checkpoint that is impossible yet is tried again soon, and ever less often', () => {
  const bed = new TestBed({ config: { intervalMs: 600_000 } }).start();
  bed.setState('b0', 'INITIALIZING');
  bed.endOfData('a0');
  bed.advance(10_000);
  const tries = bed.of('reportTasks').length;
  assert.ok(tries >= 5 && tries <= 8, `${tries} tries`);
  bed.setState('b0', 'RUNNING');
  bed.advance(10_000);
  assert.deepEqual(bed.coordinator.pendingIds, [1]);
});

test('a task keeps waiting for its last checkpoint when others fail and it does not', () => {
  const bed = new TestBed({ config: { intervalMs: 600_000 } }).start();
  bed.endOfData('a0');
  bed.send({ type: 'tasksFailed', executions: [bed.ref('b0')] });
  bed.send({ type: 'jobStopped' });
  bed.deploy('b0');
  bed.start();
  assert.deepEqual(bed.coordinator.pendingIds, [2]);
});

test('a task that starts again waits for nothing until it ends again', () => {
  const bed = new TestBed({ config: { intervalMs: 600_000 } }).start();
  bed.endOfData('a0');
  bed.send({ type: 'tasksFailed', executions: [bed.ref('a0')] });
  bed.send({ type: 'jobStopped' });
  bed.deploy('a0');
  bed.start();
  bed.advance(1000);
  assert.deepEqual(bed.coordinator.pendingIds, []);
});

test('a savepoint does not serve a task at its end', () => {
  const config = { intervalMs: 600_000, maxConcurrentCheckpoints: 2 };
  const bed = new TestBed({ config }).start();
  bed.request();
  bed.setState('b0', 'INITIALIZING');
  bed.endOfData('a0');
  bed.setState('b0', 'RUNNING');
  bed.request('savepoint');
  assert.deepEqual(bed.coordinator.pendingIds, [1, 2]);
  bed.acknowledgeAll(1);
  bed.advance(100);
  assert.deepEqual(bed.coordinator.pendingIds, [2, 3]);
});

test('an end of data that waits for its turn is one request, however long it waits', () => {
  const bed = new TestBed({ config: { intervalMs: 600_000 } }).start();
  bed.request();
  bed.endOfData('a0');
  for (let round = 0; round < 5; round++) bed.acknowledge(1, 'a0');
  bed.send({ type: 'jobStopped' });
  assert.equal(bed.of('triggerDropped').length, 1);
});

test('without the feature no checkpoint is wanted at the end of data', () => {
  const bed = new TestBed({ config: { checkpointsAfterTasksFinish: false } }).start();
  bed.endOfData('a0');
  assert.deepEqual(bed.ids('checkpointStarted'), []);
});
