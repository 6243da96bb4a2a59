/**
 * Every value that structured clone keeps crosses every exchange: a chain, a channel within a
 * thread, a ring between threads, keyed state through a checkpoint, and a savepoint. In a thread
 * records go by reference; what is written down comes back as structured clone would give it.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { job, listState, mapState, runJob, valueState } from '@weir/core';
import type { Job, RunControl } from '@weir/core';
import { carried, checkCarried, KINDS } from './support/every-value.ts';
import type { Carried } from './support/every-value.ts';
import { pacedSource } from './support/paced-source.ts';
import { eventsOf, run, runCheckpointed } from './support/run.ts';

const ALL = KINDS.map((kind, index) => carried(kind, index));

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'weir-values-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

for (const how of ['chain', 'channel'] as const)
  test(`within a thread a ${how} hands on the record itself`, async () => {
    const seen: unknown[] = [];
    const { outcome } = await run(
      job('by reference', (env) => {
        const source = env.fromCollection(ALL);
        const sent = how === 'chain' ? source : source.rebalance();
        sent.map(({ value }) => value).forEach((value) => void seen.push(value));
      }),
    );
    assert.equal(outcome.status, 'FINISHED');
    assert.equal(seen.length, ALL.length);
    for (const { value } of ALL) assert.ok(seen.includes(value));
  });

test('a ring between threads carries every value', async (t) => {
  const place = await folder(t);
  const module = new URL('support/every-value-job.ts', import.meta.url);
  const count = KINDS.length * 12;
  await runJob(module, { args: { folder: place, count }, parallelism: 2 });
  let [checked, crossed] = [0, 0];
  for (const name of await readdir(place)) {
    const text = await readFile(join(place, name), 'utf8');
    const counts = JSON.parse(text) as { checked: number; crossed: number };
    checked += counts.checked;
    crossed += counts.crossed;
  }
  assert.equal(checked, count);
  assert.ok(crossed > KINDS.length, `${crossed} records changed threads`);
});

/** Keeps the first record of each kind in each kind of state, and checks it at the second. */
function keeping(options: {
  readonly records: readonly Carried[];
  readonly checked: string[];
  readonly onRead?: (record: Carried) => void;
  readonly unbounded?: boolean;
  readonly step?: number;
}): Job {
  const { records, checked, onRead, unbounded = false, step = Infinity } = options;
  return job('keeping', (env) => {
    const splits = [records];
    env
      .fromSource(pacedSource({ splits, unbounded, step, onRead: (record) => onRead?.(record) }), {
        uid: 'records',
      })
      .keyBy(({ kind }) => kind)
      .process({
        state: {
          value: valueState<unknown>(),
          list: listState<unknown>(),
          map: mapState<string, unknown>(),
        },
        onElement({ kind, index, value }, { state }) {
          if (index < 0) return;
          if (state.list.get().length === 0) {
            state.value.update(value);
            state.list.add(value);
            state.map.put('it', value);
            return;
          }
          const first = index - KINDS.length;
          checkCarried(state.value.value, kind, first);
          checkCarried(state.list.get()[0], kind, first);
          checkCarried(state.map.get('it'), kind, first);
          checked.push(kind);
        },
      })
      .uid('kept')
      .forEach(() => undefined);
  });
}

const SECOND = KINDS.map((kind, index) => carried(kind, index + KINDS.length));
/** Of no interest: while they are read two checkpoints complete, one of them begun after all. */
const PAUSE = [-6, -5, -4, -3, -2, -1].map((index) => carried('dates', index));

test('keyed state holds every value through a checkpoint and a restart', async () => {
  const checked: string[] = [];
  let hasFailed = false;
  const { events } = await runCheckpointed(
    keeping({
      records: [...ALL, ...PAUSE, ...SECOND],
      checked,
      step: 3,
      onRead({ index }) {
        if (index !== -1 || hasFailed) return;
        hasFailed = true;
        throw new Error('once');
      },
    }),
  );
  const restarts = eventsOf(events, 'restarting');
  assert.equal(restarts.length, 1, restarts.map(({ error }) => error.message).join('\n'));
  assert.deepEqual(new Set(checked), new Set(KINDS));
});

test('a savepoint holds every value', async (t) => {
  const directory = await folder(t);
  let control: RunControl | null = null;
  let path = '';
  const stopped = Promise.withResolvers<void>();
  await runCheckpointed(
    keeping({
      records: ALL,
      checked: [],
      unbounded: true,
      onRead({ index }) {
        if (index < ALL.length - 1) return;
        setImmediate(() => {
          const taken = control?.stopWithSavepoint({ directory }) ?? Promise.reject(new Error());
          taken.then((savepoint) => {
            path = savepoint.path ?? '';
            stopped.resolve();
          }, stopped.reject);
        });
      },
    }),
    { onStart: (it) => void (control = it) },
  );
  await stopped.promise;
  const checked: string[] = [];
  await runCheckpointed(keeping({ records: [...ALL, ...SECOND], checked }), {
    restorePath: path,
    parallelism: 2,
  });
  assert.deepEqual(new Set(checked), new Set(KINDS));
});
