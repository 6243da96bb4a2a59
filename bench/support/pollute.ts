/**
 * Runs eight different pipelines in this thread, as a real process has: the inline caches of V8
 * have then seen many kinds of records and functions, and what was quick only for the first
 * pipeline of a process is so no longer. Called by every row, and by its jobs in every thread.
 */
import {
  aggregatingState,
  datagen,
  job,
  listState,
  mapState,
  runJob,
  valueState,
} from '@weir/core';
import type { Job } from '@weir/core';
import { discard } from './discard.ts';

const RECORDS = 30_000;

interface Totals {
  sum: number;
  count: number;
}

const numbers = datagen({ generator: (index) => index, count: RECORDS });
const words = datagen({ generator: (index) => `w${index % 700} x${index % 11}`, count: RECORDS });
const points = datagen({
  generator: (index) => ({ x: index, y: -index, tag: `p${index % 90}` }),
  count: RECORDS,
});

function simplePipelines(): readonly Job[] {
  return [
    job('numbers', (env) => {
      env
        .fromSource(numbers)
        .map((n) => n * 2)
        .filter((n) => n % 3 === 0)
        .map((n) => n + 0.5)
        .sinkTo(discard());
    }),
    job('words', (env) => {
      env
        .fromSource(words)
        .flatMap((line) => line.split(' '))
        .keyBy((word) => word)
        .process({
          state: { count: valueState({ default: 0 }) },
          onElement(_word, { state }) {
            state.count.update(state.count.value + 1);
          },
        })
        .sinkTo(discard());
    }),
    job('points', (env) => {
      env
        .fromSource(points)
        .map((p) => ({ ...p, length: Math.hypot(p.x, p.y) }))
        .filter((p) => p.length > 10)
        .sinkTo(discard());
    }),
    job('reduce', (env) => {
      env
        .fromSource(points)
        .keyBy((p) => p.tag)
        .reduce((a, b) => ({ x: a.x + b.x, y: a.y + b.y, tag: a.tag }))
        .sinkTo(discard());
    }),
  ];
}

function statefulPipelines(): readonly Job[] {
  return [
    job('lists', (env) => {
      env
        .fromSource(numbers)
        .keyBy((n) => n % 1000)
        .process({
          state: { seen: listState<number>(), byDigit: mapState<number, number>() },
          onElement(n, context) {
            context.state.seen.add(n);
            context.state.byDigit.put(n % 10, n);
            context.emit([n]);
          },
        })
        .sinkTo(discard());
    }),
    job('timers', (env) => {
      env
        .fromSource(points)
        .keyBy((p) => [p.tag, p.x % 4])
        .process({
          onElement(p, { timerService }) {
            timerService.registerEventTimeTimer(p.x - (p.x % 100));
          },
          onTimer(timestamp, context) {
            context.emit({ timestamp, tag: context.key[0] });
          },
        })
        .sinkTo(discard());
    }),
    job('aggregate', (env) => {
      const mean = {
        createAccumulator: (): Totals => ({ sum: 0, count: 0 }),
        add: (p: { y: number }, a: Totals): Totals => ({ sum: a.sum + p.y, count: a.count + 1 }),
        getResult: (a: Totals): number => a.sum / a.count,
      };
      env
        .fromSource(points)
        .keyBy((p) => p.x % 500)
        .process({
          state: { mean: aggregatingState(mean) },
          onElement(p, context) {
            context.state.mean.add(p);
            context.emit(context.state.mean.get());
          },
        })
        .sinkTo(discard());
    }),
    job('pairs', (env) => {
      const left = env.fromSource(numbers).map((n) => ({ n, even: n % 2 === 0 }));
      const right = env.fromSource(words).map((text) => ({ text, at: new Date(0) }));
      left
        .connect(right)
        .process({
          onElement1(a, context) {
            context.emit(a.even ? a.n : null);
          },
          onElement2(b, context) {
            context.emit(b.text.length);
          },
        })
        .sinkTo(discard());
    }),
  ];
}

export async function pollute(): Promise<void> {
  for (const each of [...simplePipelines(), ...statefulPipelines()]) await runJob(each);
}
