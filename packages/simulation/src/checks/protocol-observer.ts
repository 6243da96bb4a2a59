/**
 * Watches the engine from outside, at its messages and its disk, and checks at every event what
 * must always hold: a checkpoint counts as complete only when it is durable and every task of the
 * present attempts has acknowledged it; ids only rise; a restart takes the newest complete
 * checkpoint.
 */
import type { Attempt, ExecutionRef, SubtaskKey } from '@weir/core/internal/base/ids';
import { compareAttempts, isSameAttempt, subtaskKey } from '@weir/core/internal/base/ids';
import type { RunState } from '@weir/core/internal/jobmanager/run-state';
import type { JobManagerMessage, TaskManagerMessage } from '@weir/core/internal/protocol/messages';
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { World } from '../world/world.ts';

interface KnownTask {
  attempt: Attempt;
  isFinished: boolean;
}

export class ProtocolObserver {
  readonly #world: World;
  readonly #disk: MemoryFileSystem;
  /** Newest attempt deployed of each subtask of the present run. */
  #tasks = new Map<SubtaskKey, KnownTask>();
  /** Attempts whose acknowledgement the JobManager has got, by checkpoint. */
  #acknowledged = new Map<number, Map<SubtaskKey, Attempt>>();
  readonly #complete = new Set<number>();
  readonly #directories = new Map<number, string>();
  #isDurable = true;
  #highestId = 0;
  #newestComplete = 0;
  #epoch = 0;
  restoredCount = 0;
  completedCount = 0;

  constructor(world: World, disk: MemoryFileSystem) {
    this.#world = world;
    this.#disk = disk;
  }

  runStarted(state: Extract<RunState, { type: 'run' }>): void {
    const { epoch, storage, initial } = state;
    // A leader that stood still after its claim, and was replaced meanwhile: others must fence it.
    if (epoch < this.#epoch) return;
    this.#world.check(epoch > this.#epoch, () => `two leaders have claimed epoch ${epoch}`);
    this.#epoch = epoch;
    this.#isDurable = storage.constructor.name === 'FileCheckpointStorage';
    this.#tasks = new Map();
    this.#acknowledged = new Map();
    const restored = initial?.metadata.checkpointId ?? 0;
    this.#world.check(
      restored >= this.#newestComplete,
      () =>
        `the run starts from checkpoint ${restored}, but ${this.#newestComplete} was complete ` +
        'and told to tasks',
    );
    this.#newestComplete = Math.max(this.#newestComplete, restored);
    if (restored > 0) this.restoredCount++;
  }

  sentToTask(message: TaskManagerMessage): void {
    if (message.type === 'deployTask') {
      const { execution, restore } = message.deployment;
      if (execution.attempt.epoch < this.#epoch) return;
      const key = keyOf(execution);
      const known = this.#tasks.get(key);
      this.#world.check(
        known === undefined || compareAttempts(execution.attempt, known.attempt) > 0,
        () => `an attempt of ${key} was deployed twice`,
      );
      this.#tasks.set(key, { attempt: execution.attempt, isFinished: false });
      const restored = restore?.checkpointId ?? 0;
      this.#world.check(
        restore === null || restored >= this.#newestComplete,
        () => `${key} restores checkpoint ${restored}, but ${this.#newestComplete} is complete`,
      );
      return;
    }
    if (message.type === 'triggerCheckpoint') {
      const { checkpointId, options } = message.trigger;
      if (message.execution.attempt.epoch < this.#epoch) return;
      this.#directories.set(checkpointId, options.location);
      if (this.#acknowledged.has(checkpointId)) return;
      this.#world.check(
        checkpointId > this.#highestId,
        () => `checkpoint id ${checkpointId} is used again; the highest was ${this.#highestId}`,
      );
      this.#highestId = Math.max(this.#highestId, checkpointId);
      this.#acknowledged.set(checkpointId, new Map());
      return;
    }
    if (message.type === 'notifyCheckpointComplete') {
      if (message.execution.attempt.epoch < this.#epoch) return;
      this.#told(message.checkpointId);
    }
  }

  sentByTask(message: JobManagerMessage): void {
    if (message.type !== 'taskStateChanged' || message.state !== 'FINISHED') return;
    const task = this.#tasks.get(keyOf(message.execution));
    if (task !== undefined && isSameAttempt(task.attempt, message.execution.attempt))
      task.isFinished = true;
  }

  receivedFromTask(message: JobManagerMessage): void {
    if (message.type !== 'acknowledgeCheckpoint') return;
    const acks = this.#acknowledged.get(message.checkpointId);
    const known = this.#tasks.get(keyOf(message.execution));
    if (known === undefined || !isSameAttempt(known.attempt, message.execution.attempt)) return;
    acks?.set(keyOf(message.execution), message.execution.attempt);
  }

  /** The JobManager of this epoch says so. */
  checkpointCompleted(epoch: number, checkpointId: number, directory: string): void {
    this.completedCount++;
    if (epoch < this.#epoch) return;
    if (directory !== '') this.#directories.set(checkpointId, directory);
    for (const [key, task] of this.#tasks) {
      if (task.isFinished) continue;
      const attempt = this.#acknowledged.get(checkpointId)?.get(key);
      this.#world.check(
        attempt !== undefined,
        () => `checkpoint ${checkpointId} is complete without an acknowledgement of ${key}`,
      );
    }
    this.#told(checkpointId);
  }

  /**
   * Whether the outer system may publish what was prepared for this checkpoint: when it, or a later
   * one, which then promises the same, is complete.
   */
  mayCommit(checkpointId: number): boolean {
    if (checkpointId <= this.#newestComplete) return true;
    return [...this.#directories.keys()].some((id) => id >= checkpointId && this.#isOnDisk(id));
  }

  #told(checkpointId: number): void {
    if (this.#complete.has(checkpointId)) return;
    this.#world.check(
      !this.#isDurable || this.#isOnDisk(checkpointId),
      () => `checkpoint ${checkpointId} counts as complete, but a power failure would lose it`,
    );
    this.#complete.add(checkpointId);
    this.#newestComplete = Math.max(this.#newestComplete, checkpointId);
  }

  #isOnDisk(checkpointId: number): boolean {
    const directory = this.#directories.get(checkpointId);
    return directory !== undefined && this.#disk.survives(`${directory}/_metadata`) !== null;
  }
}

function keyOf(execution: ExecutionRef): SubtaskKey {
  return subtaskKey(execution.vertexId, execution.subtask);
}
