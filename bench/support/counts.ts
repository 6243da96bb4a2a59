/**
 * How many records the threads of a running job have handled by when: functions of the job tell it,
 * the benchmark asks for spans of time. So what is done now and then is held against the same job
 * a moment before and after, whatever else the machine does.
 */
import { BroadcastChannel } from 'node:worker_threads';

/** Where counts are told. */
const COUNTS = 'weir-bench-counts';
const STRIDE = 4096;

/** `at`: milliseconds since the epoch. */
type Count = readonly [subtask: number, records: number, at: number];

/** For a function: tells every few thousand records. */
export class CountTeller {
  readonly #channel = new BroadcastChannel(COUNTS);
  readonly #subtask: number;
  #records = 0;

  constructor(subtask: number) {
    this.#subtask = subtask;
  }

  hit(): void {
    if (++this.#records % STRIDE !== 0) return;
    const count: Count = [this.#subtask, this.#records, wallTime()];
    this.#channel.postMessage(count);
  }

  close(): void {
    this.#channel.close();
  }
}

/** What the threads have told of their counts. */
export class Counts {
  readonly #channel = new BroadcastChannel(COUNTS);
  readonly #told = new Map<number, Count[]>();

  constructor() {
    this.#channel.onmessage = (event) => {
      const count = (event as { readonly data: Count }).data;
      const all = this.#told.get(count[0]) ?? [];
      all.push(count);
      this.#told.set(count[0], all);
    };
  }

  /** Records handled by then, all threads together. */
  at(time: number): number {
    let sum = 0;
    for (const all of this.#told.values()) {
      const next = all.findIndex(([, , at]) => at >= time);
      const after = all[next];
      const before = all[next - 1];
      if (after === undefined) sum += all.at(-1)?.[1] ?? 0;
      else if (before !== undefined) {
        const share = (time - before[2]) / (after[2] - before[2]);
        sum += before[1] + share * (after[1] - before[1]);
      }
    }
    return sum;
  }

  close(): void {
    this.#channel.close();
  }
}

export function wallTime(): number {
  return performance.timeOrigin + performance.now();
}

export interface Span {
  readonly from: number;
  readonly to: number;
  /** CPU microseconds of the process. */
  readonly cpu: number;
}

export async function during(work: () => Promise<unknown>): Promise<Span> {
  const from = wallTime();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { from, to: wallTime(), cpu: user + system };
}
