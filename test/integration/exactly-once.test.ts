/** State and committed output are exact, wherever a function of the job fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job, valueState, type } from '@weir/core';
import { Faults, numbersOf, range, sorted } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import { eventsOf, runCheckpointed } from './support/run.ts';

interface Running {
  readonly key: number;
  readonly n: number;
  readonly sum: number;
}

/** Numbered running sums of three keys, whose order of records within a split is the input's. */
function sumsJob(options: {
  readonly splits: readonly (readonly number[])[];
  readonly ledger: Ledger<Running>;
  readonly faults: Faults;
  readonly step: number;
}) {
  const { splits, ledger, faults, step } = options;
  return job('sums', (env) => {
    env
      .fromSource(pacedSource({ splits, step, onRead: (value) => faults.pass(`read ${value}`) }), {
        uid: 'numbers',
      })
      .map((n) => {
        faults.pass(`map ${n}`);
        return n;
      })
      .keyBy((n) => n % 7)
      .process({
        emits: type<Running>(),
        state: { n: valueState({ default: 0 }), sum: valueState({ default: 0 }) },
        onElement(value, context) {
          const { n, sum } = context.state;
          n.update(n.value + 1);
          faults.pass(`process ${value}`);
          sum.update(sum.value + value);
          context.emit({ key: context.key, n: n.value, sum: sum.value });
        },
      })
      .uid('sums')
      .sinkTo(
        ledgerSink(ledger, {
          onWrite: (v) => faults.pass(`write ${(v as Running).key} ${(v as Running).n}`),
        }),
      )
      .uid('out');
  });
}

function check(committed: readonly Running[], values: readonly number[]): void {
  for (const key of range(0, 7)) {
    const mine = values.filter((value) => value % 7 === key);
    const got = committed.filter((record) => record.key === key);
    assert.deepEqual(
      sorted(got.map((record) => record.n)),
      sorted(range(1, mine.length + 1)),
      `every number of key ${key} once`,
    );
    const last = got.find((record) => record.n === mine.length);
    assert.equal(
      last?.sum,
      mine.reduce((a, b) => a + b, 0),
      `sum of key ${key}`,
    );
  }
}

for (const parallelism of [1, 2, 3])
  for (const seed of range(0, 4))
    test(`failures leave sums exact, p=${parallelism}, seed ${seed} [R001]`, async () => {
      const random = numbersOf(seed * 10 + parallelism);
      const values = range(0, 120);
      const faults = new Faults();
      const places = ['read', 'map', 'process'];
      for (const _ of range(0, 4)) faults.plan(`${places[random(3)]} ${random(120)}`);
      faults.plan(`write ${random(7)} ${random(15) + 1}`);
      const ledger = new Ledger<Running>();
      const splits = range(0, 5).map((split) => values.filter((value) => value % 5 === split));
      const { outcome, events } = await runCheckpointed(
        sumsJob({ splits, ledger, faults, step: 5 + random(10) }),
        { parallelism },
      );
      assert.equal(outcome.status, 'FINISHED');
      check(ledger.committed, values);
      assert.ok(faults.happened.length >= 2, 'faults have happened');
      assert.equal(outcome.restarts > 0, true);
      assert.equal(eventsOf(events, 'restarting').length, outcome.restarts);
    });

test('state of many keys is exact though it changes while it is written', async () => {
  const random = numbersOf(5);
  const keys = 8000;
  const records = range(0, 40_000).map(() => random(keys));
  const splits = range(0, 4).map((split) => records.slice(split * 10_000, split * 10_000 + 10_000));
  const faults = new Faults();
  faults.planTick(15_000);
  const ledger = new Ledger<readonly [number, number]>();
  const { outcome } = await runCheckpointed(
    job('many keys', (env) => {
      env
        .fromSource(pacedSource({ splits, step: 1500 }), { uid: 'in' })
        .keyBy((key) => key)
        .process({
          emits: type<readonly [number, number]>(),
          state: { n: valueState({ default: 0 }) },
          onElement(key, context) {
            context.state.n.update(context.state.n.value + 1);
            faults.tick();
            context.emit([key, context.state.n.value]);
          },
        })
        .uid('counts')
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    }),
    { parallelism: 2, config: { 'execution.checkpointing.data-inline-threshold': 0 } },
  );
  assert.ok(outcome.restarts > 0);
  const counts = new Map<number, number>();
  for (const key of records) counts.set(key, (counts.get(key) ?? 0) + 1);
  assert.equal(ledger.committed.length, records.length);
  const seen = new Set(ledger.committed.map(([key, n]) => `${key} ${n}`));
  for (const [key, count] of counts)
    for (const n of range(1, count + 1)) assert.ok(seen.has(`${key} ${n}`), `${key} ${n}`);
});
