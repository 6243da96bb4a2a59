import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completedCheckpoint, errorInfo, PIPELINE, TestBed } from './test-support.ts';
import type { CoordinatorEffect } from './coordinator-messages.ts';

const TYPES_OF_A_CHECKPOINT: readonly CoordinatorEffect['type'][] = [
  'reportTasks',
  'drawId',
  'checkpointStarted',
  'prepareLocation',
  'snapshotCoordinators',
  'triggerTasks',
  'subtaskAcknowledged',
  'subtaskAcknowledged',
  'finalise',
  'notifyComplete',
  'checkpointEnded',
];

test('a checkpoint takes its steps in order, each after the answer to the one before', () => {
  const bed = new TestBed().start();
  bed.advance(1000);
  bed.acknowledgeAll(1);
  const steps = bed.effects.map(({ type }) => type).filter((type) => !type.endsWith('Timer'));
  assert.deepEqual(steps, TYPES_OF_A_CHECKPOINT);
});

test('no step is taken before the one before it is answered', () => {
  const steps = ['reportTasks', 'drawId', 'prepareLocation', 'snapshotCoordinators'] as const;
  for (const [index, step] of steps.entries()) {
    const bed = new TestBed({ hold: [step] }).start();
    bed.advance(1000);
    const next = ['drawId', 'prepareLocation', 'snapshotCoordinators', 'triggerTasks'][index];
    assert.equal(bed.effects.filter(({ type }) => type === next).length, 0);
    bed.answer(step);
    assert.equal(bed.effects.filter(({ type }) => type === next).length, 1);
  }
});

test('only tasks without running producers are triggered, with the id and the directory', () => {
  const bed = new TestBed().start();
  bed.advance(1000);
  const [effect] = bed.of('triggerTasks');
  assert.deepEqual(effect?.executions, [bed.ref('a0')]);
  assert.deepEqual(effect?.trigger, {
    checkpointId: 1,
    timestamp: 1e12,
    options: { kind: 'checkpoint', location: '/chk-1' },
  });
});

test('two needed acknowledgements complete a checkpoint, and both tasks are told [I-13]', () => {
  const bed = new TestBed().start();
  bed.advance(1000);
  bed.acknowledge(1, 'a0');
  assert.equal(bed.of('finalise').length, 0);
  bed.acknowledge(1, 'b0');
  const [told] = bed.of('notifyComplete');
  assert.deepEqual(told?.executions, [bed.ref('a0'), bed.ref('b0')]);
  assert.equal(told?.checkpointId, 1);
  assert.deepEqual(
    bed.coordinator.completed.map((checkpoint) => checkpoint.checkpointId),
    [1],
  );
  assert.equal(bed.coordinator.latestCompleted?.directory, '/chk-1');
});

test('a checkpoint that one worker has not acknowledged does not exist [R002]', () => {
  const job = { vertices: { a: 2 }, edges: [] };
  const bed = new TestBed({ job }).start();
  bed.advance(1000);
  bed.acknowledge(1, 'a0');
  bed.send({ type: 'tasksFailed', executions: [bed.ref('a0'), bed.ref('a1')] });
  assert.equal(bed.of('finalise').length, 0);
  assert.equal(bed.coordinator.latestCompleted, null);
  assert.deepEqual(bed.ids('discardPending'), [1]);
});

test('nobody is told, and nothing is restored from it, before it is durable', () => {
  const bed = new TestBed({ hold: ['finalise'] }).start();
  bed.advance(1000);
  bed.acknowledgeAll(1);
  assert.equal(bed.coordinator.isFinalising, true);
  assert.equal(bed.coordinator.latestCompleted, null);
  assert.deepEqual(bed.ids('notifyComplete'), []);
  bed.answer('finalise');
  assert.equal(bed.coordinator.isFinalising, false);
  assert.deepEqual(bed.ids('notifyComplete'), [1]);
});

test('the metadata holds every acknowledgement, by vertex and subtask', () => {
  const job = { vertices: { a: 2, b: 1 }, edges: [['a', 'b']] as const };
  const bed = new TestBed({ job }).start();
  bed.advance(1000);
  for (const task of ['b0', 'a1', 'a0']) bed.acknowledge(1, task);
  const metadata = bed.of('finalise')[0]?.metadata;
  assert.equal(metadata?.checkpointId, 1);
  assert.equal(metadata?.triggeredAt, 1e12);
  assert.deepEqual(
    metadata?.vertices.map(({ name, subtasks }) => [name, subtasks.map((s) => s.subtask)]),
    [
      ['a', [0, 1]],
      ['b', [0]],
    ],
  );
});

test('at the time-out what was acknowledged is deleted and nothing is complete [I-14]', () => {
  const bed = new TestBed({ config: { timeoutMs: 500 } }).start();
  bed.advance(1000);
  bed.acknowledge(1, 'a0');
  bed.advance(500);
  assert.deepEqual(bed.failures, ['1 CHECKPOINT_EXPIRED']);
  assert.deepEqual(bed.ids('discardPending'), [1]);
  assert.deepEqual(bed.ids('notifyAborted'), [1]);
  assert.deepEqual(bed.ids('notifyComplete'), []);
  assert.deepEqual(bed.coordinator.completed, []);
});

test('an expired checkpoint says who holds the barrier, and how long [R041]', () => {
  const job = {
    vertices: { a: 1, b: 2, c: 1 },
    edges: [
      ['a', 'b'],
      ['b', 'c'],
    ] as const,
  };
  const bed = new TestBed({ job, config: { timeoutMs: 600, tolerableFailedCheckpoints: 1 } });
  bed.start();
  bed.advance(1000);
  bed.advance(100);
  bed.acknowledge(1, 'a0');
  bed.acknowledge(1, 'b1');
  bed.advance(500);
  assert.equal(
    bed.of('checkpointEnded')[0]?.failure?.message,
    'checkpoint 1 did not complete within 600 ms: 2 of 4 subtasks have not acknowledged. ' +
      '"b" (subtask 0 of 2), attempt 1-2, has held the barrier for 500 ms. ' +
      'Waiting for the barrier: "c" (subtask 0 of 1). ' +
      'Look there for blocking code or back-pressure, or raise execution.checkpointing.timeout',
  );
  assert.equal(bed.of('failJob').length, 0);
  bed.advance(400);
  assert.deepEqual(bed.ids('checkpointStarted'), [1, 2], 'the next one may start');
});

test('a checkpoint expires also while its directory is made, which is then removed', () => {
  const bed = new TestBed({ config: { timeoutMs: 500 }, hold: ['prepareLocation'] }).start();
  bed.advance(1500);
  assert.deepEqual(bed.failures, ['1 CHECKPOINT_EXPIRED']);
  assert.match(bed.of('checkpointEnded')[0]?.failure?.message ?? '', /its directory was not ready/);
  assert.deepEqual(bed.ids('notifyAborted'), [], 'no task knows of it');
  bed.answer('prepareLocation');
  assert.deepEqual(bed.ids('discardPending'), [1]);
  assert.equal(bed.of('snapshotCoordinators').length, 0);
});

test('no time-out strikes once all have acknowledged: it may be durable already', () => {
  const bed = new TestBed({ config: { timeoutMs: 500 }, hold: ['finalise'] }).start();
  bed.advance(1000);
  bed.acknowledgeAll(1);
  bed.advance(10_000);
  bed.send({ type: 'timer', timerId: 'expire-1' });
  assert.deepEqual(bed.failures.includes('1 CHECKPOINT_EXPIRED'), false);
  bed.answer('finalise');
  assert.deepEqual(bed.ids('notifyComplete'), [1]);
});

test('a failure while it is made durable does not undo it', () => {
  const bed = new TestBed({ hold: ['finalise'] }).start();
  bed.advance(1000);
  bed.acknowledgeAll(1);
  bed.send({ type: 'tasksFailed', executions: [bed.ref('b0')] });
  bed.send({ type: 'jobStopped' });
  assert.equal(bed.coordinator.isFinalising, true);
  bed.answer('finalise');
  assert.equal(bed.coordinator.latestCompleted?.checkpointId, 1);
});

test('a checkpoint that cannot be made durable is aborted, counted and removed', () => {
  const bed = new TestBed({ hold: ['finalise'] }).start();
  bed.advance(1000);
  bed.acknowledgeAll(1);
  bed.failFinalise();
  assert.deepEqual(bed.failures, ['1 FINALIZE_CHECKPOINT_FAILURE']);
  assert.deepEqual(bed.ids('discardPending'), [1]);
  assert.deepEqual(bed.ids('notifyAborted'), [1]);
  assert.match(bed.of('failJob')[0]?.message ?? '', /disk full/);
});

test('a late acknowledgement has its state removed, and nothing else is touched [I-15]', () => {
  const bed = new TestBed({ config: { tolerableFailedCheckpoints: 9 } }).start();
  bed.advance(1000);
  bed.decline(1, 'b0', 'CHECKPOINT_DECLINED');
  bed.advance(1000);
  bed.acknowledge(1, 'a0');
  assert.deepEqual(bed.ids('discardSnapshot'), [1]);
  assert.equal(bed.of('discardSnapshot')[0]?.directory, '/chk-1');
  assert.deepEqual(bed.coordinator.pendingIds, [2]);
});

test('an acknowledgement or completion told again changes nothing [R023]', () => {
  const bed = new TestBed().start();
  bed.advance(1000);
  bed.acknowledge(1, 'a0');
  bed.acknowledge(1, 'a0');
  assert.equal(bed.of('finalise').length, 0);
  bed.acknowledge(1, 'b0');
  bed.acknowledge(1, 'b0');
  bed.send({ type: 'finalised', checkpointId: 1, sizeBytes: 1 });
  assert.deepEqual(bed.ids('notifyComplete'), [1]);
  assert.deepEqual(bed.ids('discardSnapshot'), []);
});

test('an acknowledgement of another attempt does not count, and its state is removed', () => {
  const bed = new TestBed().start();
  const present = bed.ref('b0');
  bed.advance(1000);
  bed.acknowledge(1, 'a0');
  bed.deploy('b0');
  bed.acknowledge(1, 'b0');
  assert.deepEqual(bed.ids('discardSnapshot'), [1]);
  assert.equal(bed.of('finalise').length, 0);
  bed.send({
    type: 'declined',
    execution: bed.ref('b0'),
    checkpointId: 1,
    reason: 'CHECKPOINT_DECLINED',
    error: null,
  });
  assert.deepEqual(bed.coordinator.pendingIds, [1], 'nor does it decline');
  assert.notDeepEqual(present, bed.ref('b0'));
});

test('a failed task aborts what is pending at once, and all tasks are told', () => {
  const bed = new TestBed().start();
  bed.advance(1000);
  bed.send({ type: 'tasksFailed', executions: [bed.ref('b0')] });
  assert.deepEqual(bed.failures, ['1 TASK_FAILURE']);
  assert.deepEqual(bed.of('notifyAborted')[0]?.executions, [bed.ref('a0'), bed.ref('b0')]);
  assert.equal(bed.of('failJob').length, 0);
});

test('a task that ends before it acknowledges aborts the checkpoint, which does not count', () => {
  const bed = new TestBed().start();
  bed.advance(1000);
  bed.finish('a0');
  assert.deepEqual(bed.failures, ['1 DECLINED_TASK_CLOSING']);
  assert.equal(bed.of('failJob').length, 0);
});

test('a task that ends between plan and id ends the trigger, and the id stays unused', () => {
  const bed = new TestBed({ hold: ['drawId'] }).start();
  bed.advance(1000);
  bed.finish('a0');
  bed.answer('drawId');
  assert.deepEqual(bed.failures, ['DECLINED_TASK_CLOSING']);
  assert.deepEqual(bed.ids('checkpointStarted'), []);
  assert.equal(bed.coordinator.lastId, 1);
  bed.hold.clear();
  bed.advance(1000);
  assert.deepEqual(bed.ids('checkpointStarted'), [2]);
});

test('with every task finished a checkpoint completes with marks alone', () => {
  const bed = new TestBed().start();
  bed.finish('a0');
  bed.finish('b0');
  bed.advance(1000);
  const metadata = bed.of('finalise')[0]?.metadata;
  assert.deepEqual(
    metadata?.vertices.map(({ fullyFinished, subtasks }) => [fullyFinished, subtasks]),
    [
      [true, []],
      [true, []],
    ],
  );
  assert.deepEqual(bed.ids('notifyComplete'), [1]);
});

test('the finished subtask of a vertex that still runs is stored as finished [I-37]', () => {
  const bed = new TestBed({ job: { vertices: { a: 2 }, edges: [] } }).start();
  bed.finish('a0');
  bed.advance(1000);
  bed.acknowledge(1, 'a1');
  const [vertex] = bed.of('finalise')[0]?.metadata.vertices ?? [];
  assert.equal(vertex?.fullyFinished, false);
  assert.deepEqual(
    vertex?.subtasks.map(({ finished }) => finished),
    [true, false],
  );
});

test('union state with half the subtasks finished fails the checkpoint, not the job [I-35]', () => {
  const bed = new TestBed({ job: { vertices: { a: 2 }, edges: [] } }).start();
  bed.finish('a0');
  bed.advance(1000);
  bed.acknowledge(1, 'a1', {
    operators: [
      {
        operatorId: bed.ref('a1').vertexId as never,
        uid: null,
        name: 'offsets',
        type: 'source',
        keyed: null,
        operatorStates: [{ name: 'splits', mode: 'union', items: [] }],
      },
    ],
  });
  assert.deepEqual(bed.failures, ['1 DECLINED_TASK_CLOSING']);
  assert.match(
    bed.of('checkpointEnded')[0]?.failure?.message ?? '',
    /"offsets" has union list state, and of its 2 subtasks only 1 have finished/,
  );
  assert.equal(bed.of('failJob').length, 0);
});

test('after one task finished no checkpoint is taken when the feature is off [I-23]', () => {
  const bed = new TestBed({ config: { checkpointsAfterTasksFinish: false } }).start();
  bed.finish('a0');
  bed.advance(1000);
  assert.deepEqual(bed.failures, ['NOT_ALL_REQUIRED_TASKS_RUNNING']);
  assert.deepEqual(bed.ids('checkpointStarted'), []);
});

test('snapshots that do not fit together are never published', () => {
  const bed = new TestBed({ config: { tolerableFailedCheckpoints: 1 } }).start();
  bed.advance(1000);
  bed.acknowledge(1, 'a0', { outputs: [{ channelId: 0, mark: 5, e: 5, frames: [] }] });
  const valve = { watermark: 0, idle: false, endOfData: false, frames: [] };
  bed.acknowledge(1, 'b0', { inputs: [{ channelId: 0, k: 4, mark: 4, ...valve }] });
  assert.equal(bed.of('finalise').length, 0);
  assert.deepEqual(bed.failures, ['1 FINALIZE_CHECKPOINT_FAILURE']);
});

test('an aborted checkpoint is told with the last completed one [I-22]', () => {
  const bed = new TestBed().start();
  bed.advance(1000);
  bed.acknowledgeAll(1);
  bed.advance(1000);
  bed.decline(2, 'b0', 'CHECKPOINT_DECLINED');
  const [told] = bed.of('notifyAborted');
  assert.equal(told?.checkpointId, 2);
  assert.equal(told?.latestCompletedId, 1);
});

test('more failures in a row than tolerated fail the job once, with the cause [I-26]', () => {
  const bed = new TestBed({ config: { tolerableFailedCheckpoints: 2 } }).start();
  for (const id of [1, 2, 3]) {
    bed.advance(1000);
    bed.decline(id, 'b0', id === 3 ? 'DECLINED_TASK_NOT_READY' : 'CHECKPOINT_DECLINED');
  }
  assert.equal(bed.of('failJob').length, 0);
  bed.advance(1000);
  bed.decline(4, 'b0', 'CHECKPOINT_ASYNC_EXCEPTION');
  assert.equal(bed.of('failJob').length, 1);
  assert.equal(
    bed.of('failJob')[0]?.message,
    '3 checkpoints failed in a row, and execution.checkpointing.tolerable-failed-checkpoints ' +
      'is 2; the last one, 4, failed: "b" (subtask 0 of 1) declined it ' +
      '(CHECKPOINT_ASYNC_EXCEPTION): no',
  );
});

test('the job goes on when a completion lies between the failures [I-27]', () => {
  const bed = new TestBed({ config: { tolerableFailedCheckpoints: 1 } }).start();
  for (const id of [1, 2, 3, 4]) {
    bed.advance(1000);
    if (id % 2 === 0) bed.acknowledgeAll(id);
    else bed.decline(id, 'b0', 'CHECKPOINT_DECLINED');
  }
  assert.equal(bed.of('failJob').length, 0);
});

test('a storage that fails before there is an id counts too', () => {
  const bed = new TestBed({ hold: ['drawId'] }).start();
  bed.advance(1000);
  const { triggerId } = bed.held('drawId')[0] ?? { triggerId: -1 };
  const error = errorInfo('no space');
  bed.send({ type: 'triggerFailed', triggerId, reason: 'IO_EXCEPTION', error });
  assert.deepEqual(bed.failures, ['IO_EXCEPTION']);
  assert.equal(bed.of('failJob')[0]?.checkpointId, null);
});

test('a failed directory aborts the pending checkpoint and frees the next trigger', () => {
  const config = { tolerableFailedCheckpoints: 1 };
  const bed = new TestBed({ config, hold: ['prepareLocation'] }).start();
  bed.advance(1000);
  const { triggerId } = bed.held('prepareLocation')[0] ?? { triggerId: -1 };
  const error = errorInfo('no space');
  bed.send({ type: 'triggerFailed', triggerId, reason: 'IO_EXCEPTION', error });
  assert.deepEqual(bed.failures, ['1 IO_EXCEPTION']);
  bed.hold.clear();
  bed.advance(1000);
  assert.deepEqual(bed.coordinator.pendingIds, [2]);
});

test('ids only rise: a job goes on behind the last id of any earlier run', () => {
  const bed = new TestBed({ restored: [completedCheckpoint(7)], lastId: 9 }).start();
  assert.equal(bed.coordinator.lastId, 9);
  bed.advance(1000);
  assert.deepEqual(bed.ids('checkpointStarted'), [10]);
  assert.throws(
    () => {
      bed.acknowledgeAll(10);
      bed.hold.add('drawId');
      bed.advance(1000);
      const { triggerId } = bed.held('drawId')[0] ?? { triggerId: -1 };
      bed.send({ type: 'idDrawn', triggerId, checkpointId: 10, timestamp: 0 });
    },
    { message: 'id 10 was drawn after id 10' },
  );
});

test('an older checkpoint is removed only when the newer one is stored [R106]', () => {
  const restored = [3, 4, 5].map((id) => completedCheckpoint(id));
  const config = { numRetained: 3 };
  const bed = new TestBed({ restored, lastId: 5, config, hold: ['finalise'] }).start();
  bed.advance(1000);
  bed.acknowledgeAll(6);
  assert.deepEqual(bed.of('discardCheckpoint'), []);
  bed.answer('finalise');
  const discarded = bed.of('discardCheckpoint').map(({ checkpoint }) => checkpoint.checkpointId);
  assert.deepEqual(discarded, [3]);
  assert.equal(bed.of('notifyComplete')[0]?.subsumedId, 3);
  const last = bed.effects.slice(-4).map(({ type }) => type);
  assert.ok(last.indexOf('discardCheckpoint') < last.indexOf('notifyComplete'));
});

test('a snapshot that the job does not own leaves the store, but its files stay', () => {
  const restored = [completedCheckpoint(5, { isOwned: false })];
  const bed = new TestBed({ restored, lastId: 5 }).start();
  bed.advance(1000);
  bed.acknowledgeAll(6);
  assert.deepEqual(bed.of('discardCheckpoint'), []);
  assert.deepEqual(
    bed.coordinator.completed.map(({ checkpointId }) => checkpointId),
    [6],
  );
});

test('the end of a run keeps or removes stored checkpoints by the retention rule [I-31]', () => {
  const removedAt = (end: 'FINISHED' | 'CANCELED' | 'FAILED' | 'SUSPENDED'): number => {
    const bed = new TestBed({ restored: [completedCheckpoint(1)], lastId: 1 }).start();
    bed.send({ type: 'runEnded', end });
    return bed.of('discardCheckpoint').length;
  };
  assert.deepEqual([removedAt('FINISHED'), removedAt('CANCELED')], [1, 1]);
  assert.deepEqual([removedAt('FAILED'), removedAt('SUSPENDED')], [0, 0]);
});

test('a checkpoint that becomes durable after the end of the run is removed too', () => {
  const bed = new TestBed({ hold: ['finalise'] }).start();
  bed.advance(1000);
  bed.acknowledgeAll(1);
  bed.send({ type: 'runEnded', end: 'CANCELED' });
  bed.answer('finalise');
  assert.equal(bed.of('discardCheckpoint').length, 1);
  assert.equal(bed.coordinator.latestCompleted, null);
});

test('what a job stops is aborted, and what waited is refused', () => {
  const bed = new TestBed().start();
  bed.request();
  const waiting = bed.request();
  bed.send({ type: 'jobStopped' });
  assert.deepEqual(bed.failures, ['1 CHECKPOINT_COORDINATOR_SUSPEND']);
  assert.deepEqual(
    bed.of('requestFailed').map(({ requestId, reason }) => [requestId, reason]),
    [
      [waiting, 'CHECKPOINT_COORDINATOR_SUSPEND'],
      ['request-1', 'CHECKPOINT_COORDINATOR_SUSPEND'],
    ],
  );
  assert.deepEqual([...bed.timers.keys()], []);
  bed.advance(10_000);
  assert.deepEqual(bed.ids('checkpointStarted'), [1]);
});

test('two stuck checkpoints do not keep the job from going on after a restart [R047]', () => {
  const bed = new TestBed({ config: { maxConcurrentCheckpoints: 2, intervalMs: 100 } }).start();
  bed.advance(1000);
  assert.deepEqual(bed.coordinator.pendingIds, [1, 2]);
  bed.setState('b0', 'FAILED');
  bed.send({ type: 'tasksFailed', executions: [bed.ref('b0')] });
  bed.send({ type: 'jobStopped' });
  assert.deepEqual(bed.coordinator.pendingIds, []);
  bed.deploy('b0');
  bed.start();
  bed.advance(100);
  assert.deepEqual(bed.coordinator.pendingIds, [3]);
  bed.acknowledgeAll(3);
  assert.equal(bed.coordinator.latestCompleted?.checkpointId, 3);
});

test('answers to what was given up are ignored', () => {
  for (const step of ['reportTasks', 'drawId', 'snapshotCoordinators'] as const) {
    const bed = new TestBed({ hold: [step] }).start();
    bed.advance(1000);
    bed.send({ type: 'jobStopped' });
    bed.answer(step);
    assert.equal(bed.of('triggerTasks').length, 0);
    assert.deepEqual(bed.coordinator.pendingIds, []);
  }
});

test('who has acknowledged is told at once, and only once', () => {
  const bed = new TestBed({ job: PIPELINE }).start();
  bed.advance(1000);
  bed.advance(70);
  bed.acknowledge(1, 'a0');
  bed.acknowledge(1, 'a0');
  const told = bed.of('subtaskAcknowledged');
  assert.deepEqual(
    told.map(({ checkpointId, acknowledged }) => [checkpointId, acknowledged.latencyMs]),
    [[1, 70]],
  );
});

test('every checkpoint that was begun ends once, with what was acknowledged', () => {
  const bed = new TestBed({ job: PIPELINE }).start();
  bed.advance(1000);
  bed.acknowledge(1, 'a0');
  bed.advance(70);
  bed.acknowledge(1, 'b0');
  const [ended] = bed.of('checkpointEnded');
  assert.equal(ended?.failure, null);
  assert.equal(ended?.durationMs, 70);
  assert.deepEqual(
    ended?.acknowledged.map(({ latencyMs, sizeBytes }) => [latencyMs, sizeBytes]),
    [
      [0, 10],
      [70, 10],
    ],
  );
});
