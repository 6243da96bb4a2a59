/** Checkpoints that are restored on the side, as a proof that they can be. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RunControl } from '@weir/core';
import { RestoreDrill } from '../../packages/core/src/cluster/restore-drill.ts';
import { realClock } from '../../packages/core/src/cluster/real-clock.ts';
import { drillSnapshot } from '../../packages/core/src/state/snapshot/drill-snapshot.ts';
import { LocalFileSystem } from '../../packages/core/src/storage/local-file-system.ts';
import { loadSnapshot } from '../../packages/core/src/storage/locate-snapshot.ts';
import { goldenJob, KEYS } from '../compatibility/golden-job.ts';
import { range } from './support/faults.ts';
import { eventsOf, run } from './support/run.ts';

const GOLDEN = join(import.meta.dirname, '../compatibility/snapshots/0.1.0-files');

test('every value of a snapshot is restored and compared', async () => {
  const io = { fileSystem: new LocalFileSystem(), clock: realClock };
  const { metadata, directory } = await loadSnapshot(io, GOLDEN);
  const result = await drillSnapshot({ ...io, directory }, metadata);
  assert.deepEqual(result, { keys: KEYS, timers: 2 * KEYS, items: 4 * KEYS + 1 });
});

test('a run proves its checkpoints while it goes on', async (t) => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'weir-drill-'));
  t.after(() => rm(dataDirectory, { recursive: true, force: true }));
  const control = Promise.withResolvers<RunControl>();
  const proof = Promise.withResolvers<string>();
  const running = run(goldenJob(range(0, 20), [], true), {
    dataDirectory,
    config: { 'execution.checkpointing.interval': '1 h', 'weir.checkpoint.drill': 2 },
    onStart: control.resolve,
    onEvent: (event) => {
      if (event.type === 'log' && event.message.startsWith('restore drill'))
        proof.resolve(event.message);
      if (event.type === 'statusChanged' && event.status === 'RUNNING') void take();
    },
  });
  async function take(): Promise<void> {
    const operated = await control.promise;
    for (let taken = 0; taken < 2;) {
      // Refused until every task runs.
      await new Promise((resolve) => setImmediate(resolve));
      taken += await operated.triggerCheckpoint().then(
        () => 1,
        () => 0,
      );
    }
    await proof.promise;
    operated.cancel();
  }
  const { events } = await running;
  const [first, second] = eventsOf(events, 'checkpointCompleted').map((it) => it.checkpointId);
  assert.ok(first !== undefined && second !== undefined);
  const said = await proof.promise;
  assert.match(said, new RegExp(`^restore drill: checkpoint ${second} restores \\(8 keys, `));
});

test('a damaged snapshot is told, one that is gone is not', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'weir-drill-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  for (const name of readdirSync(GOLDEN))
    await writeFile(join(directory, name), await readFile(join(GOLDEN, name)));
  const [data = ''] = readdirSync(directory).filter((name) => name.endsWith('.data'));
  const bytes = await readFile(join(directory, data));
  bytes[10]! ^= 1;
  await writeFile(join(directory, data), bytes);
  const told = Promise.withResolvers<string>();
  const drill = new RestoreDrill({
    every: 1,
    logger: { log: (_, message) => told.resolve(message) },
    proven: () => told.resolve('proven'),
  });
  drill.completed(7, directory);
  assert.match(await told.promise, /checkpoint 7 cannot be restored: .*checksum/);
});
