/**
 * Watches the engine from outside, at its messages and its disk, and checks at every event what
 * must always hold: a checkpoint counts as complete only when it is durable and every task of the
 * present attempts has acknowledged it; ids only rise; a restart takes the newest complete
 * checkpoint.
 */
import type { ErrorInfo } from '@weir/core/internal/base/errors';
import type { Attempt, ExecutionRef, SubtaskKey } from '@weir/core/internal/base/ids';
import { compareAttempts, isSameAttempt, subtaskKey } from '@weir/core/internal/base/ids';
import { isTerminalExecutionState } from '@weir/core/internal/protocol/execution/execution-state';
import type { RunState } from '@weir/core/internal/jobmanager/run-state';
import type { JobManagerMessage, TaskManagerMessage } from '@weir/core/internal/protocol/messages';
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { World } from '../world/world.ts';
import { KeyGroupCheck } from './key-group-check.ts';

interface KnownTask {
  readonly attempt: Attempt;
  readonly slot: number;
  isFinished: boolean;
  /** It has said so, or its thread has died. */
  isOver: boolean;
}

export interface ObserverOptions {
  /** Some fault turns bits around; so, if not given. */
  readonly mayBeDamaged?: boolean;
  /** Runs begin from savepoints: what was complete before means nothing to them. Default true. */
  readonly hasSavepoints?: boolean;
  /** `execution.checkpointing.num-retained`: so many can be gone back to. Default 1. */
  readonly numRetained?: number;
}

/** Thrown by no function of a simulated job: only the engine, or the language, throws these. */
const FAULTS_OF_OURS: ReadonlySet<string> = new Set([
  'AssertionError',
  'TypeError',
  'RangeError',
  'ReferenceError',
]);

export class ProtocolObserver {
  readonly #world: World;
  readonly #disk: MemoryFileSystem;
  readonly #mayBeDamaged: boolean;
  readonly #hasSavepoints: boolean;
  readonly #numRetained: number;
  /** Newest attempt deployed of each subtask of the present run. */
  #tasks = new Map<SubtaskKey, KnownTask>();
  /** Attempts whose acknowledgement the JobManager has got, by checkpoint. */
  #acknowledged = new Map<number, Map<SubtaskKey, Attempt>>();
  readonly #complete = new Set<number>();
  /** Complete since the present run began, oldest first. */
  #ofThisRun: number[] = [];
  /** Complete or failed. */
  readonly #ended = new Set<number>();
  /** Tasks were told that these are aborted. */
  readonly #aborted = new Set<number>();
  readonly #directories = new Map<number, string>();
  /** Savepoints that do not stop the job: nobody may rely on them. */
  readonly #savepoints = new Set<number>();
  readonly #keyGroups: KeyGroupCheck;
  #isDurable = true;
  #highestId = 0;
  #newestComplete = 0;
  #epoch = 0;
  /** When a message last went between JobManager and tasks, reports of numbers aside. */
  lastMessageAt = 0;
  /** World time at which the present run began. */
  runStartedAt = 0;
  restoredCount = 0;
  completedCount = 0;
  /** Called when a checkpoint of the present leader is complete. */
  onCompleted: (checkpointId: number, directory: string) => void = () => undefined;

  constructor(world: World, disk: MemoryFileSystem, options: ObserverOptions = {}) {
    this.#world = world;
    this.#disk = disk;
    this.#keyGroups = new KeyGroupCheck(world);
    this.#mayBeDamaged = options.mayBeDamaged ?? true;
    this.#hasSavepoints = options.hasSavepoints ?? true;
    this.#numRetained = options.numRetained ?? 1;
  }

  runStarted(state: Extract<RunState, { type: 'run' }>): void {
    const { epoch, storage, initial } = state;
    // A leader that stood still after its claim, and was replaced meanwhile: others must fence it.
    if (epoch < this.#epoch) return;
    this.#world.check(epoch > this.#epoch, () => `two leaders have claimed epoch ${epoch}`);
    this.#epoch = epoch;
    this.runStartedAt = this.#world.now;
    this.#isDurable = storage.constructor.name === 'FileCheckpointStorage';
    this.#tasks = new Map();
    this.#acknowledged = new Map();
    this.#ofThisRun = [];
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
    this.lastMessageAt = this.#world.now;
    if (message.type === 'deployTask') {
      const { execution, restore, slot } = message.deployment;
      if (execution.attempt.epoch < this.#epoch) return;
      const key = keyOf(execution);
      const known = this.#tasks.get(key);
      this.#world.check(
        known === undefined || compareAttempts(execution.attempt, known.attempt) > 0,
        () => `an attempt of ${key} was deployed twice`,
      );
      this.#world.check(
        known === undefined || known.isOver,
        () => `an attempt of ${key} was deployed while the one before it may still run`,
      );
      const { attempt } = execution;
      this.#tasks.set(key, { attempt, slot, isFinished: false, isOver: false });
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
      if (options.kind === 'savepoint') this.#savepoints.add(checkpointId);
      else this.#directories.set(checkpointId, options.location);
      if (this.#acknowledged.has(checkpointId)) return;
      this.#world.check(
        checkpointId > this.#highestId,
        () => `checkpoint id ${checkpointId} is used again; the highest was ${this.#highestId}`,
      );
      this.#highestId = Math.max(this.#highestId, checkpointId);
      this.#acknowledged.set(checkpointId, new Map());
      return;
    }
    if (message.type === 'notifyCheckpointAborted') {
      const { epoch } = message.execution.attempt;
      if (epoch !== this.#epoch) return;
      const { checkpointId } = message;
      this.#aborted.add(checkpointId);
      this.#world.check(
        !this.#isOnDisk(checkpointId),
        () => `checkpoint ${checkpointId} is given up, and a restart would go on from it`,
      );
      return;
    }
    if (message.type === 'notifyCheckpointComplete') {
      this.#world.check(
        !this.#savepoints.has(message.checkpointId),
        () => `tasks are told of savepoint ${message.checkpointId} as of a checkpoint`,
      );
      const { epoch } = message.execution.attempt;
      if (epoch < this.#epoch) this.#toldByFormerLeader(epoch, message.checkpointId);
      else this.#told(message.checkpointId);
    }
  }

  sentByTask(message: JobManagerMessage): void {
    if (message.type !== 'taskMetrics') this.lastMessageAt = this.#world.now;
    if (message.type !== 'taskStateChanged') return;
    const { error, execution } = message;
    if (error !== null) this.failed(execution.attempt.epoch, error);
    if (!isTerminalExecutionState(message.state)) return;
    const task = this.#tasks.get(keyOf(execution));
    if (task === undefined || !isSameAttempt(task.attempt, execution.attempt)) return;
    task.isOver = true;
    task.isFinished = message.state === 'FINISHED';
  }

  /** Its tasks have died with it. */
  threadDied(slot: number): void {
    for (const task of this.#tasks.values()) if (task.slot === slot) task.isOver = true;
  }

  /** The JobManager has dealt with a message: whoever declines ends the checkpoint at once. */
  handled(message: JobManagerMessage): void {
    if (message.type !== 'declineCheckpoint') return;
    const { checkpointId, execution } = message;
    const known = this.#tasks.get(keyOf(execution));
    const acks = this.#acknowledged.get(checkpointId);
    if (known === undefined || !isSameAttempt(known.attempt, execution.attempt)) return;
    if (acks === undefined || acks.has(keyOf(execution))) return;
    this.#world.check(
      this.#ended.has(checkpointId),
      () => `checkpoint ${checkpointId} goes on, though ${keyOf(execution)} declined it`,
    );
  }

  receivedFromTask(message: JobManagerMessage): void {
    if (message.type !== 'acknowledgeCheckpoint') return;
    this.#requireNewest(message.execution);
    const acks = this.#acknowledged.get(message.checkpointId);
    const known = this.#tasks.get(keyOf(message.execution));
    if (known === undefined || !isSameAttempt(known.attempt, message.execution.attempt)) return;
    acks?.set(keyOf(message.execution), message.execution.attempt);
    this.#keyGroups.acknowledged(message.checkpointId, message.snapshot);
  }

  /** Checkpoints under way, and whose acknowledgements they wait for. */
  describePending(): readonly string[] {
    const lines: string[] = [];
    for (const [checkpointId, acks] of this.#acknowledged) {
      if (this.#ended.has(checkpointId)) continue;
      const missing = [...this.#tasks].filter(
        ([key, { isFinished }]) => !isFinished && !acks.has(key),
      );
      lines.push(
        `checkpoint ${checkpointId} waits for ` +
          (missing.map(([key]) => shortOf(key)).join(', ') || 'its completion'),
      );
    }
    return lines;
  }

  /** Something failed: whatever the faults were, the engine must not contradict itself. */
  failed(epoch: number, error: ErrorInfo): void {
    const root = rootOf(error);
    if (FAULTS_OF_OURS.has(root.name))
      this.#world.violated(`a fault of the engine: ${root.name} ${root.message}`);
    // Whoever was replaced may miss what its successor has removed.
    if (error.kind === 'corrupt' && !this.#mayBeDamaged && epoch === this.#epoch)
      this.#world.violated(`the disk is sound, yet: ${error.message}`);
  }

  /** The end of a run that nobody asked to end. */
  jobFailed(epoch: number, error: ErrorInfo): void {
    this.failed(epoch, error);
    if (error.kind === 'user' && epoch === this.#epoch)
      this.#world.violated(`the job gave up: ${error.message}`);
  }

  checkpointFailed(checkpointId: number | null, message: string): void {
    if (checkpointId !== null) this.#ended.add(checkpointId);
    if (message.includes('bug of Weir'))
      this.#world.violated(`checkpoint ${String(checkpointId)} failed: ${message}`);
  }

  /** The JobManager of this epoch says so. */
  checkpointCompleted(epoch: number, checkpointId: number, directory: string): void {
    this.completedCount++;
    this.#ended.add(checkpointId);
    const isSavepoint = this.#savepoints.has(checkpointId);
    if (epoch < this.#epoch) {
      if (!isSavepoint) this.#toldByFormerLeader(epoch, checkpointId);
      return;
    }
    if (directory !== '' && !isSavepoint) this.#directories.set(checkpointId, directory);
    this.#world.check(
      !this.#aborted.has(checkpointId),
      () => `checkpoint ${checkpointId} is complete, and tasks were told that it is aborted`,
    );
    for (const [key, task] of this.#tasks) {
      if (task.isFinished) continue;
      const attempt = this.#acknowledged.get(checkpointId)?.get(key);
      this.#world.check(
        attempt !== undefined && isSameAttempt(attempt, task.attempt),
        () =>
          `checkpoint ${checkpointId} is complete without an acknowledgement of the present ` +
          `attempt of ${key}`,
      );
    }
    if (!isSavepoint) this.#told(checkpointId);
    if (this.#isDurable) this.onCompleted(checkpointId, directory);
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
    this.#ofThisRun.push(checkpointId);
    this.#newestComplete = Math.max(this.#newestComplete, checkpointId);
  }

  /**
   * Until a newer one is complete, it is all that the job can go back to; when all its tasks have
   * finished, it need not. (What arrives so late has said so much before.)
   */
  #requireNewest({ attempt }: ExecutionRef): void {
    if ([...this.#tasks.values()].every((task) => task.isFinished)) return;
    const newest = this.#newestComplete;
    if (this.#hasSavepoints || !this.#isDurable || attempt.epoch !== this.#epoch) return;
    if (!this.#directories.has(newest)) return;
    this.#world.check(
      this.#isOnDisk(newest),
      () => `checkpoint ${newest} is gone, and no newer one is complete`,
    );
    for (const kept of this.#ofThisRun.slice(-this.#numRetained))
      this.#world.check(
        this.#isOnDisk(kept),
        () => `checkpoint ${kept} is gone, though the newest ${this.#numRetained} are to be kept`,
      );
  }

  /** What a leader completes after another has taken over, that other one knows nothing of. */
  #toldByFormerLeader(epoch: number, checkpointId: number): void {
    this.#world.check(
      checkpointId <= this.#newestComplete,
      () => `the leader of epoch ${epoch} completed ${checkpointId} after it was replaced`,
    );
  }

  #isOnDisk(checkpointId: number): boolean {
    const directory = this.#directories.get(checkpointId);
    return directory !== undefined && this.#disk.survives(`${directory}/_metadata`) !== null;
  }
}

function rootOf(error: ErrorInfo): ErrorInfo {
  const [cause] = error.causes;
  return cause === undefined ? error : rootOf(cause);
}

/** As tasks are named in the trace. */
function shortOf(key: SubtaskKey): string {
  const [vertexId = '', subtask = ''] = key.split(/[/:]/);
  return `${vertexId.slice(0, 4)}/${subtask}`;
}

function keyOf(execution: ExecutionRef): SubtaskKey {
  return subtaskKey(execution.vertexId, execution.subtask);
}
