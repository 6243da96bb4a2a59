/**
 * Plays the engine's part around a sink: attempts, checkpoints, commits, recovery. A `SinkWorld` is
 * the outer system with what the engine has stored of the job; a `SinkProcess` is one process of
 * the job, with one attempt of all subtasks of the sink.
 */
import { errorKind } from '@weir/core';
import type {
  Attempt,
  Committer,
  CommitterContext,
  JobId,
  OperatorId,
  Sink,
  SinkWriter,
} from '@weir/core';
import { seededRandom } from '@weir/core/internal/base/random';
import { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import { AutoClock } from './auto-clock.ts';
import type { ConformanceSubject, ConformanceSystem } from './conformance-subject.ts';
import { gatedFileSystem, ProcessGate, Steps } from './process-gate.ts';

/** A checkpoint as the engine stores it. */
export interface SinkCheckpoint {
  readonly id: number;
  /** Records before it. */
  readonly position: number;
  /** Those of this checkpoint, and of earlier ones that were not committed. */
  readonly committables: readonly unknown[];
  readonly writerStates: readonly unknown[];
}

export const NO_CHECKPOINT: SinkCheckpoint = {
  id: 0,
  position: 0,
  committables: [],
  writerStates: [],
};

/** What a checkpoint holds of one subtask. */
type SubtaskPart = Pick<SinkCheckpoint, 'committables' | 'writerStates'>;

const NOTHING: SubtaskPart = { committables: [], writerStates: [] };
const ELEMENT = { timestamp: Number.NaN, watermark: -Infinity };
const COMMIT_TRIES = 5;

export class SinkWorld<T, S extends ConformanceSystem<T>> {
  readonly subject: ConformanceSubject<T, S>;
  readonly clock: AutoClock = new AutoClock();
  readonly system: S;
  readonly steps: Steps;
  /** The newest complete checkpoint. */
  completed: SinkCheckpoint = NO_CHECKPOINT;
  /** Checkpoints that are complete. */
  stage = 0;
  #processes = 0;
  #checkpoints = 0;

  constructor(subject: ConformanceSubject<T, S>, steps: Steps = new Steps()) {
    this.subject = subject;
    this.steps = steps;
    this.system = subject.outerSystem(this.clock);
  }

  record(n: number): T {
    return this.subject.options.record(n);
  }

  nextCheckpointId(): number {
    return ++this.#checkpoints;
  }

  /** A new process, which leads the job; the others go on, unless they are dead. */
  newProcess(): SinkProcess<T, S> {
    return new SinkProcess(this, { epoch: ++this.#processes, counter: 1 });
  }
}

export class SinkProcess<T, S extends ConformanceSystem<T>> {
  readonly gate: ProcessGate;
  readonly attempt: Attempt;
  readonly sink: Sink<T>;
  readonly #world: SinkWorld<T, S>;
  readonly #context: CommitterContext;
  readonly #writers: SinkWriter<T>[] = [];
  #committer: Committer<unknown> | null = null;
  /** Of each subtask, of checkpoints that are not complete and of the present one. */
  #uncommitted: unknown[][] = [];
  /** Writer states of the checkpoint that this process began from. */
  #restored: readonly unknown[] = [];
  /** By subtask, of the newest checkpoint and of the newest that is complete. */
  #prepared: readonly SubtaskPart[] = [];
  #completed: readonly SubtaskPart[] = [];
  #parallelism = 0;
  position = 0;

  constructor(world: SinkWorld<T, S>, attempt: Attempt) {
    this.#world = world;
    this.attempt = attempt;
    this.gate = new ProcessGate(world.steps);
    this.sink = world.subject.makeSink(world.system, this.gate);
    const disk = world.system.fileSystem ?? new MemoryFileSystem();
    this.#context = {
      clock: world.clock,
      random: seededRandom(attempt.epoch),
      fileSystem: gatedFileSystem(disk, this.gate),
      logger: { log: () => undefined },
      jobId: 'a'.repeat(32) as JobId,
      operatorId: 'b'.repeat(32) as OperatorId,
    };
  }

  /** Work of this process: ends with its death, too. */
  run<R>(work: () => Promise<R>): Promise<R> {
    return Promise.race([work(), this.gate.died]);
  }

  /** Recovers from a checkpoint. */
  async recover(from: SinkCheckpoint): Promise<void> {
    const recovering = this.newCommitter();
    this.position = from.position;
    this.#restored = structuredClone(from.writerStates);
    if (recovering === null) return;
    for (const name of ['recover', 'commit', 'probe', 'close'] as const)
      if (typeof recovering[name] !== 'function')
        throw new TypeError(`the committer of sink ${this.sink.name} has no method ${name}`);
    const { committables, writerStates } = structuredClone(from);
    const { attempt } = this;
    await recovering.recover({
      committables,
      writerStates,
      attempt,
      subtasks: 'all',
      allowOlder: false,
    });
    await recovering.close();
  }

  async startWriters(parallelism: number): Promise<void> {
    this.#committer = this.newCommitter();
    this.#parallelism = parallelism;
    this.#uncommitted = Array.from({ length: parallelism }, () => []);
    for (let subtask = 0; subtask < parallelism; subtask++) {
      const restored = this.#restored.filter((_, index) => index % parallelism === subtask);
      this.#writers.push(await this.#openWriter(subtask, this.attempt, restored));
    }
  }

  /**
   * One subtask fails, and a newer attempt of it alone goes on from the last complete checkpoint,
   * while the others keep what they have.
   */
  async restartWriter(subtask: number): Promise<void> {
    const { committables, writerStates } = this.#completed[subtask] ?? NOTHING;
    await this.#writers[subtask]?.close();
    const attempt = { ...this.attempt, counter: this.attempt.counter + 1 };
    const recovering = this.newCommitter();
    const restored = structuredClone({ committables, writerStates });
    await recovering?.recover({ ...restored, attempt, subtasks: [subtask], allowOlder: false });
    await recovering?.close();
    this.#uncommitted[subtask] = [];
    this.#writers[subtask] = await this.#openWriter(subtask, attempt, restored.writerStates);
    for (let n = this.#world.completed.position; n < this.position; n++)
      if (n % this.#parallelism === subtask) await this.#writeOne(n);
  }

  async #openWriter(
    subtask: number,
    attempt: Attempt,
    restored: readonly unknown[],
  ): Promise<SinkWriter<T>> {
    const writer = this.sink.createWriter(
      {
        ...this.#context,
        subtask,
        parallelism: this.#parallelism,
        attempt,
        checkpointing: true,
        metrics: { counter: () => ({ add: () => undefined }) },
        scheduleHousekeeping: () => undefined,
      },
      restored,
    );
    await writer.open?.();
    return writer;
  }

  /** A committer of its own, as the JobManager has one while it recovers. */
  newCommitter(): Committer<unknown> | null {
    return this.sink.createCommitter?.(this.#context) ?? null;
  }

  /** Writes the next records, in turn to all subtasks. */
  async write(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.#writeOne(this.position++);
  }

  async #writeOne(n: number): Promise<void> {
    const writer = this.#writers[n % this.#parallelism];
    if (writer === undefined) throw new Error('the writers are not started');
    if (!writer.isWritable) await writer.whenWritable();
    writer.write(this.#world.record(n), ELEMENT);
  }

  /** A barrier: resolves when everything before it is durable, as the sink says. */
  async prepare(endOfInput = false): Promise<SinkCheckpoint> {
    const id = this.#world.nextCheckpointId();
    const prepared = this.#writers.map((writer) =>
      writer.prepareCommit({ checkpointId: id, endOfInput }),
    );
    for (const [subtask, { committables }] of prepared.entries())
      this.#uncommitted[subtask]?.push(...committables);
    this.#prepared = structuredClone(
      prepared.map(({ writerStates }, subtask) => ({
        committables: this.#uncommitted[subtask] ?? [],
        writerStates,
      })),
    );
    const checkpoint = {
      id,
      position: this.position,
      committables: this.#prepared.flatMap(({ committables }) => committables),
      writerStates: this.#prepared.flatMap(({ writerStates }) => writerStates),
    };
    await Promise.all(prepared.map(({ durable }) => durable));
    return checkpoint;
  }

  /** The checkpoint is complete from here on; what it holds is committed. */
  async complete(checkpoint: SinkCheckpoint): Promise<void> {
    this.#world.completed = checkpoint;
    this.#completed = this.#prepared;
    this.#uncommitted = this.#uncommitted.map(() => []);
    await this.commit(checkpoint.committables);
  }

  /** Tries again what may pass, as the engine does. */
  async commit(committables: readonly unknown[]): Promise<void> {
    if (this.#committer === null || committables.length === 0) return;
    for (let tries = 1; ; tries++)
      try {
        await this.#committer.commit(structuredClone(committables));
        return;
      } catch (error) {
        if (errorKind(error) !== 'transient' || tries >= COMMIT_TRIES) throw error;
      }
  }

  async close(): Promise<void> {
    for (const writer of this.#writers) await writer.close();
    await this.#committer?.close();
  }
}
