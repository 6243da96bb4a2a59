/**
 * Random interleavings of acknowledgements, declines, time-outs, failures, restarts and answers
 * that come late: what must hold whatever happens is checked at each effect.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { attemptName } from '../../base/ids.ts';
import type { ExecutionRef } from '../../base/ids.ts';
import type { CoordinatorEffect } from './coordinator-messages.ts';
import { keyOf } from './job-topology.ts';
import { TestBed } from './test-support.ts';

const JOB = { vertices: { a: 2, b: 2 }, edges: [['a', 'b']] as const };
const ANSWERED_LATE: readonly CoordinatorEffect['type'][] = [
  'drawId',
  'prepareLocation',
  'snapshotCoordinators',
  'finalise',
  'discardPending',
  'discardCheckpoint',
];

type Action =
  | { readonly type: 'advance'; readonly ms: number }
  | { readonly type: 'answer'; readonly index: number }
  | { readonly type: 'acknowledge'; readonly task: number; readonly back: number }
  | { readonly type: 'acknowledgeAll' }
  | { readonly type: 'acknowledgeOutdated'; readonly index: number; readonly back: number }
  | { readonly type: 'decline'; readonly task: number; readonly back: number }
  | { readonly type: 'fail'; readonly task: number }
  | { readonly type: 'failFinalise' }
  | { readonly type: 'request'; readonly kind: 'checkpoint' | 'savepoint' }
  | { readonly type: 'endOfData'; readonly task: number };

const nat = (max: number): fc.Arbitrary<number> => fc.nat({ max });
const task = nat(3);
const back = nat(2);

/** Weighted so that checkpoints get somewhere, but not undisturbed. */
const actionArbitrary: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('advance'), ms: nat(150) } as const) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('answer'), index: nat(12) } as const) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('acknowledgeAll') } as const) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('acknowledge'), task, back } as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('acknowledgeOutdated'),
      index: nat(5),
      back,
    } as const),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('decline'), task, back } as const) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fail'), task } as const) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('failFinalise') } as const) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('request'),
      kind: fc.constantFrom('checkpoint', 'savepoint'),
    } as const),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('endOfData'), task } as const) },
);

/** Watches a coordinator, and complains at the first effect that must not be. */
class Watch {
  readonly bed: TestBed;
  readonly outdated: ExecutionRef[] = [];
  readonly #maxConcurrent: number;
  readonly #started: number[] = [];
  readonly #savepoints = new Set<number>();
  readonly #ended = new Set<number>();
  readonly #durable = new Set<number>();
  readonly #finalising = new Set<number>();
  /** Attempts that ran when a checkpoint's tasks were triggered. */
  readonly #attempts = new Map<number, string>();

  constructor(bed: TestBed, maxConcurrent: number) {
    this.bed = bed;
    this.#maxConcurrent = maxConcurrent;
    bed.onEffect = (effect) => this.#check(effect);
  }

  completed(checkpointId: number): void {
    this.#durable.add(checkpointId);
  }

  /** The answer to its finalise will be a failure. */
  failed(checkpointId: number): void {
    this.#finalising.delete(checkpointId);
  }

  /** Ids begun and not ended, newest last. */
  get open(): readonly number[] {
    return this.#started.filter((id) => !this.#ended.has(id));
  }

  get started(): readonly number[] {
    return this.#started;
  }

  #present(): string {
    return this.bed.tasks.map((task) => name(this.bed.ref(task))).join(' ');
  }

  #check(effect: CoordinatorEffect): void {
    switch (effect.type) {
      case 'checkpointStarted':
        assert.ok(effect.checkpointId > (this.#started.at(-1) ?? 0), 'ids rise');
        this.#started.push(effect.checkpointId);
        if (effect.kind === 'savepoint') this.#savepoints.add(effect.checkpointId);
        assert.ok(
          effect.kind === 'savepoint' ||
            this.open.filter((id) => !this.#savepoints.has(id)).length <= this.#maxConcurrent,
          'no more run at once than may',
        );
        break;
      case 'triggerTasks':
        this.#attempts.set(effect.trigger.checkpointId, this.#present());
        break;
      case 'finalise': {
        const { checkpointId, metadata } = effect;
        const acknowledged = metadata.vertices.flatMap((vertex) => vertex.subtasks).map(name);
        assert.equal(
          acknowledged.join(' '),
          this.#attempts.get(checkpointId),
          'all, of one attempt',
        );
        assert.equal(this.#present(), this.#attempts.get(checkpointId), 'none restarted since');
        assert.ok(!this.#ended.has(checkpointId));
        this.#finalising.add(checkpointId);
        break;
      }
      case 'notifyComplete':
        assert.ok(this.#durable.has(effect.checkpointId), 'told only when durable');
        assert.ok(!this.#savepoints.has(effect.checkpointId));
        assert.equal(this.bed.coordinator.latestCompleted?.checkpointId, effect.checkpointId);
        break;
      case 'notifyAborted':
      case 'discardPending':
      case 'discardSnapshot':
        assert.ok(!this.#durable.has(effect.checkpointId), 'nothing durable is aborted');
        if (effect.type !== 'discardSnapshot')
          assert.ok(!this.#finalising.has(effect.checkpointId), 'nor what may be');
        break;
      case 'discardCheckpoint': {
        const latest = this.bed.coordinator.latestCompleted?.checkpointId ?? 0;
        assert.ok(latest > effect.checkpoint.checkpointId, 'a newer one is stored');
        break;
      }
      case 'checkpointEnded':
        assert.ok(!this.#ended.has(effect.checkpointId), 'ends once');
        this.#ended.add(effect.checkpointId);
        assert.equal(effect.failure === null, this.#durable.has(effect.checkpointId));
        break;
      default:
    }
  }
}

function name(execution: ExecutionRef): string {
  return `${keyOf(execution).slice(-3)}@${attemptName(execution.attempt)}`;
}

/** Answers the held effects of one type. */
function answerOne(watch: Watch, type: CoordinatorEffect['type'] | undefined): void {
  const { bed } = watch;
  if (type === undefined) return;
  if (type === 'finalise')
    for (const { checkpointId } of bed.held(type)) watch.completed(checkpointId);
  bed.answer(type);
}

function act(watch: Watch, action: Action): void {
  const { bed } = watch;
  const idFrom = (back: number): number | undefined => watch.started.at(-1 - back);
  const taskAt = (index: number): string => bed.tasks[index] ?? 'a0';
  switch (action.type) {
    case 'advance':
      return bed.advance(action.ms);
    case 'answer':
      // Beyond the types, all are answered.
      if (action.index < ANSWERED_LATE.length) return answerOne(watch, ANSWERED_LATE[action.index]);
      for (const type of ANSWERED_LATE) answerOne(watch, type);
      return;
    case 'acknowledge': {
      const id = idFrom(action.back);
      if (id !== undefined) bed.acknowledge(id, taskAt(action.task));
      return;
    }
    case 'acknowledgeAll':
      for (const id of watch.open) bed.acknowledgeAll(id);
      return;
    case 'acknowledgeOutdated': {
      const execution = watch.outdated[action.index];
      const id = idFrom(action.back);
      if (execution !== undefined && id !== undefined) bed.acknowledgeAs(execution, id);
      return;
    }
    case 'decline': {
      const id = idFrom(action.back);
      if (id !== undefined) bed.decline(id, taskAt(action.task), 'CHECKPOINT_DECLINED');
      return;
    }
    case 'fail': {
      const task = taskAt(action.task);
      watch.outdated.push(bed.ref(task));
      bed.setState(task, 'FAILED');
      bed.send({ type: 'tasksFailed', executions: [bed.ref(task)] });
      bed.send({ type: 'jobStopped' });
      bed.deploy(task);
      bed.start();
      return;
    }
    case 'failFinalise':
      for (const { checkpointId } of bed.held('finalise')) watch.failed(checkpointId);
      return bed.failFinalise();
    case 'request':
      bed.request(action.kind);
      return;
    case 'endOfData':
      return bed.endOfData(taskAt(action.task));
  }
}

test('whatever happens, a checkpoint completes only whole, durable and once', () => {
  const worlds = fc.record({
    actions: fc.array(actionArbitrary, { minLength: 20, maxLength: 120 }),
    maxConcurrentCheckpoints: fc.integer({ min: 1, max: 3 }),
    late: fc.subarray([...ANSWERED_LATE]),
  });
  let completedCount = 0;
  fc.assert(
    fc.property(worlds, ({ actions, maxConcurrentCheckpoints, late }) => {
      const config = {
        intervalMs: 50,
        timeoutMs: 200,
        maxConcurrentCheckpoints,
        tolerableFailedCheckpoints: Infinity,
      };
      const bed = new TestBed({ job: JOB, config, hold: [...late, 'finalise'] });
      const watch = new Watch(bed, maxConcurrentCheckpoints);
      bed.start();
      for (const action of actions) act(watch, action);
      completedCount += bed.ids('notifyComplete').length;

      // When the trouble is over, the job takes checkpoints again.
      const last = watch.started.at(-1) ?? 0;
      bed.hold.clear();
      bed.hold.add('finalise');
      for (let round = 0; round < 20; round++) {
        for (const type of ANSWERED_LATE) answerOne(watch, type);
        for (const id of watch.open) bed.acknowledgeAll(id);
        bed.advance(50);
      }
      assert.ok((bed.coordinator.latestCompleted?.checkpointId ?? 0) > last, 'it goes on');
    }),
    { numRuns: 300 },
  );
  assert.ok(completedCount > 300, `only ${completedCount} checkpoints completed in all runs`);
});
