/**
 * A source whose records depend on their index alone. The enumerator hands out ranges of indexes in
 * order, so its state is one number, and any number of subtasks may share the work, also another
 * number after a restart.
 */
import type {
  PollResult,
  ReaderOutput,
  SourceReader,
  SourceReaderContext,
  SplitEnumerator,
  SplitEnumeratorContext,
} from '../../api/source.ts';
import { UserFunctionError, messageOf } from '../../base/errors.ts';
import { ReaderRate } from '../rate-limiter.ts';

/** Indexes [next, end) still to be read. */
export interface IndexRange {
  readonly next: number;
  readonly end: number;
}

export interface IndexRangesState {
  /** First index that was never handed out. */
  readonly next: number;
  /** Handed out, and come back from a failed reader. */
  readonly returned: readonly IndexRange[];
}

export class IndexRangeEnumerator implements SplitEnumerator<IndexRange, IndexRangesState> {
  readonly #context: SplitEnumeratorContext<IndexRange>;
  readonly #count: number;
  readonly #rangeSize: number;
  readonly #returned: IndexRange[];
  #next: number;

  /** `count` is Infinity for a source without end. */
  constructor(
    context: SplitEnumeratorContext<IndexRange>,
    count: number,
    rangeSize: number,
    restored: IndexRangesState | undefined,
  ) {
    this.#context = context;
    this.#count = count;
    this.#rangeSize = rangeSize;
    this.#next = restored?.next ?? 0;
    this.#returned = [...(restored?.returned ?? [])];
  }

  start(): void {
    // Ranges are made when asked for.
  }

  handleSplitRequest(subtask: number): void {
    const range = this.#returned.shift() ?? this.#nextRange();
    if (range === null) this.#context.signalNoMoreSplits(subtask);
    else this.#context.assignSplits(subtask, [range]);
  }

  addReader(): void {
    // It asks when it wants a range.
  }

  addSplitsBack(ranges: readonly IndexRange[]): void {
    this.#returned.push(...ranges);
    this.#returned.sort((a, b) => a.next - b.next);
  }

  snapshotState(): IndexRangesState {
    return { next: this.#next, returned: [...this.#returned] };
  }

  close(): void {
    // Nothing is open.
  }

  #nextRange(): IndexRange | null {
    if (this.#next >= this.#count) return null;
    const range = { next: this.#next, end: Math.min(this.#next + this.#rangeSize, this.#count) };
    this.#next = range.end;
    return range;
  }
}

/** Ranges follow each other in one sequence, so they share one watermark. */
const SPLIT_ID = 'index';

export class IndexRangeReader<T> implements SourceReader<T, IndexRange> {
  readonly #context: SourceReaderContext;
  readonly #name: string;
  readonly #generator: (index: number) => T;
  readonly #rate: ReaderRate;
  readonly #waiting: IndexRange[] = [];
  /** The range being read is [#next, #end). */
  #next = 0;
  #end = 0;
  #hasAsked = false;
  #isLastKnown = false;

  constructor(
    context: SourceReaderContext,
    name: string,
    generator: (index: number) => T,
    rate: number | null,
  ) {
    this.#context = context;
    this.#name = name;
    this.#generator = generator;
    this.#rate = new ReaderRate(context, rate);
  }

  start(): void {
    // The first range is asked for by `poll`: restored ones may come first.
  }

  poll(output: ReaderOutput<T>): PollResult {
    while (output.remaining > 0) {
      if (this.#next >= this.#end && !this.#beginNext())
        return this.#isLastKnown ? 'end' : 'nothing';
      const allowed = this.#rate.available();
      if (allowed < 1) return this.#rate.wait();
      const from = this.#next;
      const until = Math.min(this.#end, from + allowed);
      while (this.#next < until && output.remaining > 0) this.#collect(output);
      this.#rate.take(this.#next - from);
    }
    return 'more';
  }

  addSplits(ranges: readonly IndexRange[]): void {
    this.#hasAsked = false;
    this.#waiting.push(...ranges);
    this.#waiting.sort((a, b) => a.next - b.next);
    this.#context.wakeUp();
  }

  notifyNoMoreSplits(): void {
    this.#isLastKnown = true;
    this.#context.wakeUp();
  }

  snapshotState(): readonly IndexRange[] {
    const current = this.#next < this.#end ? [{ next: this.#next, end: this.#end }] : [];
    return [...current, ...this.#waiting];
  }

  close(): void {
    this.#rate.close();
  }

  #collect(output: ReaderOutput<T>): void {
    const index = this.#next++;
    let value: T;
    try {
      value = this.#generator(index);
    } catch (error) {
      throw new UserFunctionError(
        `the generator of ${this.#name} threw at index ${index}: ${messageOf(error)}`,
        { details: { source: this.#name, index }, cause: error },
      );
    }
    output.collect(value, Number.NaN, SPLIT_ID);
  }

  /** The range after is asked for when one begins, so that none waits for it. */
  #beginNext(): boolean {
    const range = this.#waiting.shift();
    if (this.#waiting.length === 0 && !this.#hasAsked && !this.#isLastKnown) {
      this.#hasAsked = true;
      this.#context.sendSplitRequest();
    }
    if (range === undefined) return false;
    this.#next = range.next;
    this.#end = range.end;
    return true;
  }
}

export function describeIndexRange(range: IndexRange): string {
  return `index ${range.next} of [… ${range.end})`;
}
