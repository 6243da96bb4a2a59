/** What a test says to mistakes in its own making, and to those that no result would show. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileSink, fileSource, job, ndjson } from '@weir/core';
import type { DataStream, Job } from '@weir/core';
import { simulate } from './simulate.ts';
import { SimulationError } from './simulation-error.ts';

const INPUT = { numbers: Array.from({ length: 12 }, (_, index) => index) };

function numberJob(build: (numbers: DataStream<number>) => DataStream<number>): Job {
  return job('numbers', (env) => {
    const numbers = env.fromSource(fileSource({ path: 'in', format: ndjson<number>() }), {
      uid: 'numbers',
    });
    build(numbers)
      .sinkTo(fileSink({ path: 'out', format: ndjson<number>() }))
      .uid('out');
  });
}

const plain = numberJob((numbers) => numbers.map((number) => number + 1));

async function failureOf(failing: Job): Promise<SimulationError> {
  const found = await simulate(failing, { input: INPUT, seeds: 3 }).then(
    () => null,
    (error: unknown) => error,
  );
  assert.ok(found instanceof SimulationError);
  return found;
}

test('what a function throws is told of the job, with its line, never of the engine', async () => {
  const thrown: readonly (() => Error)[] = [
    () => new TypeError('no such field'),
    () => new RangeError('too large'),
    () => new assert.AssertionError({ message: 'not so' }),
  ];
  for (const error of thrown) {
    const failing = numberJob((numbers) =>
      numbers.map((number) => {
        if (number === 7) throw error();
        return number;
      }),
    );
    const { message, failure } = await failureOf(failing);
    assert.equal(failure.finding, 'job-failed');
    assert.match(message, /map .*threw: (no such field|too large|not so)/);
    // The stack of an assertion begins in Node.
    if (!message.includes('not so')) assert.match(message, /\(mistakes\.test\.ts:\d+\)$/m);
  }
});

test('a timer that a function sets is reported with its line, and never fires', async () => {
  let fired = 0;
  const failing = numberJob((numbers) =>
    numbers.map((number) => {
      setTimeout(() => fired++, 0);
      return number;
    }),
  );
  const { message, failure } = await failureOf(failing);
  assert.equal(failure.finding, 'sets-timers');
  assert.match(message, /the job set timers of its own/);
  assert.match(
    message,
    /setTimeout\(\) at mistakes\.test\.ts:\d+: such a timer is in no checkpoint/,
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(fired, 0);
});

test('timers that others set during a simulation fire as ever', async () => {
  let fired = 0;
  let isOver = false;
  const others = (async (): Promise<void> => {
    while (!isOver) {
      setTimeout(() => fired++, 0);
      for (let turns = 0; turns < 100; turns++) await Promise.resolve();
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  await simulate(plain, { input: INPUT, seeds: 2 });
  isOver = true;
  await others;
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(fired > 0);
});

test('options that would test nothing, or that nobody knows, are refused', async () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ seeds: 0 }, /seeds: 0 is not allowed; give a whole number, from 1/],
    [{ seeds: -1 }, /seeds: -1/],
    [{ seeds: 1.5 }, /seeds: 1\.5/],
    [{ seeds: '5' }, /seeds: 5/],
    [{ seed: Number.NaN }, /seed: NaN is not allowed; give the number that a failure named/],
    [{ seed: -5 }, /seed: -5/],
    [{ parallelism: 0 }, /parallelism: 0 .*from 1 to 64/],
    [{ parallelism: 1000 }, /parallelism: 1000/],
    [{ parallelism: [] }, /parallelism: \[\]/],
    [{ faults: ['proces'] }, /faults: \[proces\] is not allowed; give a list of some of "process"/],
    [{ faults: [] }, /faults: \[\]/],
    [{ sedes: 5 }, /there is no option "sedes"; there are input, seeds/],
    [{ view: { out: 5 } }, /view: this object is not allowed; "out" must be a function/],
    [{ expect: { out: 5 } }, /expect: .*"out" must be a list of records/],
    [{ input: { numbers: 5 } }, /input: .*"numbers" must be a list of records, or \{ splits/],
    [{ input: { numbers: { splits: [1] } } }, /input: .*"numbers" must be/],
  ];
  for (const [options, message] of wrong)
    await assert.rejects(simulate(plain, { input: INPUT, ...options }), {
      code: 'CONFIG_INVALID',
      message,
    });
});

test('a view that gives no list says so', async () => {
  const view = { out: (): readonly unknown[] => 5 as never };
  await assert.rejects(simulate(plain, { input: INPUT, view, seeds: 1 }), {
    code: 'CONFIG_INVALID',
    message: /view of the sink "out" returned 5; it must return a list/,
  });
});
