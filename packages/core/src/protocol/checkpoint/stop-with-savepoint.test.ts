/** Stopping with a savepoint, as the coordinator sees it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestBed } from './test-support.ts';

for (const stop of ['suspend', 'drain'] as const) {
  test(`to ${stop} aborts what is pending and queued, and nothing periodic follows`, () => {
    const bed = new TestBed().start();
    bed.advance(1000);
    const waiting = bed.request();
    const requestId = bed.request('savepoint', stop);
    assert.deepEqual(bed.failures, ['1 CHECKPOINT_COORDINATOR_SUSPEND']);
    assert.equal(bed.of('requestFailed')[0]?.requestId, waiting);
    assert.deepEqual(
      bed.of('triggerTasks').map(({ trigger }) => trigger.options.kind),
      ['checkpoint', stop],
    );
    bed.advance(10_000);
    assert.deepEqual(bed.ids('checkpointStarted'), [1, 2]);
    bed.acknowledgeAll(2);
    assert.equal(bed.of('requestCompleted')[0]?.requestId, requestId);
    bed.advance(10_000);
    assert.deepEqual(bed.ids('checkpointStarted'), [1, 2], 'nor after its completion');
  });
}

test('the savepoint that stops a job is stored, and tasks are told of it, unlike others', () => {
  const bed = new TestBed().start();
  bed.request('savepoint', 'suspend');
  bed.acknowledgeAll(1);
  assert.deepEqual(bed.ids('notifyComplete'), [1]);
  const { latestCompleted } = bed.coordinator;
  assert.equal(latestCompleted?.checkpointId, 1);
  assert.equal(latestCompleted.stopsJob, true);
  assert.equal(latestCompleted.isOwned, false, 'its files are the user’s');
  assert.equal(bed.of('finalise')[0]?.stopsJob, true);
});

test('the savepoint that stops a job subsumes the last checkpoint', () => {
  const bed = new TestBed().start();
  bed.advance(1000);
  bed.acknowledgeAll(1);
  bed.request('savepoint', 'drain');
  bed.acknowledgeAll(2);
  assert.deepEqual(
    bed.of('discardCheckpoint').map(({ checkpoint }) => checkpoint.checkpointId),
    [1],
  );
});

test('when it fails, periodic checkpoints go on, and the job has not failed [I-39]', () => {
  const bed = new TestBed().start();
  const requestId = bed.request('savepoint', 'suspend');
  bed.decline(1, 'b0', 'CHECKPOINT_ASYNC_EXCEPTION');
  assert.equal(bed.of('requestFailed')[0]?.requestId, requestId);
  assert.deepEqual(bed.ids('notifyAborted'), [1], 'so that suspended tasks go on');
  assert.equal(bed.of('failJob').length, 0);
  bed.advance(1000);
  assert.deepEqual(bed.ids('checkpointStarted'), [1, 2]);
  bed.acknowledgeAll(2);
  assert.deepEqual(bed.ids('notifyComplete'), [2]);
});

test('when its trigger fails, periodic checkpoints go on as well [I-39]', () => {
  const bed = new TestBed({ hold: ['prepareLocation'] }).start();
  bed.request('savepoint', 'suspend');
  const [held] = bed.held('prepareLocation');
  const error = {
    name: 'Error',
    code: null,
    kind: 'transient',
    message: 'no such folder',
  } as const;
  bed.send({
    type: 'triggerFailed',
    triggerId: held?.triggerId ?? 0,
    reason: 'IO_EXCEPTION',
    error: { ...error, details: {}, stack: '', causes: [] },
  });
  assert.match(bed.of('requestFailed')[0]?.message ?? '', /no such folder/);
  assert.equal(bed.of('failJob').length, 0);
  bed.hold.clear();
  bed.advance(1000);
  assert.deepEqual(bed.ids('checkpointStarted'), [1, 2]);
});

test('while a job is being stopped, nothing else can be asked for', () => {
  const bed = new TestBed().start();
  bed.request('savepoint', 'suspend');
  const refused = [bed.request(), bed.request('savepoint'), bed.request('savepoint', 'drain')];
  assert.deepEqual(
    bed.of('requestFailed').map(({ requestId }) => requestId),
    refused,
  );
  assert.match(bed.of('requestFailed')[0]?.message ?? '', /being stopped with a savepoint/);
});

test('tasks at the end of their data end with it', () => {
  const bed = new TestBed({ hold: ['finalise'] }).start();
  bed.endOfData('a0');
  // The final checkpoint that was begun for it gives way.
  bed.request('savepoint', 'suspend');
  bed.acknowledge(2, 'a0', { finished: true });
  bed.acknowledge(2, 'b0');
  bed.answer('finalise');
  assert.deepEqual(bed.ids('notifyComplete'), [2]);
  bed.advance(100_000);
  assert.deepEqual(bed.ids('checkpointStarted'), [1, 2]);
});
