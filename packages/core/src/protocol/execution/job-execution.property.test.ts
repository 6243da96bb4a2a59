import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { StorageUnavailableError, toErrorInfo } from '../../base/errors.ts';
import { compareAttempts, subtaskKey } from '../../base/ids.ts';
import type { ExecutionRef } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import { isTerminalExecutionState, isTerminalJobStatus } from './execution-state.ts';
import { JobExecution } from './job-execution.ts';
import type { JobEffect, JobEvent } from './job-execution.ts';
import { jobGraphOf } from './job-graph-fixture.ts';

const error = toErrorInfo(new StorageUnavailableError('away'));
const graphs: readonly JobGraph[] = [
  jobGraphOf({ a: 2, b: 2 }, ['a -forward-> b']),
  jobGraphOf({ a: 2, b: 2, c: 1 }, ['a -hash-> b', 'b -hash-> c']),
  jobGraphOf({ a: 1, b: 2, x: 2 }, ['a -hash-> b']),
];

/** What happens next; `pick` chooses among the executions that it can happen to. */
const anyStep = fc.record({
  action: fc.constantFrom(
    ...(['deployed', 'report', 'report', 'report', 'fail', 'outdated', 'ended'] as const),
    ...(['delay', 'delay', 'slots', 'global', 'cancel', 'final', 'suspend'] as const),
  ),
  pick: fc.nat(),
});
type Step = { readonly action: string; readonly pick: number };

/** An environment that loses and delays things, and checks every effect. */
class World {
  readonly job: JobExecution;
  /** Attempts that run somewhere, whatever the job thinks of them. */
  readonly alive = new Map<string, ExecutionRef>();
  readonly seen: ExecutionRef[] = [];
  restartId = 0;

  constructor(jobGraph: JobGraph) {
    this.job = new JobExecution({
      jobGraph,
      epoch: 1,
      restartStrategy: { type: 'fixed-delay', attempts: Infinity, delayMs: 1 },
      failoverStrategy: 'region',
    });
  }

  handle(event: JobEvent): void {
    for (const effect of this.job.handle(event, { now: 0, draw: 0 })) this.check(effect);
  }

  check(effect: JobEffect): void {
    if (effect.type === 'restartAfter') this.restartId = effect.restartId;
    if (effect.type === 'cancelTask') assert.ok(this.job.isPresent(effect.execution));
    if (effect.type !== 'deploy') return;
    for (const ref of effect.executions) {
      const key = subtaskKey(ref.vertexId, ref.subtask);
      assert.ok(!this.alive.has(key), 'deployed beside an attempt that still runs');
      const older = this.seen.filter((it) => subtaskKey(it.vertexId, it.subtask) === key);
      assert.ok(older.every((it) => compareAttempts(it.attempt, ref.attempt) < 0));
      this.seen.push(ref);
    }
  }

  step({ action, pick }: Step): void {
    const executions = this.job.executions();
    const choose = (list: readonly ExecutionRef[]): ExecutionRef | undefined =>
      list[pick % Math.max(1, list.length)];
    const ref = choose(executions.map((it) => it.ref));
    const alive = choose([...this.alive.values()]);
    if (action === 'deployed' && ref !== undefined && this.job.mayDeploy(ref)) {
      this.alive.set(subtaskKey(ref.vertexId, ref.subtask), ref);
      this.handle({ type: 'deployed', execution: ref });
    } else if (action === 'report' && alive !== undefined) {
      const state = (['INITIALIZING', 'RUNNING', 'RUNNING', 'RUNNING', 'FINISHED'] as const)[
        pick % 5
      ];
      if (state === 'FINISHED') this.end(alive);
      this.report(alive, state ?? 'RUNNING');
    } else if (action === 'fail' && alive !== undefined) {
      this.end(alive);
      this.report(alive, 'FAILED');
    } else if (action === 'outdated') {
      const old = choose(this.seen.filter((it) => !this.job.isPresent(it)));
      if (old !== undefined) this.report(old, 'FAILED');
    } else if (action === 'ended') this.endCancelled();
    else if (action === 'delay') this.delayElapsed();
    else if (action === 'slots') {
      const slot = pick % 2;
      for (const it of this.alive.values()) if (it.subtask === slot) this.end(it);
      this.handle({ type: 'slotsLost', slots: [slot], error });
    } else if (action === 'global' && pick % 3 === 0) this.handle({ type: 'failGlobally', error });
    else if (action === 'cancel' && pick % 8 === 0) this.handle({ type: 'cancel' });
    else if (action === 'final' && pick % 8 === 0) this.handle({ type: 'failFinally', error });
    else if (action === 'suspend' && pick % 8 === 0) this.handle({ type: 'suspend' });
  }

  end({ vertexId, subtask }: ExecutionRef): void {
    this.alive.delete(subtaskKey(vertexId, subtask));
  }

  report(execution: ExecutionRef, state: 'INITIALIZING' | 'RUNNING' | 'FINISHED' | 'FAILED'): void {
    const reported = state === 'FAILED' ? error : null;
    this.handle({ type: 'taskStateChanged', execution, state, error: reported });
  }

  endCancelled(): void {
    for (const { ref: execution, state } of this.job.executions()) {
      if (state !== 'CANCELING') continue;
      this.end(execution);
      this.handle({ type: 'taskStateChanged', execution, state: 'CANCELED', error: null });
    }
  }

  delayElapsed(): void {
    this.handle({ type: 'restartDelayElapsed', restartId: this.restartId });
  }
}

test('whatever happens, attempts never run side by side and the job can always go on', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...graphs),
      fc.array(anyStep, { maxLength: 80 }),
      (jobGraph, steps) => {
        const world = new World(jobGraph);
        world.handle({ type: 'start' });
        for (const step of steps) world.step(step);
        world.endCancelled();
        world.delayElapsed();
        const { job } = world;
        if (job.status === 'RUNNING') return;
        assert.ok(isTerminalJobStatus(job.status), `stuck in ${job.status}`);
        assert.ok(job.executions().every(({ state }) => isTerminalExecutionState(state)));
        assert.equal(world.alive.size, 0, 'a task outlives its job');
      },
    ),
    { numRuns: 300 },
  );
});
