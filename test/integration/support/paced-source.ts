/**
 * A bounded source for tests, of given values in given splits, that reads at the pace of
 * checkpoints: after `step` records a reader waits until a checkpoint is complete. So a job has
 * many checkpoints in its life, whatever the machine's speed. Splits are handed out one by one, as
 * readers ask for them; the position is the index of the next value.
 */
import type {
  ReaderOutput,
  Source,
  SourceReader,
  SourceReaderContext,
  SplitEnumerator,
  SplitEnumeratorContext,
} from '@weir/core';

export interface PacedSplit {
  readonly split: number;
  readonly next: number;
}

interface Unassigned {
  readonly splits: readonly PacedSplit[];
}

export interface PacedOptions<T> {
  /** Values of each split. */
  readonly splits: readonly (readonly T[])[];
  /** Records a reader reads between two complete checkpoints; by default it never waits. */
  readonly step?: number;
  readonly timestampOf?: (value: T) => number;
  readonly name?: string;
  /** After its last value the source stays open. */
  readonly unbounded?: boolean;
  /** Called for each record before it is collected, with its place. */
  readonly onRead?: (value: T, place: PacedSplit) => void;
  /** Told of splits that come back after a failure of their reader. */
  readonly onSplitsBack?: (splits: readonly PacedSplit[]) => void;
  readonly onEnumerator?: (call: 'start' | 'request' | 'snapshot') => void;
}

export function pacedSource<T>(options: PacedOptions<T>): Source<T, PacedSplit, Unassigned> {
  return {
    name: options.name ?? 'Paced',
    boundedness: options.unbounded === true ? 'unbounded' : 'bounded',
    replay: 'offsets',
    createEnumerator: (context, restored) => createEnumerator(options, context, restored),
    createReader: (context) => new PacedReader(options, context),
    describeSplit: ({ split, next }) => `split ${split} at ${next}`,
  };
}

function createEnumerator<T>(
  options: PacedOptions<T>,
  context: SplitEnumeratorContext<PacedSplit>,
  restored: Unassigned | undefined,
): SplitEnumerator<PacedSplit, Unassigned> {
  let unassigned = restored?.splits ?? options.splits.map((_, split) => ({ split, next: 0 }));
  return {
    start: () => options.onEnumerator?.('start'),
    handleSplitRequest(subtask) {
      options.onEnumerator?.('request');
      const [first, ...rest] = unassigned;
      if (first === undefined) {
        if (options.unbounded !== true) context.signalNoMoreSplits(subtask);
        return;
      }
      unassigned = rest;
      context.assignSplits(subtask, [first]);
    },
    addReader: () => undefined,
    addSplitsBack(splits) {
      options.onSplitsBack?.(splits);
      unassigned = [...splits, ...unassigned];
    },
    snapshotState() {
      options.onEnumerator?.('snapshot');
      return { splits: unassigned };
    },
    close: () => undefined,
  };
}

class PacedReader<T> implements SourceReader<T, PacedSplit> {
  readonly #options: PacedOptions<T>;
  readonly #context: SourceReaderContext;
  readonly #splits: { readonly split: number; next: number }[] = [];
  #left: number;
  #isEnding = false;

  constructor(options: PacedOptions<T>, context: SourceReaderContext) {
    this.#options = options;
    this.#context = context;
    this.#left = options.step ?? Infinity;
  }

  start(): void {
    this.#context.sendSplitRequest();
  }

  poll(output: ReaderOutput<T>): 'more' | 'nothing' | 'end' {
    while (output.remaining > 0) {
      const current = this.#splits[0];
      if (current === undefined) return this.#isEnding ? 'end' : 'nothing';
      const values = this.#options.splits[current.split] ?? [];
      if (current.next >= values.length) {
        if (this.#options.unbounded === true) return 'nothing';
        this.#splits.shift();
        if (this.#splits.length === 0 && !this.#isEnding) this.#context.sendSplitRequest();
        continue;
      }
      if (this.#left <= 0) return 'nothing';
      this.#left--;
      const value = values[current.next] as T;
      this.#options.onRead?.(value, { ...current });
      current.next++;
      const timestamp = this.#options.timestampOf?.(value) ?? Number.NaN;
      output.collect(value, timestamp, String(current.split));
    }
    return 'more';
  }

  addSplits(splits: readonly PacedSplit[]): void {
    this.#splits.push(...splits.map((split) => ({ ...split })));
    this.#context.wakeUp();
  }

  notifyNoMoreSplits(): void {
    this.#isEnding = true;
    this.#context.wakeUp();
  }

  snapshotState(): readonly PacedSplit[] {
    return this.#splits.map((split) => ({ ...split }));
  }

  notifyCheckpointComplete(): void {
    this.#left = this.#options.step ?? Infinity;
    this.#context.wakeUp();
  }

  close(): void {}
}
