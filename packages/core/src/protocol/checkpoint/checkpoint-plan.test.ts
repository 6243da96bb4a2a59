import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionRef } from '../../base/ids.ts';
import type { ExecutionState } from '../messages.ts';
import { calculateCheckpointPlan } from './checkpoint-plan.ts';
import type { PlanResult } from './checkpoint-plan.ts';
import { JobTopology } from './job-topology.ts';
import { jobGraphOf, vertexIdOf } from './test-support.ts';
import type { TestJob } from './test-support.ts';

/** All run but those named, such as `a0`. */
function planOf(
  job: TestJob,
  states: Readonly<Record<string, ExecutionState>> = {},
  checkpointsAfterTasksFinish = true,
): PlanResult {
  const executions = Object.entries(job.vertices).flatMap(([name, parallelism]) =>
    Array.from({ length: parallelism }, (_, subtask) => ({
      ref: { vertexId: vertexIdOf(name), subtask, attempt: { epoch: 1, counter: 1 } },
      state: states[`${name}${subtask}`] ?? ('RUNNING' as const),
    })),
  );
  const topology = new JobTopology(jobGraphOf(job));
  return calculateCheckpointPlan(topology, executions, { checkpointsAfterTasksFinish });
}

function names(refs: readonly ExecutionRef[]): string[] {
  return refs.map(({ vertexId, subtask }) => vertexId.replace(/^0+/, '') + subtask);
}

test('of sources that feed all, only the running one is triggered [I-33]', () => {
  const job: TestJob = { vertices: { s: 3, t: 4 }, edges: [['s', 't']] };
  const result = planOf(job, { s0: 'FINISHED', s1: 'FINISHED' });
  assert.ok(result.ok);
  assert.deepEqual(names(result.plan.tasksToTrigger), ['s2']);
  assert.deepEqual(names(result.plan.tasksToWaitFor), ['s2', 't0', 't1', 't2', 't3']);
  assert.deepEqual(names(result.plan.finishedTasks), ['s0', 's1']);
  assert.equal(result.plan.fullyFinishedVertices.size, 0);
});

test('of sources that feed one each, what finished ones fed is triggered [I-34]', () => {
  const job: TestJob = { vertices: { s: 4, t: 4 }, edges: [['s', 't', 'forward']] };
  const result = planOf(job, { s0: 'FINISHED', s1: 'FINISHED' });
  assert.ok(result.ok);
  assert.deepEqual(names(result.plan.tasksToTrigger), ['s2', 's3', 't0', 't1']);
});

test('a task behind a running one is not triggered, even if another of its sources is done', () => {
  const job: TestJob = {
    vertices: { s: 1, r: 1, t: 1 },
    edges: [
      ['s', 't'],
      ['r', 't'],
    ],
  };
  const result = planOf(job, { s0: 'FINISHED' });
  assert.ok(result.ok);
  assert.deepEqual(names(result.plan.tasksToTrigger), ['r0']);
  assert.deepEqual([...result.plan.fullyFinishedVertices], [vertexIdOf('s')]);
});

test('one task that does not run yet makes a checkpoint impossible, and is named', () => {
  const job: TestJob = { vertices: { s: 1, t: 2 }, edges: [['s', 't']] };
  const result = planOf(job, { t1: 'INITIALIZING' });
  assert.deepEqual(result, {
    ok: false,
    message: '"t" (subtask 1 of 2) is INITIALIZING, not RUNNING',
  });
});

test('a finished task makes checkpoints impossible when the feature is off [I-23]', () => {
  const job: TestJob = { vertices: { s: 2, t: 1 }, edges: [['s', 't']] };
  assert.equal(planOf(job, { s0: 'FINISHED' }, false).ok, false);
  assert.equal(planOf(job, {}, false).ok, true);
});

test('with every task finished there is nobody to wait for', () => {
  const result = planOf({ vertices: { s: 1 }, edges: [] }, { s0: 'FINISHED' });
  assert.ok(result.ok);
  assert.deepEqual(result.plan.tasksToWaitFor, []);
  assert.deepEqual([...result.plan.fullyFinishedVertices], [vertexIdOf('s')]);
});
