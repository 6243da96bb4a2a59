/**
 * A source of known content: splits are handed out on request, each a range of numbered records
 * that come at a pace. Positions are next to read, as the contract asks.
 */
import type {
  PollResult,
  ReaderOutput,
  Source,
  SourceReader,
  SourceReaderContext,
  SplitEnumerator,
  SplitEnumeratorContext,
} from '@weir/core/internal/api/source';
import type { SourceSpec, SplitSpec } from './job-spec.ts';
import { sleep } from '@weir/core/internal/base/clock';
import { hashOf } from './simulated-record.ts';
import type { SimulatedRecord } from './simulated-record.ts';

interface Split extends SplitSpec {
  /** Number of the next record. */
  next: number;
  /** Among the splits of the source. */
  readonly number: number;
}

export function simulatedSource(spec: SourceSpec): Source<SimulatedRecord, Split, Split[]> {
  return {
    name: spec.name,
    boundedness: 'bounded',
    replay: 'offsets',
    splitId: ({ id }) => id,
    createEnumerator: (context, restored) => new Enumerator(spec, context, restored),
    createReader: (context) => new SimulatedReader(spec, context),
  };
}

class Enumerator implements SplitEnumerator<Split, Split[]> {
  readonly #spec: SourceSpec;
  readonly #context: SplitEnumeratorContext<Split>;
  #waiting: Split[];

  constructor(spec: SourceSpec, context: SplitEnumeratorContext<Split>, restored?: Split[]) {
    this.#spec = spec;
    this.#context = context;
    this.#waiting = restored ?? spec.splits.map((split, number) => ({ ...split, next: 0, number }));
  }

  start(): void {
    // The splits are known.
  }

  /** Some take a while to find an answer, and the next call waits for them. */
  async handleSplitRequest(subtask: number): Promise<void> {
    if (this.#spec.readsInTurn === false)
      await sleep(this.#context.clock, this.#spec.pauseMs, `${this.#spec.name} looks for splits`);
    const { parallelism } = this.#context;
    const isFirst = this.#spec.assignment === 'first';
    const given = isFirst
      ? this.#waiting.filter(({ number }) => number % parallelism === subtask)
      : this.#waiting.slice(0, 1);
    this.#waiting = this.#waiting.filter((split) => !given.includes(split));
    this.#context.assignSplits(subtask, given);
    if (isFirst || given.length === 0) this.#context.signalNoMoreSplits(subtask);
  }

  addReader(): void {
    // It asks.
  }

  addSplitsBack(splits: readonly Split[]): void {
    this.#waiting = [...splits, ...this.#waiting];
    if (this.#spec.failsOnReturn === true)
      this.#context.fail(new Error('planned: splits came back'));
  }

  snapshotState(): Split[] {
    return this.#waiting;
  }

  close(): void {
    // Nothing is open.
  }
}

export class SimulatedReader implements SourceReader<SimulatedRecord, Split> {
  readonly #spec: SourceSpec;
  readonly #context: SourceReaderContext;
  #splits: Split[] = [];
  #isWaiting = false;
  #hasAsked = false;
  #isLast = false;
  #turn = 0;

  constructor(spec: SourceSpec, context: SourceReaderContext) {
    this.#spec = spec;
    this.#context = context;
  }

  start(): void {
    // Nothing to open.
  }

  poll(output: ReaderOutput<SimulatedRecord>): PollResult {
    if (this.#isWaiting) return 'nothing';
    for (const split of this.#splits) if (!isUnread(split)) output.splitFinished?.(split.id);
    this.#splits = this.#splits.filter(isUnread);
    if (this.#spec.assignment === 'first' && !this.#isLast) return this.#ask();
    if (this.#splits.length === 0) return this.#isLast ? 'end' : this.#ask();
    for (let burst = this.#spec.burst; burst > 0 && output.remaining > 0; burst--) {
      const split = this.#spec.readsInTurn === true ? this.#inTurn() : earliest(this.#splits);
      if (split === null) break;
      const id = `${split.id}:${split.next}`;
      const ts = timeOf(split);
      split.next++;
      output.collect({ id, key: hashOf(id) % this.#spec.keys, ts, counts: [] }, ts, split.id);
    }
    this.#pause();
    return 'nothing';
  }

  addSplits(added: readonly Split[]): void {
    this.#splits.push(...added.map((split) => ({ ...split })));
    this.#hasAsked = false;
  }

  notifyNoMoreSplits(): void {
    this.#isLast = true;
  }

  snapshotState(): readonly Split[] {
    return this.#splits.filter(isUnread).map((split) => ({ ...split }));
  }

  close(): void {
    // Nothing is open.
  }

  /** Between splits time jumps to and fro: only the slowest of them tells how far it has come. */
  #inTurn(): Split | null {
    const unread = this.#splits.filter(isUnread);
    return unread[this.#turn++ % unread.length] ?? null;
  }

  #ask(): 'nothing' {
    if (!this.#hasAsked) this.#context.sendSplitRequest();
    this.#hasAsked = true;
    return 'nothing';
  }

  #pause(): void {
    this.#isWaiting = true;
    this.#context.clock.schedule(this.#spec.pauseMs, `${this.#spec.name} has more`, () => {
      this.#isWaiting = false;
      this.#context.wakeUp();
    });
  }
}

/** In the order of their records' time. */
function earliest(splits: readonly Split[]): Split | null {
  let first: Split | null = null;
  for (const split of splits)
    if (isUnread(split) && (first === null || timeOf(split) < timeOf(first))) first = split;
  return first;
}

function isUnread(split: Split): boolean {
  return split.next < split.count;
}

function timeOf(split: Split): number {
  return split.firstTs + split.next * split.stepTs;
}
