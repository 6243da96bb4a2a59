/** Public reports that concern a whole job and fit nowhere else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job } from '@weir/core';
import type { Sink } from '@weir/core';
import { Faults, range } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import { eventsOf, run, runCheckpointed } from './support/run.ts';

test('a checkpoint amid a long scan keeps what was read from being read again [R014]', async () => {
  const chunks = range(0, 10).map((chunk) => range(chunk * 100, chunk * 100 + 100));
  const reads: number[] = [];
  const faults = new Faults();
  faults.plan('in chunk 4');
  const ledger = new Ledger<number>();
  await runCheckpointed(
    job('scan', (env) => {
      env
        .fromSource(
          pacedSource({ splits: chunks, step: 50, onRead: (value) => void reads.push(value) }),
          { uid: 'table' },
        )
        .map((row) => {
          if (row === 399) faults.pass('in chunk 4');
          return row;
        })
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    }),
  );
  assert.deepEqual(faults.happened, ['in chunk 4']);
  const again = reads.slice(reads.indexOf(399) + 1);
  assert.ok(Math.min(...again) >= 300, 'the three chunks that a checkpoint holds stay read');
  assert.equal(ledger.committed.length, 1000);
  assert.equal(new Set(ledger.committed).size, 1000);
});

test('a checkpoint whose sink fails is incomplete, and the source goes back [R028]', async () => {
  const faults = new Faults();
  faults.plan('while the third is taken');
  const ledger = new Ledger<number>();
  const sink = ledgerSink(ledger);
  let failedId = 0;
  const failingOnce: Sink<number> = {
    ...sink,
    createWriter(context, restored) {
      const writer = sink.createWriter(context, restored as never[]);
      const prepareCommit: typeof writer.prepareCommit = (options) => {
        const prepared = writer.prepareCommit(options);
        if (options.checkpointId < 3 || faults.happened.length > 0) return prepared;
        failedId = options.checkpointId;
        try {
          faults.pass('while the third is taken');
        } catch (error) {
          assert.ok(error instanceof Error);
          return { ...prepared, durable: Promise.reject(error) };
        }
        return prepared;
      };
      return Object.assign(Object.create(writer) as typeof writer, { prepareCommit });
    },
  };
  const { events } = await runCheckpointed(
    job('out', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(0, 50)], step: 5 }), { uid: 'numbers' })
        .sinkTo(failingOnce)
        .uid('out');
    }),
  );
  assert.deepEqual(faults.happened, ['while the third is taken']);
  const completed = eventsOf(events, 'checkpointCompleted').map((event) => event.checkpointId);
  assert.ok(!completed.includes(failedId), 'it is not reported as complete');
  assert.equal(ledger.committed.length, 50, 'no record vanished with it, none came twice');
  assert.equal(new Set(ledger.committed).size, 50);
});

test('barriers alone pass through twenty idle operators without piling up [R043]', async () => {
  const wanted = 60;
  const abort = new AbortController();
  let completed = 0;
  const { events } = await run(
    job('idle', (env) => {
      env.enableCheckpointing(10);
      let stream = env.fromSource(pacedSource<number>({ splits: [[]], unbounded: true }), {
        uid: 'nothing',
      });
      for (let index = 0; index < 20; index++)
        stream = stream
          .map((n) => n)
          .uid(`map ${index}`)
          .disableChaining();
      stream.forEach(() => undefined);
    }),
    {
      signal: abort.signal,
      onEvent: (event) => {
        if (event.type === 'checkpointCompleted' && ++completed === wanted) abort.abort();
      },
    },
  );
  const ids = eventsOf(events, 'checkpointCompleted').map((event) => event.checkpointId);
  assert.deepEqual(ids.slice(0, wanted), range(1, wanted + 1), 'each completes, none is skipped');
  const failed = eventsOf(events, 'checkpointFailed').filter(
    (event) => event.checkpointId !== null && event.checkpointId <= wanted,
  );
  assert.deepEqual(failed, []);
});
