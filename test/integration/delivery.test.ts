/** What is delivered twice is taken once, and what was done is not done again. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  basePath,
  fileSink,
  job,
  ndjson,
  StorageUnavailableError,
  type,
  valueState,
} from '@weir/core';
import type { DataStream, Sink } from '@weir/core';
import { Faults, numbersOf, range, sorted } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import type { PacedSplit } from './support/paced-source.ts';
import { resumable } from './support/resumable.ts';
import { runCheckpointed } from './support/run.ts';

test('a commit whose answer was lost is sent again, and done once [R022]', async () => {
  const ledger = new Ledger<number>();
  const inner = ledgerSink(ledger);
  let isLost = true;
  const forgetful: Sink<number> = {
    ...inner,
    createCommitter(context) {
      const committer = inner.createCommitter?.(context);
      assert.ok(committer !== undefined);
      return {
        ...committer,
        async commit(committables) {
          await committer.commit(committables as never[]);
          if (!isLost) return;
          isLost = false;
          throw new StorageUnavailableError('no answer');
        },
        recover: (recovery) => committer.recover(recovery as never),
        probe: (committable) => committer.probe(committable as never),
      };
    },
  };
  const { outcome } = await runCheckpointed(
    job('lost answer', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(0, 20)], step: 10 }), { uid: 'in' })
        .sinkTo(forgetful)
        .uid('out');
    }),
  );
  assert.equal(outcome.restarts, 0);
  assert.equal(ledger.commits.length, new Set(ledger.commits).size + 1, 'one was sent twice');
  assert.deepEqual(ledger.committed, range(0, 20));
});

test('what a restart commits again is in the output once [R013]', () =>
  resumable(async ({ crash, finish }) => {
    const ledger = new Ledger<number>();
    const faults = new Faults();
    const again = job('again', (env) => {
      env
        .fromSource(pacedSource({ splits: [range(0, 40)], step: 10 }), { uid: 'in' })
        .map((n) => {
          faults.pass(`map ${n}`);
          return n;
        })
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    });
    // The record comes behind a checkpoint that is complete and committed.
    faults.plan('map 20');
    await crash(again);
    assert.deepEqual(ledger.committed, range(0, 20));
    faults.plan('map 30');
    await crash(again);
    await finish(again);
    assert.equal(ledger.commits.length, new Set(ledger.commits).size + 2, 'two were sent twice');
    assert.deepEqual(ledger.committed, range(0, 40));
  }));

test('chunks that a checkpoint holds as read are not read again [R014]', async () => {
  const reads = new Map<number, number>();
  const faults = new Faults();
  faults.plan('7 at 50');
  /** Chunks read to their end when the newest checkpoint completed. */
  let readBefore: number[] = [];
  /** Those among them that it holds for certain: they were read before it was triggered. */
  const finished = new Set<number>();
  const onRead = (_value: number, { split, next }: PacedSplit): void => {
    reads.set(split, (reads.get(split) ?? 0) + 1);
    faults.pass(`${split} at ${next}`);
  };
  const ledger = new Ledger<number>();
  await runCheckpointed(
    job('scan', (env) => {
      const splits = range(0, 10).map((chunk) => range(chunk * 100, chunk * 100 + 100));
      env
        .fromSource(pacedSource({ splits, step: 90, onRead }), { uid: 'scan' })
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    }),
    {
      onEvent: (event) => {
        if (event.type !== 'checkpointCompleted' || faults.happened.length > 0) return;
        for (const chunk of readBefore) finished.add(chunk);
        readBefore = [...reads].filter(([, count]) => count === 100).map(([chunk]) => chunk);
      },
    },
  );
  assert.deepEqual(faults.happened, ['7 at 50']);
  assert.ok(finished.size >= 3, 'some chunks were done by then');
  for (const chunk of finished) assert.equal(reads.get(chunk), 100, `chunk ${chunk}`);
  assert.deepEqual(ledger.committed, range(0, 1000));
});

/** Lets each id through once, whenever it comes again. */
function distinct(ids: DataStream<number>) {
  return ids
    .keyBy((id) => id)
    .process({
      emits: type<number>(),
      state: { isSeen: valueState({ default: false }) },
      onElement(id, context) {
        if (context.state.isSeen.value) return;
        context.state.isSeen.update(true);
        context.emit(id);
      },
    })
    .uid('distinct');
}

test('records delivered again much later are known by state, whatever time has passed [R017]', () =>
  resumable(async ({ crash, finish }) => {
    const ledger = new Ledger<number>();
    const faults = new Faults();
    const deliveries = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5];
    const dedup = job('dedup', (env) => {
      const ids = env.fromSource(
        pacedSource({
          splits: [deliveries],
          step: 2,
          onRead: (_, { next }) => faults.pass(`at ${next}`),
        }),
        { uid: 'in' },
      );
      distinct(ids).sinkTo(ledgerSink(ledger)).uid('out');
    });
    for (const place of ['at 6', 'at 8']) {
      faults.plan(place);
      await crash(dedup, { parallelism: 2 });
    }
    await finish(dedup, { parallelism: 3 });
    assert.deepEqual(sorted(ledger.committed), [1, 2, 3, 4, 5]);
  }));

for (const seed of range(0, 3))
  test(`part files hold every record once over failures and runs, seed ${seed}`, () =>
    resumable(async ({ crash, finish }) => {
      const random = numbersOf(seed + 7);
      const faults = new Faults();
      const output = mkdtempSync(join(tmpdir(), 'weir-parts-'));
      try {
        const splits = range(0, 4).map((split) => range(split * 100, split * 100 + 100));
        const files = job('files', (env) => {
          env
            .fromSource(pacedSource({ splits, step: 20 }), { uid: 'in' })
            .rebalance()
            .map((n) => {
              faults.tick();
              return { n };
            })
            .sinkTo(
              fileSink({
                path: output,
                format: ndjson<{ n: number }>(),
                bucket: basePath(),
                rolling: { maxSizeBytes: 400 },
              }),
            )
            .uid('out');
        });
        for (const parallelism of [2, 3]) {
          faults.planTick(60 + random(60));
          await crash(files, { parallelism });
        }
        faults.planTick(20 + random(40));
        await finish(files, {
          parallelism: 1,
          config: {
            'restart-strategy.type': 'fixed-delay',
            'restart-strategy.fixed-delay.delay': 0,
          },
        });
        const names = readdirSync(output).filter((name) => !name.startsWith('.'));
        const rows = names.flatMap((name) =>
          readFileSync(join(output, name), 'utf8')
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => (JSON.parse(line) as { n: number }).n),
        );
        assert.deepEqual(
          rows.toSorted((a, b) => a - b),
          range(0, 400),
        );
        assert.deepEqual(
          readdirSync(output).filter((name) => name.includes('inprogress')),
          [],
        );
      } finally {
        rmSync(output, { recursive: true });
      }
    }));
