/** For the tests of this folder: plays the engine's part around a sink, crashes included. */
import type { Committer, Sink, SinkWriter } from '../../api/sink.ts';
import type { JobId, OperatorId } from '../../base/ids.ts';
import type { MemoryFileSystem } from '../../storage/memory-file-system.ts';
import { testCounters } from '../test-support.ts';
import type { TestEnvironment } from '../test-support.ts';

export const JOB_ID = 'abcdef0123456789abcdef0123456789' as JobId;
export const OPERATOR_ID = '123456789abcdef0123456789abcdef0' as OperatorId;
const NO_TIME: { readonly timestamp: number; readonly watermark: number } = {
  timestamp: Number.NaN,
  watermark: -Infinity,
};

export interface SinkCheckpoint<State, Committable> {
  readonly id: number;
  /** Those of this checkpoint and of earlier ones that were not committed. */
  readonly committables: readonly Committable[];
  readonly writerStates: readonly State[];
}

export interface SinkDriverOptions {
  readonly jobId?: JobId;
  readonly operatorId?: OperatorId;
  /** Of the leader; default 1. */
  readonly epoch?: number;
}

/** One attempt of all subtasks of a sink. */
export class SinkDriver<T, State, Committable> {
  readonly counter: number;
  readonly #epoch: number;
  readonly writers: SinkWriter<T, State, Committable>[] = [];
  /** Intervals asked for with `scheduleHousekeeping`. */
  readonly housekeeping: number[] = [];
  readonly committer: Committer<Committable, State>;
  readonly #sink: Sink<T, State, Committable>;
  readonly #environment: TestEnvironment;
  readonly #identity: { readonly jobId: JobId; readonly operatorId: OperatorId };
  #uncommitted: Committable[] = [];

  constructor(
    sink: Sink<T, State, Committable>,
    environment: TestEnvironment,
    counter = 1,
    options: SinkDriverOptions = {},
  ) {
    this.#sink = sink;
    this.#environment = environment;
    this.counter = counter;
    this.#epoch = options.epoch ?? 1;
    this.#identity = {
      jobId: options.jobId ?? JOB_ID,
      operatorId: options.operatorId ?? OPERATOR_ID,
    };
    this.committer = sink.createCommitter!({ ...environment, ...this.#identity });
  }

  /** Recovers from a checkpoint, or from none, and starts the writers. */
  async start(
    parallelism = 1,
    restored?: SinkCheckpoint<State, Committable>,
    allowOlder = false,
  ): Promise<void> {
    const attempt = { epoch: this.#epoch, counter: this.counter };
    await this.committer.recover({
      committables: structuredClone(restored?.committables ?? []),
      writerStates: structuredClone(restored?.writerStates ?? []),
      attempt,
      subtasks: 'all',
      allowOlder,
    });
    for (let subtask = 0; subtask < parallelism; subtask++) {
      const context = {
        ...this.#environment,
        ...this.#identity,
        subtask,
        parallelism,
        attempt,
        checkpointing: true,
        metrics: testCounters().metrics,
        scheduleHousekeeping: (ms: number) => void this.housekeeping.push(ms),
      };
      const writer = this.#sink.createWriter(context, []);
      await writer.open?.();
      this.writers.push(writer);
    }
  }

  write(value: T, subtask = 0, context: typeof NO_TIME = NO_TIME): void {
    this.writers[subtask]!.write(value, context);
  }

  /** Prepares on all subtasks at one cut; resolves when everything is durable. */
  async checkpoint(id: number, endOfInput = false): Promise<SinkCheckpoint<State, Committable>> {
    const prepared = this.writers.map((writer) =>
      writer.prepareCommit({ checkpointId: id, endOfInput }),
    );
    this.#uncommitted.push(...prepared.flatMap(({ committables }) => [...committables]));
    const checkpoint = structuredClone({
      id,
      committables: this.#uncommitted,
      writerStates: prepared.flatMap(({ writerStates }) => [...writerStates]),
    });
    await Promise.all(prepared.map(({ durable }) => durable));
    return checkpoint;
  }

  /** The checkpoint is complete: what it holds is committed. */
  async complete(checkpoint: SinkCheckpoint<State, Committable>): Promise<void> {
    this.#uncommitted.splice(0, checkpoint.committables.length);
    await this.committer.commit(checkpoint.committables);
  }

  async close(): Promise<void> {
    for (const writer of this.writers) await writer.close();
    await this.committer.close();
  }
}

/** Every file below a folder, with its text. */
export async function filesIn(
  fileSystem: MemoryFileSystem,
  folder: string,
): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const name of await fileSystem.list(folder)) {
    const path = `${folder}/${name}`;
    const stat = await fileSystem.stat(path);
    if (stat?.isDirectory === true)
      for (const [below, text] of await filesIn(fileSystem, path)) files.set(below, text);
    else files.set(path, Buffer.from(await fileSystem.readFile(path)).toString());
  }
  return files;
}

/** Lines of the finished files, sorted. */
export async function publishedIn(fileSystem: MemoryFileSystem, folder: string): Promise<string[]> {
  const lines: string[] = [];
  for (const [path, text] of await filesIn(fileSystem, folder))
    if (!path.slice(path.lastIndexOf('/') + 1).startsWith('.'))
      lines.push(...text.split('\n').slice(0, -1));
  return lines.toSorted();
}

export async function unfinishedIn(
  fileSystem: MemoryFileSystem,
  folder: string,
): Promise<string[]> {
  const files = await filesIn(fileSystem, folder);
  return [...files.keys()].filter((path) => path.includes('.inprogress.'));
}
