import type { Source } from '../api/source.ts';

/** Indexes [next, end) still to be generated. `end` is `null` for a range without end. */
export interface IndexRange {
  readonly next: number;
  readonly end: number | null;
}
export interface IndexRangeState {
  /** First index not handed out. */
  readonly next: number;
  readonly returned: readonly IndexRange[];
}

export interface DatagenOptions<T> {
  /** Must depend on the index alone, so that a replay gives the same record. */
  readonly generator: (index: number) => T;
  /** Records per second, over all subtasks together: each gets an equal share. Default: no limit. */
  readonly rate?: number;
  /** Number of records. Default: without end. */
  readonly count?: number;
}

/** Generates records by index 0, 1, 2, … Replayable. */
export function datagen<T>(options: DatagenOptions<T>): Source<T, IndexRange, IndexRangeState> {
  throw new Error(`datagen ${options.count}`);
}

/** The integers `from` to `to`, both included, split by range over the subtasks. */
export function sequence(from: number, to: number): Source<number, IndexRange, IndexRangeState> {
  throw new Error(`sequence ${from} ${to}`);
}

/** The given values, in their order, read by one subtask. */
export function fromCollection<T>(values: readonly T[]): Source<T, IndexRange, IndexRangeState> {
  throw new Error(`fromCollection ${values.length}`);
}
