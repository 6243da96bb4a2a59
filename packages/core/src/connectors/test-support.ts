/**
 * For the tests of this folder: plays the engine's part around a source, with checkpoints, crashes
 * and restarts at another parallelism. Records count only once a checkpoint covers them.
 */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { UserMetrics } from '../api/functions.ts';
import type {
  ConnectorEnvironment,
  PollResult,
  Source,
  SourceReader,
  SplitEnumerator,
} from '../api/source.ts';
import { ManualClock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { LogLevel } from '../base/logger.ts';
import { seededRandom } from '../base/random.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';

export interface TestEnvironment extends ConnectorEnvironment {
  readonly clock: ManualClock;
  readonly logged: string[];
}

export function testEnvironment(
  fileSystem: FileSystem = new MemoryFileSystem(),
  seed = 1,
): TestEnvironment {
  const logged: string[] = [];
  const logger = { log: (level: LogLevel, text: string) => void logged.push(`${level} ${text}`) };
  return { clock: new ManualClock(), random: seededRandom(seed), fileSystem, logger, logged };
}

/** Lets everything run that is under way, on real threads too. */
export async function settle(): Promise<void> {
  await setImmediate();
}

export async function writeText(
  fileSystem: FileSystem,
  path: string,
  content: string | Uint8Array,
): Promise<void> {
  await fileSystem.makeDirectory(path.slice(0, path.lastIndexOf('/')) || '/');
  const writer = await fileSystem.create(path);
  await writer.write(typeof content === 'string' ? Buffer.from(content) : content);
  await writer.sync();
  await writer.close();
}

export interface TestCounters {
  readonly counts: Map<string, number>;
  readonly metrics: UserMetrics;
}

export function testCounters(): TestCounters {
  const counts = new Map<string, number>();
  const counter = (name: string): { add(count?: number): void } => ({
    add: (count = 1) => void counts.set(name, (counts.get(name) ?? 0) + count),
  });
  return { counts, metrics: { counter } };
}

export interface SourceCheckpoint<Split, State> {
  readonly enumerator: State;
  readonly splits: readonly Split[];
}

export interface Collected<T> {
  readonly value: T;
  readonly splitId: string;
}

export class SourceDriver<T, Split, State> {
  readonly environment: ConnectorEnvironment;
  readonly counters: TestCounters = testCounters();
  /** Collected since the start, or since the last `snapshot`. */
  collected: Collected<T>[] = [];
  /** Ids of splits that the reader called finished. */
  readonly finishedSplits: string[] = [];
  failure: unknown = null;
  readonly #source: Source<T, Split, State>;
  readonly #readers: SourceReader<T, Split>[] = [];
  readonly #ended = new Set<number>();
  #enumerator: SplitEnumerator<Split, State> | null = null;
  #requests: Promise<void> = Promise.resolve();

  constructor(source: Source<T, Split, State>, environment: ConnectorEnvironment) {
    this.#source = source;
    this.environment = environment;
  }

  async start(parallelism = 1, restored?: SourceCheckpoint<Split, State>): Promise<void> {
    const enumerator = this.#source.createEnumerator(
      {
        ...this.environment,
        parallelism,
        registeredReaders: () => [...this.#readers.keys()],
        assignSplits: (subtask, splits) => this.#readers[subtask]?.addSplits(splits),
        signalNoMoreSplits: (subtask) => this.#readers[subtask]?.notifyNoMoreSplits(),
        sendEvent: () => undefined,
        fail: (error) => {
          this.failure = error;
        },
      },
      structuredClone(restored?.enumerator),
    );
    this.#enumerator = enumerator;
    await enumerator.start();
    for (let subtask = 0; subtask < parallelism; subtask++) {
      const reader = this.#createReader(subtask, parallelism);
      this.#readers.push(reader);
      await reader.start();
      const mine = (restored?.splits ?? []).filter((_, index) => index % parallelism === subtask);
      if (mine.length > 0) reader.addSplits(structuredClone(mine));
      enumerator.addReader(subtask);
    }
  }

  poll(subtask = 0, recordsMax: number = Infinity): PollResult {
    let remaining = recordsMax;
    const output = {
      collect: (value: T, _timestamp: number, splitId: string) => {
        remaining--;
        this.collected.push({ value, splitId });
      },
      splitFinished: (splitId: string) => void this.finishedSplits.push(splitId),
      get remaining(): number {
        return remaining;
      },
    };
    const result = this.#readers[subtask]!.poll(output);
    if (result === 'end') this.#ended.add(subtask);
    return result;
  }

  /** Polls all readers in turn until each has answered `end`; fails when that does not come. */
  async finish(recordsMax: number = Infinity): Promise<void> {
    await this.drain(recordsMax, 20_000);
    assert.ok(this.hasEnded, 'the source must end');
  }

  /** Polls all readers in turn until nothing happened for a while. */
  async drain(recordsMax: number = Infinity, idleMax = 20): Promise<void> {
    for (let idle = 0; idle < idleMax; idle++) {
      for (const subtask of this.#readers.keys()) {
        if (this.#ended.has(subtask)) continue;
        const before = this.collected.length;
        if (this.poll(subtask, recordsMax) === 'more' || this.collected.length > before) idle = 0;
      }
      if (this.#ended.size === this.#readers.length) return;
      await settle();
    }
  }

  get hasEnded(): boolean {
    return this.#ended.size === this.#readers.length;
  }

  get values(): T[] {
    return this.collected.map(({ value }) => value);
  }

  /** A checkpoint of everything at this moment; later ones begin with an empty `collected`. */
  snapshot(checkpointId = 1): SourceCheckpoint<Split, State> & { readonly values: T[] } {
    const values = this.values;
    this.collected = [];
    return structuredClone({
      enumerator: this.#enumerator!.snapshotState(checkpointId),
      splits: this.#readers.flatMap((reader) => [...reader.snapshotState(checkpointId)]),
      values,
    });
  }

  async completeCheckpoint(checkpointId = 1): Promise<void> {
    for (const reader of this.#readers) reader.notifyCheckpointComplete?.(checkpointId);
    await settle();
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) await reader.close();
    await this.#enumerator?.close();
  }

  #createReader(subtask: number, parallelism: number): SourceReader<T, Split> {
    return this.#source.createReader({
      ...this.environment,
      subtask,
      parallelism,
      metrics: this.counters.metrics,
      sendSplitRequest: () => {
        this.#requests = this.#requests.then(() => this.#enumerator!.handleSplitRequest(subtask));
      },
      sendEvent: () => undefined,
      wakeUp: () => undefined,
    });
  }
}
