/** The same story as everywhere in this folder, once on a real disk: links, renames and syncs. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { FileCheckpointStorage } from './file-checkpoint-storage.ts';
import { type JobRecord, JobStore } from './job-store.ts';
import { LocalFileSystem } from './local-file-system.ts';
import { locateSnapshot } from './locate-snapshot.ts';
import { joinPath } from './paths.ts';
import { JOB_ID, metadataOf, writeData } from './test-support.ts';
import { verifySnapshotDeep } from './verify-snapshot.ts';

const data = await fs.mkdtemp(joinPath(tmpdir(), 'weir-storage-'));
after(() => fs.rm(data, { recursive: true }));

const io = { clock: new ManualClock(), fileSystem: new LocalFileSystem() };

test('a checkpoint on a real disk is published, found, verified and discarded', async () => {
  const directory = joinPath(data, 'checkpoints');
  const storage = new FileCheckpointStorage(io, { directory, jobId: JOB_ID });
  const location = await storage.prepareCheckpoint(1);
  await storage.publish(location, metadataOf(1, [await writeData(io, location, 0)]));
  const snapshot = await locateSnapshot(io, `file://${location}/_metadata`, '/');
  assert.equal(snapshot.directory, location);
  assert.ok(snapshot.completedAt > 0);
  assert.deepEqual(await verifySnapshotDeep(io, snapshot), []);
  await storage.discard(location);
  assert.deepEqual(await storage.scan(), []);
});

test('leadership on a real disk goes to one, and fences the one before', async () => {
  const store = new JobStore({ ...io, random: seededRandom(1) }, data);
  const first: Omit<JobRecord, 'epoch'> = {
    jobId: JOB_ID,
    jobName: 'totals',
    arguments: [],
    nextCheckpointId: 1,
    firstCheckpointId: 1,
    leaderFirstCheckpointId: 1,
    completed: [],
    owner: null,
    ended: null,
    restoredFrom: null,
  };
  const rivals = [store.open(JOB_ID), store.open(JOB_ID)];
  const outcomes = await Promise.all(rivals.map((log) => log.claim(null, first)));
  assert.equal(outcomes.filter((outcome) => outcome === 'taken').length, 1);
  const old = rivals[outcomes[0] === 'taken' ? 1 : 0]!;
  await old.update((record) => ({ ...record, nextCheckpointId: 2 }));
  const young = store.open(JOB_ID);
  const seen = await young.read();
  assert.equal((await young.claim(seen, seen!.record)) === 'taken', false);
  await assert.rejects(
    old.update((record) => record),
    { kind: 'fenced' },
  );
  assert.equal((await fs.readdir(joinPath(data, 'jobs', JOB_ID))).length, 2, 'the two claims');
});
