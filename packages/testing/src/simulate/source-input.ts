/**
 * The input of a simulation: for each source its records in splits, in order within a split, each
 * with the event time that the source knows. Made from what the user gave, or read from sources
 * that make their records from nothing, such as a collection.
 */
import { ManualClock } from '@weir/core/internal/base/clock';
import { seededRandom } from '@weir/core/internal/base/random';
import { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { ReaderOutput, Source } from '@weir/core';

export interface TimedRecord {
  readonly value: unknown;
  /** NaN: the source knows none. */
  readonly timestamp: number;
}

export type SourceInput = readonly (readonly TimedRecord[])[];

/** What a user gives for a source: records read in order, or several splits read side by side. */
export type InputRecords<T = unknown> =
  | readonly T[]
  | {
      readonly splits: readonly (readonly T[])[];
      /** The event time that the source itself knows, as Kafka does. By default it knows none. */
      timestampOf?(record: T): number;
    };

export function sourceInput(given: InputRecords): SourceInput {
  const splits = 'splits' in given ? given.splits : [given];
  const timestampOf = (value: unknown): number =>
    ('splits' in given ? given.timestampOf?.(value) : undefined) ?? Number.NaN;
  return splits.map((split) => split.map((value) => ({ value, timestamp: timestampOf(value) })));
}

/** These read nothing from outside. */
const SELF_CONTAINED: ReadonlySet<string> = new Set([
  'Collection',
  'collection',
  'sequence',
  'datagen',
]);

/** Polls that bring nothing, one after the other, before a source counts as stuck. */
const IDLE_POLLS_MAX = 100_000;

/** All records of a source that makes them from nothing; `null`: it reads from outside. */
export function ownRecords(source: Source<unknown>): SourceInput | null {
  if (!SELF_CONTAINED.has(source.name) || source.boundedness === 'unbounded') return null;
  const records: TimedRecord[] = [];
  const clock = new ManualClock();
  const environment = {
    clock,
    random: seededRandom(1),
    fileSystem: new MemoryFileSystem(),
    logger: { log: () => undefined },
    parallelism: 1,
  };
  const reader = source.createReader({
    ...environment,
    subtask: 0,
    metrics: { counter: () => ({ add: () => undefined }) },
    sendSplitRequest: () => void enumerator.handleSplitRequest(0),
    sendEvent: () => undefined,
    wakeUp: () => undefined,
  });
  const enumerator = source.createEnumerator({
    ...environment,
    registeredReaders: () => [0],
    assignSplits: (_subtask, splits) => reader.addSplits(splits),
    signalNoMoreSplits: () => reader.notifyNoMoreSplits(),
    sendEvent: () => undefined,
    fail: () => undefined,
  });
  const output: ReaderOutput<unknown> = {
    collect: (value, timestamp) => void records.push({ value, timestamp }),
    remaining: 1000,
  };
  void enumerator.start();
  void reader.start();
  for (let idle = 0; idle < IDLE_POLLS_MAX; idle++) {
    const count = records.length;
    if (reader.poll(output) === 'end') return [records];
    if (records.length > count) idle = 0;
    clock.advance(10);
  }
  return null;
}
