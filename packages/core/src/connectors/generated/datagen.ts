/**
 * The sources whose records follow from their index, as jobs see them; `index-ranges.ts` holds how
 * they are shared out and resumed.
 */
import type { Source } from '../../api/source.ts';
import { ConfigurationError } from '../../base/errors.ts';
import { checkPositive, checkWhole } from '../check-options.ts';
import { IndexRangeEnumerator, IndexRangeReader, describeIndexRange } from './index-ranges.ts';
import type { IndexRange, IndexRangesState } from './index-ranges.ts';

export interface DatagenOptions<T> {
  /** Must depend on the index alone, so that a replay gives the same record. */
  readonly generator: (index: number) => T;
  /** Records per second of all subtasks together; each gets an equal share. Default: no limit. */
  readonly rate?: number;
  /** Number of records. Default: without end. */
  readonly count?: number;
}

/** Few enough that the subtasks keep step, enough that asking for a range costs nothing. */
const RANGE_SIZE_MAX = 10_000;
/** A range holds a tenth of a second of records at most, when a rate is set. */
const RANGES_PER_SECOND = 10;

/**
 * Generates records by index 0, 1, 2, …, in ranges shared out to the subtasks. Replayable: the
 * position is the next index. Ends after `count` records, or never.
 * @throws ConfigurationError when a rate or count is not allowed.
 */
export function datagen<T>(options: DatagenOptions<T>): Source<T, IndexRange, IndexRangesState> {
  const { generator, rate, count } = options;
  checkPositive(rate, 'datagen rate');
  checkWhole(count, 0, 'datagen count');
  return indexSource('datagen', generator, { count: count ?? Infinity, rate: rate ?? null });
}

/**
 * The integers `from` to `to`, both included, shared out to the subtasks in ranges. Replayable.
 * @throws ConfigurationError when a bound is not a whole number, or `to` is below `from` - 1.
 */
export function sequence(from: number, to: number): Source<number, IndexRange, IndexRangesState> {
  const count = to - from + 1;
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || count < 0)
    throw new ConfigurationError(
      `sequence: ${from} to ${to} is no range, give whole numbers, the smaller one first`,
    );
  return indexSource('sequence', (index) => from + index, { count, rate: null });
}

/** The given values in their order, read by one subtask. Replayable: each attempt has them anew. */
export function fromCollection<T>(values: readonly T[]): Source<T, IndexRange, IndexRangesState> {
  // The index is below `count`, so the value is there (and may well be undefined).
  const valueAt = (index: number): T => values[index] as T;
  const count = values.length;
  return indexSource('collection', valueAt, { count, rate: null, rangeSize: Math.max(1, count) });
}

interface IndexSourceOptions {
  readonly count: number;
  readonly rate: number | null;
  /** Default: by count, rate and parallelism. */
  readonly rangeSize?: number;
}

function indexSource<T>(
  name: string,
  generator: (index: number) => T,
  options: IndexSourceOptions,
): Source<T, IndexRange, IndexRangesState> {
  const { count, rate } = options;
  return {
    name,
    boundedness: count === Infinity ? 'unbounded' : 'bounded',
    replay: 'offsets',
    createEnumerator: (context, restored) => {
      const rangeSize = options.rangeSize ?? rangeSizeFor(count, rate, context.parallelism);
      return new IndexRangeEnumerator(context, count, rangeSize, restored);
    },
    createReader: (context) => new IndexRangeReader(context, name, generator, rate),
    describeSplit: describeIndexRange,
  };
}

function rangeSizeFor(count: number, rate: number | null, parallelism: number): number {
  const share = Math.ceil(count / parallelism);
  const paced = rate === null ? Infinity : Math.ceil(rate / parallelism / RANGES_PER_SECOND);
  return Math.max(1, Math.min(share, paced, RANGE_SIZE_MAX));
}
