import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  StateCorruptionError,
  StateMigrationError,
  StorageUnavailableError,
  toErrorInfo,
  UserFunctionError,
} from '../../base/errors.ts';
import type { ErrorInfo } from '../../base/errors.ts';
import type { ExecutionRef } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import type { ExecutionState } from '../messages.ts';
import { JobExecution } from './job-execution.ts';
import type { JobExecutionOptions } from './job-execution.ts';
import type { JobEffect, JobEvent } from './job-events.ts';
import { jobGraphOf, vertexIdOf } from './job-graph-fixture.ts';

const lost = toErrorInfo(new StorageUnavailableError('the disk is away'));
const oneRegion = (): JobGraph => jobGraphOf({ a: 1, b: 1 }, ['a -hash-> b']);
const threeRegions = (): JobGraph => jobGraphOf({ a: 3, b: 3 }, ['a -forward-> b']);

/** A job whose tasks do at once what they are told, and which keeps the effects. */
class Fixture {
  readonly job: JobExecution;
  readonly effects: JobEffect[] = [];
  now = 0;

  constructor(jobGraph: JobGraph, options: Partial<JobExecutionOptions> = {}) {
    this.job = new JobExecution({
      jobGraph,
      epoch: 7,
      restartStrategy: { type: 'fixed-delay', attempts: 1_000, delayMs: 50 },
      failoverStrategy: 'region',
      ...options,
    });
  }

  handle(event: JobEvent): readonly JobEffect[] {
    const effects = this.job.handle(event, { now: this.now, draw: 0.5 });
    this.effects.push(...effects);
    return effects;
  }

  ref(name: string): ExecutionRef {
    return this.job.execution(vertexIdOf(name.slice(0, -1)), Number(name.slice(-1))).ref;
  }

  state(name: string): ExecutionState {
    const { vertexId, subtask } = this.ref(name);
    return this.job.execution(vertexId, subtask).state;
  }

  report(name: string, state: ExecutionState, error: ErrorInfo | null = null): void {
    this.handle({ type: 'taskStateChanged', execution: this.ref(name), state, error });
  }

  /** Starts, or goes on after a restart, until all that is deployed runs. */
  run(): void {
    if (this.job.status === 'CREATED') this.handle({ type: 'start' });
    for (const { ref: execution, state } of this.job.executions()) {
      if (state !== 'SCHEDULED') continue;
      this.handle({ type: 'deployed', execution });
      for (const next of ['INITIALIZING', 'RUNNING'] as const)
        this.handle({ type: 'taskStateChanged', execution, state: next, error: null });
    }
  }

  /** All that is being cancelled ends. */
  endCancelled(): void {
    for (const { ref: execution, state } of this.job.executions())
      if (state === 'CANCELING')
        this.handle({ type: 'taskStateChanged', execution, state: 'CANCELED', error: null });
  }

  /** Lets the pending restart happen, up to RUNNING. */
  restart(): void {
    this.endCancelled();
    const asked = this.last('restartAfter');
    this.now += asked.delayMs;
    this.handle({ type: 'restartDelayElapsed', restartId: asked.restartId });
    this.run();
  }

  last<T extends JobEffect['type']>(type: T): Extract<JobEffect, { type: T }> {
    const found = this.effects.findLast((effect) => effect.type === type);
    assert.ok(found, `no effect ${type}`);
    return found as Extract<JobEffect, { type: T }>;
  }

  count(type: JobEffect['type']): number {
    return this.effects.filter((effect) => effect.type === type).length;
  }

  names(refs: readonly { vertexId: string; subtask: number }[]): readonly string[] {
    const nameOf = (id: string): string => (id === vertexIdOf('a') ? 'a' : 'b');
    return refs.map(({ vertexId, subtask }) => `${nameOf(vertexId)}${subtask}`);
  }
}

test('a start deploys all subtasks with the first attempt of the epoch', () => {
  const fixture = new Fixture(oneRegion());
  const effects = fixture.handle({ type: 'start' });
  assert.deepEqual(
    effects.map(({ type }) => type),
    ['jobStatusChanged', 'deploy'],
  );
  assert.deepEqual(fixture.names(fixture.last('deploy').executions), ['a0', 'b0']);
  assert.equal(fixture.last('deploy').scope, 'global');
  assert.deepEqual(fixture.ref('a0').attempt, { epoch: 7, counter: 1 });
  assert.equal(fixture.job.isAllRunning, false);
  fixture.run();
  assert.equal(fixture.job.isAllRunning, true);
});

test('a job whose subtasks have all finished is FINISHED', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.report('a0', 'FINISHED');
  assert.equal(fixture.job.status, 'RUNNING');
  assert.equal(fixture.job.isAllRunning, true);
  fixture.report('b0', 'FINISHED');
  assert.equal(fixture.job.status, 'FINISHED');
  assert.equal(fixture.job.isAllRunning, false);
});

test('a failure cancels the region, waits, and deploys it with new attempts', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.effects.length = 0;
  fixture.report('b0', 'FAILED', lost);
  assert.deepEqual(
    fixture.effects.map(({ type }) => type),
    ['failover', 'jobStatusChanged', 'cancelTask', 'restartAfter'],
  );
  assert.deepEqual(fixture.names(fixture.last('failover').restarting), ['a0', 'b0']);
  assert.deepEqual(fixture.names(fixture.last('failover').failed), ['b0']);
  assert.equal(fixture.job.status, 'RESTARTING');
  assert.equal(fixture.state('a0'), 'CANCELING');

  fixture.restart();
  assert.equal(fixture.job.status, 'RUNNING');
  assert.equal(fixture.job.isAllRunning, true);
  assert.deepEqual(fixture.ref('a0').attempt, { epoch: 7, counter: 2 });
  assert.deepEqual(fixture.ref('b0').attempt, { epoch: 7, counter: 2 });
  assert.equal(fixture.job.execution(vertexIdOf('a'), 0).attemptNumber, 1);
});

test('a restart waits for the end of every cancelled task, and for the delay', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.report('b0', 'FAILED', lost);
  const { restartId } = fixture.last('restartAfter');
  fixture.handle({ type: 'restartDelayElapsed', restartId });
  assert.equal(fixture.count('deploy'), 1);
  fixture.endCancelled();
  assert.equal(fixture.count('deploy'), 2);

  fixture.run();
  fixture.report('b0', 'FAILED', lost);
  fixture.endCancelled();
  assert.equal(fixture.count('deploy'), 2);
  fixture.handle({ type: 'restartDelayElapsed', restartId });
  assert.equal(fixture.count('deploy'), 2, 'the delay of an earlier restart');
  fixture.handle({
    type: 'restartDelayElapsed',
    restartId: fixture.last('restartAfter').restartId,
  });
  assert.equal(fixture.count('deploy'), 3);
});

test('other regions run on while one fails three times [I-83]', () => {
  const fixture = new Fixture(threeRegions());
  fixture.run();
  for (let i = 1; i <= 3; i++) {
    fixture.report('b2', 'FAILED', lost);
    assert.equal(fixture.last('failover').scope, 'region');
    assert.deepEqual(fixture.names(fixture.last('failover').restarting), ['a2', 'b2']);
    fixture.restart();
    assert.deepEqual(fixture.names(fixture.last('deploy').executions), ['a2', 'b2']);
  }
  assert.deepEqual(fixture.ref('b2').attempt, { epoch: 7, counter: 4 });
  assert.deepEqual(fixture.ref('a0').attempt, { epoch: 7, counter: 1 });
  assert.equal(fixture.state('b1'), 'RUNNING');
});

test('what is deployed together has one attempt, above all former ones: sinks end those', () => {
  const fixture = new Fixture(threeRegions());
  fixture.run();
  fixture.report('b0', 'FAILED', lost);
  fixture.restart();
  fixture.report('b1', 'FAILED', lost);
  fixture.restart();
  const former = ['b0', 'b1'].map((name) => fixture.ref(name).attempt.counter);
  assert.equal(new Set(former).size, 2, 'regions restart by themselves');
  fixture.report('b0', 'FAILED', lost);
  fixture.report('b1', 'FAILED', lost);
  fixture.restart();
  const counters = fixture.last('deploy').executions.map(({ attempt }) => attempt.counter);
  assert.equal(new Set(counters).size, 1);
  assert.ok(counters.every((counter) => counter > Math.max(...former)));
});

test('failures during a pending restart join it as one attempt [I-85]', () => {
  const fixture = new Fixture(threeRegions(), {
    restartStrategy: { type: 'fixed-delay', attempts: 1, delayMs: 50 },
  });
  fixture.run();
  fixture.report('b0', 'FAILED', lost);
  fixture.report('b1', 'FAILED', lost);
  assert.equal(fixture.count('restartAfter'), 1);
  assert.deepEqual(fixture.names(fixture.last('failover').restarting), ['a0', 'a1', 'b0', 'b1']);
  fixture.restart();
  assert.deepEqual(fixture.names(fixture.last('deploy').executions), ['a0', 'a1', 'b0', 'b1']);
  fixture.report('b0', 'FAILED', lost);
  assert.equal(fixture.job.status, 'FAILING');
});

test('finished subtasks of a region restart with it', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.report('a0', 'FINISHED');
  fixture.report('b0', 'FAILED', lost);
  fixture.restart();
  assert.deepEqual(fixture.names(fixture.last('deploy').executions), ['a0', 'b0']);
});

test('a region that has finished stays so when another fails', () => {
  const fixture = new Fixture(threeRegions());
  fixture.run();
  fixture.report('a0', 'FINISHED');
  fixture.report('b0', 'FINISHED');
  fixture.report('b1', 'FAILED', lost);
  fixture.restart();
  assert.equal(fixture.state('a0'), 'FINISHED');
});

test('a global failure restarts everything, the finished too', () => {
  const fixture = new Fixture(threeRegions());
  fixture.run();
  fixture.report('a0', 'FINISHED');
  fixture.report('b0', 'FINISHED');
  fixture.handle({ type: 'failGlobally', error: lost });
  assert.equal(fixture.last('failover').scope, 'global');
  fixture.restart();
  assert.equal(fixture.last('deploy').executions.length, 6);
  assert.equal(fixture.last('deploy').scope, 'global');
});

test('a lost slot fails its subtasks at once, without waiting for their end', () => {
  const fixture = new Fixture(threeRegions());
  fixture.run();
  fixture.effects.length = 0;
  fixture.handle({ type: 'slotsLost', slots: [1], error: lost });
  assert.equal(fixture.count('cancelTask'), 0);
  assert.deepEqual(fixture.names(fixture.last('failover').failed), ['a1', 'b1']);
  fixture.handle({
    type: 'restartDelayElapsed',
    restartId: fixture.last('restartAfter').restartId,
  });
  assert.deepEqual(fixture.names(fixture.last('deploy').executions), ['a1', 'b1']);
});

test('a finished subtask runs again when its slot is lost before all was read', () => {
  const fixture = new Fixture(threeRegions());
  fixture.run();
  fixture.report('a1', 'FINISHED');
  fixture.report('b1', 'FINISHED');
  fixture.effects.length = 0;
  fixture.handle({ type: 'slotsLost', slots: [1], error: lost });
  assert.equal(fixture.count('failover'), 0, 'everything was read');

  const other = new Fixture(oneRegion());
  other.run();
  other.report('a0', 'FINISHED');
  other.handle({ type: 'slotsLost', slots: [0], error: lost });
  assert.ok(other.names(other.last('failover').failed).includes('a0'));
});

test('a slot lost while its subtasks are being cancelled completes the cancellation', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.report('b0', 'FAILED', lost);
  fixture.handle({ type: 'slotsLost', slots: [0], error: lost });
  assert.equal(fixture.state('a0'), 'CANCELED');
  assert.equal(fixture.count('failover'), 1);
});

test('messages of outdated attempts change nothing', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  const outdated = fixture.ref('b0');
  fixture.report('b0', 'FAILED', lost);
  fixture.restart();
  const effects = fixture.handle({
    type: 'taskStateChanged',
    execution: outdated,
    state: 'FAILED',
    error: lost,
  });
  assert.deepEqual(effects, []);
  assert.equal(fixture.state('b0'), 'RUNNING');
  assert.equal(fixture.job.isPresent(outdated), false);
});

test('a report that overtakes the note of the deployment counts', () => {
  const fixture = new Fixture(oneRegion());
  fixture.handle({ type: 'start' });
  fixture.report('a0', 'RUNNING');
  fixture.handle({ type: 'deployed', execution: fixture.ref('a0') });
  assert.equal(fixture.state('a0'), 'RUNNING');
});

test('a transition that the state does not allow is refused', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.report('a0', 'FINISHED');
  fixture.report('a0', 'RUNNING');
  assert.equal(fixture.state('a0'), 'FINISHED');
});

test('a task that stops unasked counts as failed', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.report('a0', 'CANCELED');
  assert.equal(fixture.state('a0'), 'FAILED');
  assert.match(fixture.last('failover').error.message, /stopped without being asked/);
});

test('an attempt cancelled before its deployment was sent is not deployed', () => {
  const fixture = new Fixture(oneRegion());
  fixture.handle({ type: 'start' });
  assert.equal(fixture.job.mayDeploy(fixture.ref('a0')), true);
  fixture.handle({ type: 'cancel' });
  assert.equal(fixture.job.mayDeploy(fixture.ref('a0')), false);
  fixture.handle({ type: 'deployed', execution: fixture.ref('a0') });
  assert.equal(fixture.state('a0'), 'CANCELED');
  assert.equal(fixture.count('cancelTask'), 0);
  assert.equal(fixture.job.status, 'CANCELED');
});

test('cancelling ends in CANCELED once every task has ended', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.handle({ type: 'cancel' });
  fixture.handle({ type: 'cancel' });
  assert.equal(fixture.job.status, 'CANCELLING');
  assert.equal(fixture.count('cancelTask'), 2);
  fixture.report('a0', 'FAILED', lost);
  fixture.report('b0', 'FINISHED');
  assert.equal(fixture.job.status, 'CANCELED');
});

test('cancelling gives up a pending restart', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.report('b0', 'FAILED', lost);
  fixture.handle({ type: 'cancel' });
  fixture.endCancelled();
  fixture.handle({
    type: 'restartDelayElapsed',
    restartId: fixture.last('restartAfter').restartId,
  });
  assert.equal(fixture.job.status, 'CANCELED');
  assert.equal(fixture.count('deploy'), 1);
});

test('a job that may not restart fails, naming the strategy and keeping the cause', () => {
  const fixture = new Fixture(oneRegion(), { restartStrategy: { type: 'none' } });
  fixture.run();
  fixture.report('b0', 'FAILED', lost);
  assert.equal(fixture.job.status, 'FAILING');
  fixture.endCancelled();
  assert.equal(fixture.job.status, 'FAILED');
  const { error } = fixture.last('jobStatusChanged');
  assert.equal(error?.code, 'JOB_FAILED');
  assert.match(error?.message ?? '', /not restarted.*"none": the disk is away/);
  assert.equal(error?.causes[0]?.code, 'STORAGE_UNAVAILABLE');
});

test('errors that no restart can cure end the job with their own code', () => {
  const errors = [
    new StateMigrationError('other state'),
    new StateCorruptionError('bad checksum', { details: { file: 'x' } }),
  ];
  for (const error of errors) {
    const fixture = new Fixture(oneRegion());
    fixture.run();
    fixture.report('b0', 'FAILED', toErrorInfo(error));
    fixture.endCancelled();
    assert.equal(fixture.job.status, 'FAILED');
    assert.equal(fixture.last('jobStatusChanged').error?.code, error.code);
    assert.equal(fixture.count('restartAfter'), 0);
  }
});

test('the same record failing three times ends the job, naming it [R107]', () => {
  const fixture = new Fixture(oneRegion());
  const details = { position: 'orders.csv at byte 17' };
  fixture.run();
  for (let i = 1; i <= 3; i++) {
    if (i > 1) fixture.restart();
    const error = toErrorInfo(new UserFunctionError('no number', { details }));
    fixture.report('b0', 'FAILED', error);
  }
  fixture.endCancelled();
  assert.equal(fixture.job.status, 'FAILED');
  const { error } = fixture.last('jobStatusChanged');
  assert.match(error?.message ?? '', /same record failed 3 times, at orders\.csv at byte 17/);
  assert.equal(error?.details['position'], 'orders.csv at byte 17');
});

test('failures of other records in between are told, since they were restarts as well', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  for (const [i, position] of ['a', 'b', 'a', 'b', 'a'].entries()) {
    if (i > 0) fixture.restart();
    const error = new UserFunctionError('no number', { details: { position } });
    fixture.report('b0', 'FAILED', toErrorInfo(error));
  }
  fixture.endCancelled();
  const { error } = fixture.last('jobStatusChanged');
  assert.match(
    error?.message ?? '',
    /same record failed 3 times, of 5 failures of the job, at a: correct the function/,
  );
});

test('a final failure ends the job whatever the strategy says', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.handle({ type: 'failFinally', error: lost });
  fixture.report('b0', 'FAILED', lost);
  fixture.endCancelled();
  assert.equal(fixture.job.status, 'FAILED');
  assert.deepEqual(fixture.last('jobStatusChanged').error, lost);
});

test('a suspended job cancels its tasks and decides nothing more', () => {
  const fixture = new Fixture(oneRegion());
  fixture.run();
  fixture.handle({ type: 'suspend' });
  assert.equal(fixture.job.status, 'SUSPENDED');
  assert.equal(fixture.count('cancelTask'), 2);
  fixture.endCancelled();
  fixture.handle({ type: 'cancel' });
  fixture.handle({ type: 'failFinally', error: lost });
  assert.equal(fixture.job.status, 'SUSPENDED');
});
