/** A slow sink slows its producers: what is under way stays bounded, and checkpoints are named. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { datagen, job } from '@weir/core';
import type { Sink, StreamExecutionEnvironment } from '@weir/core';
import { range } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import { eventsOf, run, runCheckpointed } from './support/run.ts';

/** Takes `atOnce` records, then none until the event loop has come round. */
function slowSink(atOnce: number, onWrite: (n: number) => void): Sink<number> {
  return {
    name: 'Slow',
    write: 'plain',
    createWriter() {
      let room = atOnce;
      return {
        write(n) {
          room--;
          onWrite(n);
        },
        get isWritable() {
          return room > 0;
        },
        whenWritable: () =>
          new Promise((resolve) => {
            setImmediate(() => {
              room = atOnce;
              resolve();
            });
          }),
        prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
        close: () => Promise.resolve(),
      };
    },
  };
}

const RECORDS = 60_000;

for (const [name, buffers, bound] of [
  ['with the default buffers', undefined, 9000],
  ['with one buffer a channel', 1, 6000],
] as const)
  test(`a fast source runs ahead of a slow sink by no more than the buffers, ${name}`, async () => {
    let read = 0;
    let written = 0;
    let ahead = 0;
    const build = (env: StreamExecutionEnvironment): void =>
      void env
        .fromSource(datagen({ count: RECORDS, generator: (index) => index }), { uid: 'fast' })
        .map((n) => {
          read++;
          ahead = Math.max(ahead, read - written);
          return n;
        })
        .rebalance()
        .sinkTo(slowSink(500, () => void written++));
    await run(
      job('slow sink', build),
      buffers === undefined
        ? {}
        : { config: { 'taskmanager.network.memory.buffers-per-channel': buffers } },
    );
    assert.equal(written, RECORDS);
    assert.ok(ahead <= bound, `${ahead} records were under way`);
    assert.ok(ahead > 1000, 'it does run ahead');
  });

test('a flatMap overruns the buffers by the results of one record at most', async () => {
  let made = 0;
  let written = 0;
  let ahead = 0;
  await run(
    job('flat map', (env) => {
      env
        .fromCollection(range(0, 50))
        .flatMap((n) => range(0, 2000).map(() => n))
        .map((n) => {
          made++;
          ahead = Math.max(ahead, made - written);
          return n;
        })
        .rebalance()
        .sinkTo(slowSink(500, () => void written++));
    }),
  );
  assert.equal(written, 100_000);
  assert.ok(ahead <= 12_000, `${ahead} records were under way`);
});

test('an expired checkpoint names who holds the barrier; the next may start [R041]', async () => {
  const ledger = new Ledger<number>();
  let isStuck = true;
  let unstick: () => void = () => undefined;
  const inner = ledgerSink(ledger);
  const stuck: Sink<number> = {
    ...inner,
    createWriter(context, restored) {
      const writer = inner.createWriter(context, restored as never[]);
      return {
        ...writer,
        get isWritable() {
          return !isStuck;
        },
        whenWritable: () =>
          new Promise((resolve) => {
            unstick = resolve;
          }),
      };
    },
  };
  const { outcome, events } = await runCheckpointed(
    job('stuck', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(0, 20)], step: 10 }), { uid: 'a' })
        .rebalance()
        .map((n) => n)
        .uid('b')
        .disableChaining()
        .sinkTo(stuck)
        .uid('c');
    }),
    {
      config: {
        'execution.checkpointing.timeout': 20,
        'execution.checkpointing.tolerable-failed-checkpoints': 1000,
      },
      onEvent: (event) => {
        if (event.type !== 'checkpointFailed') return;
        isStuck = false;
        unstick();
      },
    },
  );
  const [expired] = eventsOf(events, 'checkpointFailed');
  assert.equal(expired?.reason, 'CHECKPOINT_EXPIRED');
  assert.match(
    expired?.message ?? '',
    /1 of 3 subtasks have not acknowledged\. .*Sink: Ledger.*, attempt .*, has held the barrier/,
  );
  assert.equal(outcome.restarts, 0);
  assert.ok(outcome.completedCheckpoints > 0);
  assert.deepEqual(ledger.committed, range(0, 20));
});
