/**
 * Two splits of numbered records, read by as many subtasks. With replay, positions are part of the
 * checkpoint; without, the splits are wires: what was read from one is gone, as with a socket.
 */
import type {
  PollResult,
  ReaderOutput,
  Source,
  SourceReader,
  SourceReaderContext,
} from '@weir/core/internal/api/source';

export const SPLITS = 2;
export const RECORDS_PER_SPLIT = 16;
const PAUSE_MS = 4;

export interface InputRecord {
  readonly id: string;
  /** Records of both splits meet in it. */
  readonly group: string;
}

interface Split {
  readonly number: number;
  next: number;
}

/** How far each wire was read, over all processes of a schedule. */
export type Wires = number[];

export function cellSource(
  replay: Source<unknown>['replay'],
  wires: Wires,
): Source<InputRecord, Split, Split[]> {
  return {
    name: replay === 'none' ? 'wire' : 'log',
    boundedness: 'bounded',
    replay,
    createEnumerator: (context, restored) => {
      let waiting =
        restored ?? Array.from({ length: SPLITS }, (_, number): Split => ({ number, next: 0 }));
      return {
        start: () => undefined,
        handleSplitRequest: (subtask) => {
          const mine = waiting.filter(({ number }) => number % context.parallelism === subtask);
          waiting = waiting.filter((split) => !mine.includes(split));
          context.assignSplits(subtask, mine);
          context.signalNoMoreSplits(subtask);
        },
        addReader: () => undefined,
        addSplitsBack: (splits) => void waiting.push(...splits),
        snapshotState: () => waiting,
        close: () => undefined,
      };
    },
    createReader: (context) => new Reader(context, replay === 'none' ? wires : null),
  };
}

class Reader implements SourceReader<InputRecord, Split> {
  readonly #context: SourceReaderContext;
  /** `null`: splits can be read again. */
  readonly #wires: Wires | null;
  #splits: Split[] = [];
  #isPausing = false;
  #hasAsked = false;
  #isLast = false;

  constructor(context: SourceReaderContext, wires: Wires | null) {
    this.#context = context;
    this.#wires = wires;
  }

  start(): void {
    // Nothing to open.
  }

  poll(output: ReaderOutput<InputRecord>): PollResult {
    if (this.#isPausing) return 'nothing';
    if (!this.#isLast) {
      if (!this.#hasAsked) this.#context.sendSplitRequest();
      this.#hasAsked = true;
      return 'nothing';
    }
    const split = this.#splits.find((it) => this.#nextOf(it) < RECORDS_PER_SPLIT);
    if (split === undefined) return 'end';
    const next = this.#nextOf(split);
    const id = `${split.number}.${next}`;
    split.next = next + 1;
    if (this.#wires !== null) this.#wires[split.number] = next + 1;
    output.collect({ id, group: `g${next % 2}` }, Number.NaN, String(split.number));
    this.#pause();
    return 'nothing';
  }

  addSplits(added: readonly Split[]): void {
    this.#splits.push(...added.map((split) => ({ ...split })));
    this.#context.wakeUp();
  }

  notifyNoMoreSplits(): void {
    this.#isLast = true;
    this.#context.wakeUp();
  }

  /** All of them: one that ended is known to have ended. */
  snapshotState(): readonly Split[] {
    return this.#splits.map((split) => ({ ...split }));
  }

  close(): void {
    // Nothing is open.
  }

  #nextOf(split: Split): number {
    return this.#wires?.[split.number] ?? split.next;
  }

  #pause(): void {
    this.#isPausing = true;
    const pauseMs = 2 * PAUSE_MS * this.#context.random.next();
    this.#context.clock.schedule(pauseMs, 'more input', () => {
      this.#isPausing = false;
      this.#context.wakeUp();
    });
  }
}
