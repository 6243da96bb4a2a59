import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import { CompletedCheckpointStore } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import { FaultyFileSystem } from './faulty-file-system.ts';
import { FileCheckpointStorage } from './file-checkpoint-storage.ts';
import { JobLog, type JobRecord, JobStore } from './job-store.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { storageErrno } from './storage-error.ts';
import { JOB_ID, metadataOf, writeData } from './test-support.ts';

const FIRST: Omit<JobRecord, 'epoch'> = {
  jobId: JOB_ID,
  jobName: 'totals',
  arguments: ['--input', 'orders'],
  nextCheckpointId: 1,
  firstCheckpointId: 1,
  leaderFirstCheckpointId: 1,
  completed: [],
  owner: { pid: 1, host: 'here', startedAt: 1_700_000_000_000, token: 'cafe' },
  ended: null,
  restoredFrom: null,
};

function setUp(memory: MemoryFileSystem = new MemoryFileSystem()): {
  clock: ManualClock;
  memory: MemoryFileSystem;
  disk: FaultyFileSystem;
  store: JobStore;
} {
  const clock = new ManualClock();
  const disk = new FaultyFileSystem(clock, memory);
  const random = seededRandom(7);
  return { clock, memory, disk, store: new JobStore({ clock, fileSystem: disk, random }, '/data') };
}

async function claim(log: JobLog, next: Omit<JobRecord, 'epoch'> = FIRST): Promise<JobRecord> {
  const record = await log.claim(await log.read(), next);
  assert.notEqual(record, 'taken');
  return record as JobRecord;
}

test('a job that never ran has no record, and looking creates nothing', async () => {
  const { store, memory } = setUp();
  assert.equal(await store.open(JOB_ID).read(), null);
  assert.deepEqual(await store.list(), []);
  assert.deepEqual(await memory.list('/'), []);
});

test('a claim is read back by others, and by name of the job', async () => {
  const { store } = setUp();
  assert.equal((await claim(store.open(JOB_ID))).epoch, 1);
  assert.deepEqual(await store.list(), [JOB_ID]);
  assert.deepEqual((await store.open(JOB_ID).read())?.record, { ...FIRST, epoch: 1 });
});

test('each claim raises the leader epoch', async () => {
  const { store } = setUp();
  const epochs: number[] = [];
  for (let i = 0; i < 3; i++) epochs.push((await claim(store.open(JOB_ID))).epoch);
  assert.deepEqual(epochs, [1, 2, 3]);
});

test('of two processes that start at once, one gets the lead', async () => {
  const { store } = setUp();
  const logs = [store.open(JOB_ID), store.open(JOB_ID)];
  const outcomes = await Promise.all(logs.map((log) => log.claim(null, FIRST)));
  assert.equal(outcomes.filter((outcome) => outcome === 'taken').length, 1);
});

test('a claim based on an outdated record is refused', async () => {
  const { store } = setUp();
  const leader = store.open(JOB_ID);
  await claim(leader);
  const other = store.open(JOB_ID);
  const seen = await other.read();
  await leader.update((record) => ({ ...record, nextCheckpointId: 2 }));
  assert.equal(await other.claim(seen, FIRST), 'taken');
  // It was asleep for so long that compaction has made its number free again.
  for (const next of [3, 4, 5])
    await leader.update((record) => ({ ...record, nextCheckpointId: next }));
  assert.equal(await store.open(JOB_ID).claim(seen, FIRST), 'taken');
  assert.equal((await other.read())?.record.nextCheckpointId, 5);
});

test('updates follow one another, each seeing the one before', async () => {
  const { store } = setUp();
  const log = store.open(JOB_ID);
  await claim(log);
  const increments = Array.from({ length: 10 }, () =>
    log.update((record) => ({ ...record, nextCheckpointId: record.nextCheckpointId + 1 })),
  );
  await Promise.all(increments);
  assert.equal(log.record.nextCheckpointId, 11);
  assert.equal((await store.open(JOB_ID).read())?.record.nextCheckpointId, 11);
});

test('a leader that was replaced is fenced at its next update, and from then on', async () => {
  const { store, disk } = setUp();
  const old = store.open(JOB_ID);
  await claim(old);
  await old.update((record) => ({ ...record, nextCheckpointId: 2 }));
  const young = store.open(JOB_ID);
  await claim(young, { ...FIRST, nextCheckpointId: 2 });
  await young.update((record) => ({ ...record, nextCheckpointId: 3 }));
  for (let tries = 0; tries < 3; tries++) {
    const before = disk.operationCount;
    await assert.rejects(
      old.update((record) => ({ ...record, nextCheckpointId: 99 })),
      { kind: 'fenced', code: 'FENCED', message: /leader epoch 1 of this process is outdated/ },
    );
    assert.equal(disk.operationCount > before, tries === 0, 'then it leaves the disk alone');
  }
  assert.equal((await young.read())?.record.nextCheckpointId, 3);
});

test('a leader that sleeps through many others still cannot write', async () => {
  const { store } = setUp();
  const sleeper = store.open(JOB_ID);
  await claim(sleeper);
  for (let leader = 0; leader < 5; leader++) {
    const log = store.open(JOB_ID);
    await claim(log);
    for (let i = 0; i < 3; i++) await log.update((record) => record);
  }
  await assert.rejects(
    sleeper.update((record) => record),
    { kind: 'fenced' },
  );
});

test('a failed update changes nothing, and the next one works', async () => {
  const { store, disk } = setUp();
  const log = store.open(JOB_ID);
  await claim(log);
  disk.inject({ operation: 'write', errno: 'ENOSPC' });
  const failing = log.update((record) => ({ ...record, nextCheckpointId: 2 }));
  await assert.rejects(failing, (error) => storageErrno(error) === 'ENOSPC');
  assert.equal(log.record.nextCheckpointId, 1);
  await log.update((record) => ({ ...record, nextCheckpointId: 3 }));
  assert.equal((await store.open(JOB_ID).read())?.record.nextCheckpointId, 3);
});

test('checkpoint ids never fall, not even over runs', async () => {
  const { store } = setUp();
  const log = store.open(JOB_ID);
  await claim(log, { ...FIRST, nextCheckpointId: 5 });
  await assert.rejects(
    log.update((record) => ({ ...record, nextCheckpointId: 4 })),
    /checkpoint ids only rise/,
  );
  const next = store.open(JOB_ID);
  await assert.rejects(next.claim(await next.read(), FIRST), /checkpoint ids only rise/);
});

test('the log of a job stays small however long it runs', async () => {
  const { store, memory } = setUp();
  const log = store.open(JOB_ID);
  await claim(log);
  for (let id = 2; id < 100; id++)
    await log.update((record) => ({ ...record, nextCheckpointId: id }));
  assert.equal((await memory.list(`/data/jobs/${JOB_ID}`)).length, 2);
});

test('a record of a newer format is refused', async () => {
  const record = { ...FIRST, epoch: 3, formatVersion: 9 };
  const log = new JobLog({
    append: async () => 'taken',
    readNewest: async () => ({ sequence: 1, record }),
    compact: async () => undefined,
    close: () => undefined,
  });
  await assert.rejects(log.read(), {
    code: 'STATE_INCOMPATIBLE',
    message: /record of job 0123456789abcdef\w+ has format version 9, but .* reads 1/,
  });
});

test('how a run ended and what it was started with survive a power failure', async () => {
  const { store, memory } = setUp();
  const log = store.open(JOB_ID);
  await claim(log);
  await log.update((record) => ({
    ...record,
    owner: null,
    ended: { status: 'FINISHED', at: 1_700_000_001_000 },
  }));
  memory.crash();
  const record = (await setUp(memory).store.open(JOB_ID).read())?.record;
  assert.deepEqual(record?.ended, { status: 'FINISHED', at: 1_700_000_001_000 });
  assert.deepEqual(record.arguments, ['--input', 'orders']);
});

test('a new coordinator knows the checkpoints of the old one and deletes them [R106]', async () => {
  const memory = new MemoryFileSystem();
  const retained = 3;
  /** One life of the coordinator after a power failure: it completes these checkpoints. */
  const run = async (ids: readonly number[]): Promise<void> => {
    memory.crash();
    const { clock, store } = setUp(memory);
    const io = { clock, fileSystem: memory };
    const storage = new FileCheckpointStorage(io, { directory: '/data/cp', jobId: JOB_ID });
    const log = store.open(JOB_ID);
    const seen = (await log.read())?.record ?? null;
    const { completed, nextCheckpointId } = await claim(log, seen ?? FIRST);
    const known = new CompletedCheckpointStore(retained, completed);
    const keep = completed.map(({ checkpointId }) => checkpointId);
    await storage.cleanUp({ keep, below: nextCheckpointId });
    for (const id of ids) {
      await log.update((record) => ({ ...record, nextCheckpointId: id + 1 }));
      const location = await storage.prepareCheckpoint(id);
      await storage.publish(location, metadataOf(id, [await writeData(io, location, 0)]));
      const subsumed = known.add(completedCheckpoint(id, location));
      await log.update((record) => ({ ...record, completed: known.checkpoints }));
      for (const { directory } of subsumed) await storage.discard(directory);
    }
  };
  await run([1, 2, 3, 4, 5]);
  const names = async (): Promise<readonly string[]> =>
    (await memory.list(`/data/cp/${JOB_ID}`)).filter((name) => name.startsWith('chk-'));
  await run([6, 7]);
  await run([]);
  assert.deepEqual(await names(), ['chk-5', 'chk-6', 'chk-7']);
});

function completedCheckpoint(checkpointId: number, directory: string): CompletedCheckpoint {
  return {
    checkpointId,
    kind: 'checkpoint',
    stopsJob: false,
    directory,
    triggeredAt: 0,
    sizeBytes: 0,
    isOwned: true,
  };
}
