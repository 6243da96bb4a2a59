/** Reads the splits of one subtask, one after the other, and asks for more. */
import type {
  PollResult,
  ReaderOutput,
  SourceReader,
  SourceReaderContext,
} from '../../api/source.ts';
import { ReaderRate } from '../rate-limiter.ts';
import type { FileSplit } from './file-split.ts';
import { SplitReader } from './split-reader.ts';
import type { SplitReaderOptions } from './split-reader.ts';

export interface FileSourceReaderOptions<T> extends SplitReaderOptions<T> {
  /** Records per second of all subtasks; `null`: no limit. */
  readonly rate: number | null;
}

export class FileSourceReader<T> implements SourceReader<T, FileSplit> {
  readonly #context: SourceReaderContext;
  readonly #options: FileSourceReaderOptions<T>;
  readonly #rate: ReaderRate;
  readonly #waiting: FileSplit[] = [];
  #current: SplitReader<T> | null = null;
  #hasAsked = false;
  #isLastKnown = false;
  /** Splits read to their end, being closed. */
  readonly #closing = new Set<Promise<void>>();

  constructor(context: SourceReaderContext, options: FileSourceReaderOptions<T>) {
    this.#context = context;
    this.#options = options;
    this.#rate = new ReaderRate(context, options.rate);
  }

  start(): void {
    // The first split is asked for by `poll`: restored ones may come first.
  }

  poll(output: ReaderOutput<T>): PollResult {
    for (;;) {
      const reader = this.#currentReader();
      if (reader === null) return this.#isLastKnown ? 'end' : this.#ask();
      const linesMax = this.#rate.available();
      if (linesMax < 1) return this.#rate.wait();
      const result = reader.read(output, linesMax);
      this.#rate.take(reader.lineCount);
      if (result !== 'end') return result;
      output.splitFinished?.(reader.splitId);
      this.#current = null;
      this.#close(reader);
    }
  }

  addSplits(splits: readonly FileSplit[]): void {
    this.#hasAsked = false;
    this.#waiting.push(...splits);
    this.#context.wakeUp();
  }

  notifyNoMoreSplits(): void {
    this.#isLastKnown = true;
    this.#context.wakeUp();
  }

  snapshotState(): readonly FileSplit[] {
    return this.#current === null
      ? [...this.#waiting]
      : [this.#current.snapshot(), ...this.#waiting];
  }

  notifyCheckpointComplete(): void {
    this.#current?.flushDeadLetters();
  }

  async close(): Promise<void> {
    this.#rate.close();
    if (this.#current !== null) this.#close(this.#current);
    await Promise.all(this.#closing);
  }

  #currentReader(): SplitReader<T> | null {
    if (this.#current !== null) return this.#current;
    const split = this.#waiting.shift();
    if (split === undefined) return null;
    this.#current = new SplitReader(this.#context, split, this.#options);
    return this.#current;
  }

  #ask(): 'nothing' {
    if (!this.#hasAsked) {
      this.#hasAsked = true;
      this.#context.sendSplitRequest();
    }
    return 'nothing';
  }

  #close(reader: SplitReader<T>): void {
    // Everything was read, or the attempt has ended: a file that does not close changes nothing.
    const closing = reader.close().catch(() => undefined);
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }
}
