/**
 * A JobMaster for tests: answers the coordinator's effects at once (or holds the answers back),
 * keeps its timers, and plays the tasks on request.
 */
import { assert } from '../../base/assert.ts';
import type { ErrorInfo } from '../../base/errors.ts';
import type { ExecutionRef, JobId, OperatorId, VertexId } from '../../base/ids.ts';
import type { JobEdge, JobGraph, JobVertex, PartitionerType } from '../job-graph.ts';
import type { DeclineReason, ExecutionState, StopMode } from '../messages.ts';
import type { SubtaskSnapshot } from '../snapshot.ts';
import { checkpointConfig } from './checkpoint-config.ts';
import type { CheckpointCoordinatorConfig } from './checkpoint-config.ts';
import { CheckpointCoordinator } from './checkpoint-coordinator.ts';
import type { CompletedCheckpoint } from './completed-checkpoint-store.ts';
import type { CoordinatorEffect, CoordinatorEvent } from './coordinator-messages.ts';

export type EffectOf<T extends CoordinatorEffect['type']> = Extract<CoordinatorEffect, { type: T }>;

type WithoutNow<E> = E extends CoordinatorEvent ? Omit<E, 'now'> : never;

export interface TestJob {
  /** Vertices by name with their parallelism, in topological order. */
  readonly vertices: Readonly<Record<string, number>>;
  readonly edges: readonly (readonly [string, string, PartitionerType?])[];
}

/** `a → b`, one subtask each. */
export const PIPELINE: TestJob = { vertices: { a: 1, b: 1 }, edges: [['a', 'b']] };

export const NO_METRICS = { syncMs: 0, asyncMs: 0, alignmentMs: 0, startDelayMs: 0 };

export function vertexIdOf(name: string): VertexId {
  return name.padStart(32, '0') as VertexId;
}

export function errorInfo(message: string): ErrorInfo {
  return {
    name: 'Error',
    code: null,
    kind: 'transient',
    message,
    details: {},
    stack: '',
    causes: [],
  };
}

export function jobGraphOf({ vertices, edges }: TestJob): JobGraph {
  return {
    jobName: 'test',
    vertices: Object.entries(vertices).map(([name, parallelism], node): JobVertex => ({
      id: vertexIdOf(name),
      name,
      parallelism,
      maxParallelism: 128,
      maxParallelismFixed: false,
      slotSharingGroup: 'default',
      operators: [
        {
          operatorId: vertexIdOf(name) as string as OperatorId,
          node,
          type: 'test',
          name,
          uid: name,
          stateful: true,
          location: null,
          chainedTo: [],
        },
      ],
    })),
    edges: edges.map(([source, target, partitioner = 'hash'], index): JobEdge => ({
      index,
      source: vertexIdOf(source),
      sourceOperator: 0,
      sideOutput: null,
      target: vertexIdOf(target),
      inputIndex: 0,
      partitioner,
      sourceNode: 0,
      targetNode: 0,
    })),
    planHash: 'test',
  };
}

export function snapshotOf(
  execution: ExecutionRef,
  changes: Partial<SubtaskSnapshot> = {},
): SubtaskSnapshot {
  const { vertexId, subtask, attempt } = execution;
  const path = `${vertexId}-${subtask}-${attempt.epoch}-${attempt.counter}`;
  return {
    ...execution,
    data: { kind: 'file', path, sizeBytes: 10, checksum: 0 },
    operators: [],
    inputs: [],
    outputs: [],
    finished: false,
    sizeBytes: 10,
    ...changes,
  };
}

export function completedCheckpoint(
  checkpointId: number,
  changes: Partial<CompletedCheckpoint> = {},
): CompletedCheckpoint {
  return {
    checkpointId,
    kind: 'checkpoint',
    stopsJob: false,
    directory: `/chk-${checkpointId}`,
    triggeredAt: 0,
    sizeBytes: 0,
    isOwned: true,
    ...changes,
  };
}

export interface TestBedOptions {
  readonly job?: TestJob;
  readonly config?: Partial<CheckpointCoordinatorConfig>;
  readonly restored?: readonly CompletedCheckpoint[];
  readonly lastId?: number;
  /** Effects whose answers are held back until `answer`. */
  readonly hold?: readonly CoordinatorEffect['type'][];
}

export class TestBed {
  readonly coordinator: CheckpointCoordinator;
  readonly hold: Set<CoordinatorEffect['type']>;
  /** All effects so far. */
  readonly effects: CoordinatorEffect[] = [];
  readonly timers: Map<string, number> = new Map();
  now: number = 0;
  /** Sees each effect before it is answered. */
  onEffect: (effect: CoordinatorEffect) => void = () => undefined;
  readonly #executions = new Map<string, { ref: ExecutionRef; state: ExecutionState }>();
  #held: CoordinatorEffect[] = [];
  #nextId: number;
  #attempts = 0;
  #requests = 0;

  constructor(options: TestBedOptions = {}) {
    const { job = PIPELINE, config = {}, restored = [], lastId = 0, hold = [] } = options;
    this.hold = new Set(hold);
    this.#nextId = lastId + 1;
    this.coordinator = new CheckpointCoordinator({
      config: checkpointConfig({ intervalMs: 1000, ...config }),
      jobId: '0'.repeat(32) as JobId,
      jobGraph: jobGraphOf(job),
      restored,
      lastId,
    });
    for (const [name, parallelism] of Object.entries(job.vertices))
      for (let subtask = 0; subtask < parallelism; subtask++) this.deploy(`${name}${subtask}`);
  }

  /** Gives a subtask, such as `a0`, a new attempt, which runs. */
  deploy(task: string): void {
    const ref = {
      vertexId: vertexIdOf(task.slice(0, -1)),
      subtask: Number(task.slice(-1)),
      attempt: { epoch: 1, counter: ++this.#attempts },
    };
    this.#executions.set(task, { ref, state: 'RUNNING' });
  }

  setState(task: string, state: ExecutionState): void {
    this.#execution(task).state = state;
  }

  ref(task: string): ExecutionRef {
    return this.#execution(task).ref;
  }

  get tasks(): readonly string[] {
    return [...this.#executions.keys()];
  }

  /** Runs the job; periodic checkpoints begin after the interval, unless `draw` says otherwise. */
  start(draw = 0.9999): this {
    this.send({ type: 'jobRunning', draw });
    return this;
  }

  /** Feeds an event, then the answers to its effects, in order. */
  send(event: WithoutNow<CoordinatorEvent>): void {
    const events: WithoutNow<CoordinatorEvent>[] = [event];
    for (let next = events.shift(); next !== undefined; next = events.shift())
      for (const effect of this.coordinator.handle({ ...next, now: this.now })) {
        this.effects.push(effect);
        this.onEffect(effect);
        if (effect.type === 'setTimer') this.timers.set(effect.timerId, effect.at);
        if (effect.type === 'cancelTimer') this.timers.delete(effect.timerId);
        if (this.hold.has(effect.type)) this.#held.push(effect);
        else events.push(...this.#answersTo(effect));
      }
  }

  /** Gives the answers held back to effects of this type. */
  answer(type: CoordinatorEffect['type']): void {
    const due = this.#held.filter((effect) => effect.type === type);
    this.#held = this.#held.filter((effect) => effect.type !== type);
    for (const effect of due) for (const event of this.#answersTo(effect)) this.send(event);
  }

  /** Answers what is being finalised with a failure. */
  failFinalise(): void {
    const due = this.held('finalise');
    this.#held = this.#held.filter((effect) => effect.type !== 'finalise');
    for (const { checkpointId } of due)
      this.send({ type: 'finaliseFailed', checkpointId, error: errorInfo('disk full') });
  }

  /** Effects of a type among those held back. */
  held<T extends CoordinatorEffect['type']>(type: T): readonly EffectOf<T>[] {
    return this.#held.filter((effect): effect is EffectOf<T> => effect.type === type);
  }

  /** Passes time, and fires the timers that become due, in order. */
  advance(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const [next] = [...this.timers].toSorted((a, b) => a[1] - b[1]);
      if (next === undefined || next[1] > until) break;
      this.now = Math.max(this.now, next[1]);
      this.timers.delete(next[0]);
      this.send({ type: 'timer', timerId: next[0] });
    }
    this.now = until;
  }

  /** Asks for a checkpoint, as a person would; returns its request id. */
  request(kind: 'checkpoint' | 'savepoint' = 'checkpoint', stop: StopMode | null = null): string {
    const requestId = `request-${++this.#requests}`;
    const targetDirectory = kind === 'savepoint' ? '/savepoints' : null;
    this.send({ type: 'requested', request: { requestId, kind, targetDirectory, stop } });
    return requestId;
  }

  acknowledge(checkpointId: number, task: string, changes: Partial<SubtaskSnapshot> = {}): void {
    this.acknowledgeAs(this.ref(task), checkpointId, changes);
  }

  /** As any attempt, be it outdated. */
  acknowledgeAs(
    execution: ExecutionRef,
    checkpointId: number,
    changes: Partial<SubtaskSnapshot> = {},
  ): void {
    this.send({
      type: 'acknowledged',
      execution,
      checkpointId,
      snapshot: snapshotOf(execution, changes),
      metrics: NO_METRICS,
    });
  }

  /** Every running task acknowledges. */
  acknowledgeAll(checkpointId: number): void {
    for (const [task, { state }] of this.#executions)
      if (state === 'RUNNING') this.acknowledge(checkpointId, task);
  }

  decline(checkpointId: number, task: string, reason: DeclineReason): void {
    const error = errorInfo('no');
    this.send({ type: 'declined', execution: this.ref(task), checkpointId, reason, error });
  }

  /** A task ends; the checkpoint it ended with was complete. */
  finish(task: string): void {
    this.setState(task, 'FINISHED');
    this.send({ type: 'taskFinished', execution: this.ref(task) });
  }

  endOfData(task: string): void {
    this.send({ type: 'endOfDataReached', execution: this.ref(task) });
  }

  of<T extends CoordinatorEffect['type']>(type: T): readonly EffectOf<T>[] {
    return this.effects.filter((effect): effect is EffectOf<T> => effect.type === type);
  }

  /** Ids of effects of a type that carry one. */
  ids(
    type:
      | 'checkpointStarted'
      | 'finalise'
      | 'notifyComplete'
      | 'notifyAborted'
      | 'discardPending'
      | 'discardSnapshot',
  ): readonly number[] {
    return this.of(type).map((effect) => effect.checkpointId);
  }

  /** Why checkpoints and triggers failed, in order. */
  get failures(): readonly string[] {
    return this.effects.flatMap((effect) => {
      if (effect.type === 'triggerDropped') return [effect.reason];
      if (effect.type !== 'checkpointEnded' || effect.failure === null) return [];
      return [`${effect.checkpointId} ${effect.failure.reason}`];
    });
  }

  #answersTo(effect: CoordinatorEffect): WithoutNow<CoordinatorEvent>[] {
    switch (effect.type) {
      case 'reportTasks': {
        const executions = [...this.#executions.values()].map((execution) => ({ ...execution }));
        return [{ type: 'tasksReported', triggerId: effect.triggerId, executions }];
      }
      case 'drawId': {
        const { triggerId } = effect;
        return [{ type: 'idDrawn', triggerId, checkpointId: this.#nextId++, timestamp: 1e12 }];
      }
      case 'prepareLocation': {
        const { checkpointId, targetDirectory } = effect;
        const directory = `${targetDirectory ?? ''}/chk-${checkpointId}`;
        return [{ type: 'locationReady', checkpointId, directory }];
      }
      case 'snapshotCoordinators': {
        const { checkpointId } = effect;
        return [{ type: 'coordinatorsSnapshotted', checkpointId, snapshots: [] }];
      }
      case 'finalise':
        return [{ type: 'finalised', checkpointId: effect.checkpointId, sizeBytes: 20 }];
      case 'discardCheckpoint':
        return [{ type: 'discarded', checkpointId: effect.checkpoint.checkpointId }];
      case 'discardPending':
        return [{ type: 'discarded', checkpointId: effect.checkpointId }];
      default:
        return [];
    }
  }

  #execution(task: string): { ref: ExecutionRef; state: ExecutionState } {
    const execution = this.#executions.get(task);
    assert(execution !== undefined, `the test has no task ${task}`);
    return execution;
  }
}
