/**
 * The source that a simulation puts in place of the job's own: given records in splits, each read
 * in order from a position that is part of every checkpoint. Records come in bursts with pauses
 * between, so that checkpoints and faults fall in the middle of the input.
 */
import type {
  PollResult,
  ReaderOutput,
  Source,
  SourceReader,
  SourceReaderContext,
  SplitEnumerator,
  SplitEnumeratorContext,
} from '@weir/core';
import type { SourceInput } from './source-input.ts';

export interface Pace {
  /** Records at a time, at most. */
  readonly burst: number;
  readonly pauseMs: number;
}

export interface MemorySourceOptions {
  readonly name: string;
  readonly replay: Source<unknown>['replay'];
  readonly splits: SourceInput;
  readonly pace: Pace;
  /** Told how far a split was read; may throw, to make the task fail. */
  readonly onRead: (split: number, next: number) => void;
}

interface Split {
  readonly number: number;
  /** Index of the next record. */
  next: number;
}

export function memorySource(options: MemorySourceOptions): Source<unknown, Split, Split[]> {
  return {
    name: options.name,
    boundedness: 'bounded',
    replay: options.replay,
    createEnumerator: (context, restored) => new Enumerator(options, context, restored),
    createReader: (context) => new Reader(options, context),
    splitId: ({ number }) => String(number),
    describeSplit: ({ number, next }) => `record ${next} of split ${number}`,
  };
}

class Enumerator implements SplitEnumerator<Split, Split[]> {
  readonly #context: SplitEnumeratorContext<Split>;
  #waiting: Split[];

  constructor(
    { splits }: MemorySourceOptions,
    context: SplitEnumeratorContext<Split>,
    restored?: Split[],
  ) {
    this.#context = context;
    this.#waiting = restored ?? splits.map((_records, number) => ({ number, next: 0 }));
  }

  start(): void {
    // The splits are known.
  }

  handleSplitRequest(subtask: number): void {
    const [next, ...others] = this.#waiting;
    this.#waiting = others;
    if (next === undefined) this.#context.signalNoMoreSplits(subtask);
    else this.#context.assignSplits(subtask, [next]);
  }

  addReader(): void {
    // It asks.
  }

  addSplitsBack(splits: readonly Split[]): void {
    this.#waiting = [...splits, ...this.#waiting];
  }

  snapshotState(): Split[] {
    return this.#waiting;
  }

  close(): void {
    // Nothing is open.
  }
}

class Reader implements SourceReader<unknown, Split> {
  readonly #options: MemorySourceOptions;
  readonly #context: SourceReaderContext;
  #splits: Split[] = [];
  #isPausing = false;
  #hasAsked = false;
  #isLast = false;

  constructor(options: MemorySourceOptions, context: SourceReaderContext) {
    this.#options = options;
    this.#context = context;
  }

  start(): void {
    // Nothing to open.
  }

  poll(output: ReaderOutput<unknown>): PollResult {
    if (this.#isPausing) return 'nothing';
    for (const split of this.#splits)
      if (this.#isRead(split)) output.splitFinished?.(String(split.number));
    this.#splits = this.#splits.filter((split) => !this.#isRead(split));
    if (this.#splits.length === 0 && this.#isLast) return 'end';
    if (!this.#isLast) this.#ask();
    if (this.#splits.length === 0) return 'nothing';
    this.#readBurst(output);
    this.#pause();
    return 'nothing';
  }

  addSplits(added: readonly Split[]): void {
    this.#splits.push(...added.map((split) => ({ ...split })));
    this.#hasAsked = false;
    this.#context.wakeUp();
  }

  notifyNoMoreSplits(): void {
    this.#isLast = true;
    this.#context.wakeUp();
  }

  snapshotState(): readonly Split[] {
    return this.#splits.filter((split) => !this.#isRead(split)).map((split) => ({ ...split }));
  }

  close(): void {
    // Nothing is open.
  }

  /** Of the splits in random turn, each in its order. */
  #readBurst(output: ReaderOutput<unknown>): void {
    const { pace, splits, onRead } = this.#options;
    const { random } = this.#context;
    for (let left = 1 + random.int(pace.burst); left > 0 && output.remaining > 0; left--) {
      const unread = this.#splits.filter((split) => !this.#isRead(split));
      const split = unread[random.int(unread.length)];
      if (split === undefined) return;
      onRead(split.number, split.next + 1);
      const record = splits[split.number]?.[split.next++];
      if (record !== undefined)
        output.collect(record.value, record.timestamp, String(split.number));
    }
  }

  #isRead({ number, next }: Split): boolean {
    return next >= (this.#options.splits[number]?.length ?? 0);
  }

  #ask(): void {
    if (!this.#hasAsked) this.#context.sendSplitRequest();
    this.#hasAsked = true;
  }

  #pause(): void {
    this.#isPausing = true;
    this.#context.clock.schedule(this.#options.pace.pauseMs, 'more input', () => {
      this.#isPausing = false;
      this.#context.wakeUp();
    });
  }
}
