/**
 * Records that arrive one by one go through a shuffle; how long after their time each is handled.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread, Worker } from 'node:worker_threads';
import { job } from '@weir/core';
import type { Job, PollResult, ReaderOutput, Source, SourceReader } from '@weir/core';
import { discard } from '../support/discard.ts';
import { pollute } from '../support/pollute.ts';

if (!isMainThread) await pollute();

interface Arrival {
  readonly id: number;
  readonly due: number;
}

/** Arrivals of the feeder, read by the one subtask that gets the one split. */
function arrivals(count: number, perSecond: number): Source<Arrival> {
  return {
    name: 'arrivals',
    boundedness: 'bounded',
    replay: 'none',
    createEnumerator: (context) => {
      let isTaken = false;
      return {
        start: () => undefined,
        handleSplitRequest: (subtask) => {
          if (!isTaken) context.assignSplits(subtask, ['feeder']);
          isTaken = true;
          context.signalNoMoreSplits(subtask);
        },
        addReader: () => undefined,
        addSplitsBack: () => undefined,
        snapshotState: () => null,
        close: () => undefined,
      };
    },
    createReader: (context) => new ArrivalReader(count, perSecond, context),
  };
}

class ArrivalReader implements SourceReader<Arrival, unknown> {
  readonly #waiting: number[] = [];
  readonly #context: { wakeUp(): void; sendSplitRequest(): void };
  readonly #options: { readonly count: number; readonly perSecond: number };
  #feeder: Worker | null = null;
  #hasAsked = false;
  #isLast = false;
  #isFed = false;
  #next = 0;

  constructor(
    count: number,
    perSecond: number,
    context: { wakeUp(): void; sendSplitRequest(): void },
  ) {
    this.#options = { count, perSecond };
    this.#context = context;
  }

  start(): void {}

  addSplits(): void {
    const url = new URL('../support/feeder.ts', import.meta.url);
    this.#feeder = new Worker(url, { workerData: this.#options });
    this.#feeder.on('message', (due: number | null) => {
      if (due === null) this.#isFed = true;
      else this.#waiting.push(due);
      this.#context.wakeUp();
    });
  }

  notifyNoMoreSplits(): void {
    this.#isLast = true;
  }

  poll(output: ReaderOutput<Arrival>): PollResult {
    if (!this.#hasAsked) this.#context.sendSplitRequest();
    this.#hasAsked = true;
    for (const due of this.#waiting.splice(0))
      output.collect({ id: this.#next++, due }, Number.NaN, 'feeder');
    if (this.#isFed || (this.#isLast && this.#feeder === null)) return 'end';
    return 'nothing';
  }

  snapshotState(): readonly unknown[] {
    return [];
  }

  async close(): Promise<void> {
    await this.#feeder?.terminate();
  }
}

const latency: Job = job('latency', (env) => {
  const folder = env.args.string('probes');
  const late: number[] = [];
  let subtask = 0;
  env
    .fromSource(arrivals(env.args.number('records'), env.args.number('rate')), { uid: 'arrivals' })
    .keyBy((arrival) => arrival.id)
    .process({
      open(context) {
        subtask = context.subtask;
      },
      onElement({ due }) {
        late.push(performance.timeOrigin + performance.now() - due);
      },
      close() {
        writeFileSync(join(folder, `late-${subtask}.txt`), JSON.stringify(late));
      },
    })
    .uid('clock')
    .sinkTo(discard())
    .uid('nothing');
});

export default latency;
