import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subtaskKey } from '../../base/ids.ts';
import type { TaskRestore } from '../messages.ts';
import { slotLayoutOf } from '../slots/slot-layout.ts';
import { channelsOf } from './channels.ts';
import { deploymentsOf } from './deployments.ts';
import { JobExecution } from './job-execution.ts';
import { jobGraphOf, vertexIdOf } from './job-graph-fixture.ts';

test('a deployment names place, channels with both attempts, and what is restored', () => {
  const jobGraph = jobGraphOf({ a: 1, b: { parallelism: 2, maxParallelism: 64 } }, ['a -hash-> b']);
  const job = new JobExecution({
    jobGraph,
    epoch: 3,
    restartStrategy: { type: 'none' },
    failoverStrategy: 'region',
  });
  const restore: TaskRestore = {
    checkpointId: 5,
    directory: '/checkpoints/chk-5',
    operators: [],
    inputs: [],
    outputs: [],
    finished: false,
  };
  const executions = job.executions().map(({ ref }) => ref);
  const [a, , b1] = deploymentsOf(executions, {
    jobGraph,
    channels: channelsOf(jobGraph),
    slots: slotLayoutOf(jobGraph),
    job,
    restores: new Map([[subtaskKey(vertexIdOf('b'), 1), restore]]),
    ignoreUpTo: 6,
    lastCompletedCheckpointId: 5,
  });
  const [refA, , refB1] = executions;
  const channel = {
    channelId: 1,
    edge: 0,
    producer: refA,
    producerSlot: 0,
    consumer: refB1,
    consumerSlot: 1,
  };
  assert.deepEqual(b1, {
    execution: refB1,
    parallelism: 2,
    maxParallelism: 64,
    attemptNumber: 0,
    slot: 1,
    inputs: [channel],
    outputs: [],
    targetMaxParallelism: {},
    restore,
    ignoreUpTo: 6,
    lastCompletedCheckpointId: 5,
  });
  assert.equal(a?.restore, null);
  assert.deepEqual(a?.targetMaxParallelism, { 0: 64 });
  assert.deepEqual(
    a?.outputs.map(({ channelId }) => channelId),
    [0, 1],
  );
});
