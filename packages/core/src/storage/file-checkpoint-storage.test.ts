import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { FencedError } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import { FaultyFileSystem } from './faulty-file-system.ts';
import { FileCheckpointStorage } from './file-checkpoint-storage.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { dataFileName, sharedFileName } from './snapshot-layout.ts';
import { storageErrno } from './storage-error.ts';
import {
  execution,
  filesBelow,
  JOB_ID,
  metadataOf,
  runWithClock,
  writeData,
  writeShared,
} from './test-support.ts';

const JOB_DIRECTORY = `/data/checkpoints/${JOB_ID}`;

interface World {
  readonly clock: ManualClock;
  readonly memory: MemoryFileSystem;
  readonly fileSystem: FaultyFileSystem;
  readonly storage: FileCheckpointStorage;
}

function setUp(memory: MemoryFileSystem = new MemoryFileSystem()): World {
  const clock = new ManualClock();
  const fileSystem = new FaultyFileSystem(clock, memory);
  const options = { directory: '/data/checkpoints', jobId: JOB_ID };
  const storage = new FileCheckpointStorage({ clock, fileSystem }, options);
  return { clock, memory, fileSystem, storage };
}

/** A checkpoint of two subtasks, published. */
async function complete(world: World, checkpointId: number): Promise<string> {
  const location = await world.storage.prepareCheckpoint(checkpointId);
  const data = [await writeData(world, location, 0), await writeData(world, location, 1)];
  await world.storage.publish(location, metadataOf(checkpointId, data));
  return location;
}

async function checkpointNames(world: World): Promise<readonly string[]> {
  return (await world.memory.list(JOB_DIRECTORY)).filter((name) => name.startsWith('chk-'));
}

test('the layout is <dir>/<job-id>/{chk-N,shared,taskowned}', async () => {
  const world = setUp();
  assert.equal(await complete(world, 7), `${JOB_DIRECTORY}/chk-7`);
  assert.deepEqual(await world.memory.list(JOB_DIRECTORY), ['chk-7', 'shared', 'taskowned']);
  const names = [0, 1].map((subtask) => dataFileName(execution(subtask)));
  assert.deepEqual(await world.memory.list(`${JOB_DIRECTORY}/chk-7`), ['_metadata', ...names]);
});

test('without create-subdir the checkpoints stand in the directory itself', async () => {
  const world = setUp();
  const options = { directory: '/data/cp', jobId: JOB_ID, createSubdirectory: false };
  const storage = new FileCheckpointStorage(world, options);
  assert.equal(await storage.prepareCheckpoint(1), '/data/cp/chk-1');
});

test('a published checkpoint is read back as it was', async () => {
  const world = setUp();
  const location = await complete(world, 1);
  const { metadata, directory } = await world.storage.load(location);
  assert.equal(directory, location);
  assert.equal(metadata.checkpointId, 1);
  assert.equal(metadata.vertices[0]!.subtasks.length, 2);
});

test('a checkpoint whose files are not all there is not published [R002]', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  const data = [await writeData(world, location, 0), await writeData(world, location, 1)];
  await world.memory.remove(`${location}/${dataFileName(execution(1))}`);
  await assert.rejects(world.storage.publish(location, metadataOf(1, data)), {
    code: 'STATE_CORRUPT',
    message: /of subtask 1 of "sum", but it is missing/,
  });
  assert.deepEqual(await world.storage.scan(), [
    { status: 'incomplete', checkpointId: 1, directory: location },
  ]);
});

test('a checkpoint with a file of the wrong size is not published', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  const data = [await writeData(world, location, 0)];
  await world.memory.truncate(`${location}/${dataFileName(execution(0))}`, 3);
  await assert.rejects(world.storage.publish(location, metadataOf(1, data)), {
    code: 'STATE_CORRUPT',
    message: /should have 10 bytes, but has 3/,
  });
});

test('a checkpoint of which one subtask never reported does not exist [R002]', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  await writeData(world, location, 0);
  world.memory.crash();

  const next = setUp(world.memory);
  const [found] = await next.storage.scan();
  assert.equal(found?.status ?? 'incomplete', 'incomplete');
  await assert.rejects(next.storage.load(location), { code: 'ARGUMENT_INVALID' });
  await next.storage.cleanUp({ keep: 'published', below: 2 });
  assert.deepEqual(await checkpointNames(next), []);
});

test('an id that was completed before is never written over', async () => {
  const world = setUp();
  await complete(world, 1);
  await assert.rejects(world.storage.prepareCheckpoint(1), {
    message: /chk-1: another run completed one there/,
  });
});

test('publishing outlives errors that pass [R115]', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  const data = [await writeData(world, location, 0)];
  for (const operation of ['stat', 'write', 'rename', 'syncDirectory'] as const)
    world.fileSystem.inject({ operation, path: location, times: 1, errno: 'EIO' });
  const publishing = world.storage.publish(location, metadataOf(1, data));
  await assert.rejects(runWithClock(world.clock, publishing), (e) => storageErrno(e) === 'EIO');
  await runWithClock(world.clock, world.storage.publish(location, metadataOf(1, data)));
  assert.equal((await world.storage.scan())[0]?.status, 'valid');
});

test('each step of publishing may fail twice [R115]', async () => {
  const operations = ['stat', 'create', 'write', 'sync', 'close', 'rename', 'syncDirectory'];
  for (const operation of operations) {
    const world = setUp();
    const location = await world.storage.prepareCheckpoint(1);
    const data = [await writeData(world, location, 0)];
    world.fileSystem.inject({ operation: operation as 'stat', times: 2, errno: 'EIO' });
    await runWithClock(world.clock, world.storage.publish(location, metadataOf(1, data)));
    world.memory.crash();
    assert.equal((await world.storage.scan())[0]?.status, 'valid', operation);
  }
});

test('a lasting error ends publishing at once, with path and errno [R115]', async () => {
  for (const errno of ['EACCES', 'ENOSPC', 'EROFS', 'ENOENT']) {
    const world = setUp();
    const location = await world.storage.prepareCheckpoint(1);
    world.fileSystem.inject({ operation: 'create', times: Infinity, errno });
    await assert.rejects(world.storage.publish(location, metadataOf(1, [])), (error) => {
      assert.equal(storageErrno(error), errno);
      assert.match(String(error), /\/chk-1\/\.metadata\.inprogress/);
      return true;
    });
    assert.equal(world.clock.pendingCount(), 0, 'no retry is pending');
    assert.equal((await world.storage.scan())[0]?.status, 'incomplete');
  }
});

test('a rename whose answer is lost counts as done', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  const fault = { operation: 'rename', times: Infinity, errno: 'EIO', answerLost: true } as const;
  world.fileSystem.inject(fault);
  await world.storage.publish(location, metadataOf(1, []));
  assert.equal((await world.storage.scan())[0]?.status, 'valid');
});

test('a checkpoint that is not known to be durable is taken back', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  const parent = { operation: 'syncDirectory', path: 'chk-1', times: 3, errno: 'EIO' } as const;
  world.fileSystem.inject(parent);
  const publishing = world.storage.publish(location, metadataOf(1, []));
  await assert.rejects(runWithClock(world.clock, publishing), (e) => storageErrno(e) === 'EIO');
  assert.equal((await world.storage.scan())[0]?.status, 'incomplete');
});

test('a checkpoint that cannot be taken back either is said to be in doubt', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  world.fileSystem.inject({ operation: 'syncDirectory', times: Infinity, errno: 'EIO' });
  world.fileSystem.inject({ operation: 'remove', times: Infinity, errno: 'EIO' });
  const publishing = world.storage.publish(location, metadataOf(1, []));
  await assert.rejects(runWithClock(world.clock, publishing), (error) => {
    assert.match(String(error), /unknown whether this snapshot exists/);
    assert.deepEqual((error as { details?: unknown }).details, {
      path: `${location}/_metadata`,
      outcome: 'unknown',
    });
    return true;
  });
});

test('a checkpoint is not taken back from whoever leads the job by then', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  world.fileSystem.inject({ operation: 'syncDirectory', path: 'chk-1', times: 3, errno: 'EIO' });
  const deposed = new FencedError('another process leads');
  const mayTakeBack = (): Promise<never> => Promise.reject(deposed);
  const publishing = world.storage.publish(location, metadataOf(1, []), mayTakeBack);
  await assert.rejects(runWithClock(world.clock, publishing), deposed);
  assert.equal((await world.storage.scan())[0]?.status, 'valid');
});

test('when nobody knows who leads, a checkpoint stays and is in doubt', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  world.fileSystem.inject({ operation: 'syncDirectory', path: 'chk-1', times: 3, errno: 'EIO' });
  const mayTakeBack = (): Promise<never> => Promise.reject(new Error('the log is away'));
  const publishing = world.storage.publish(location, metadataOf(1, []), mayTakeBack);
  await assert.rejects(runWithClock(world.clock, publishing), /the log is away.*unknown whether/);
  assert.equal((await world.storage.scan())[0]?.status, 'valid');
});

test('nothing is in doubt when the last step was not reached', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  world.fileSystem.inject({ operation: 'rename', times: Infinity, errno: 'ENOSPC' });
  world.fileSystem.inject({ operation: 'remove', times: Infinity, errno: 'EIO' });
  const publishing = world.storage.publish(location, metadataOf(1, []));
  await assert.rejects(runWithClock(world.clock, publishing), (e) => storageErrno(e) === 'ENOSPC');
});

test('a folder taken away after the last step leaves the checkpoint in doubt', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  world.fileSystem.inject({ operation: 'syncDirectory', times: Infinity, errno: 'ENOTDIR' });
  const publishing = world.storage.publish(location, metadataOf(1, []));
  await assert.rejects(runWithClock(world.clock, publishing), /unknown whether this snapshot/);
});

test('an aborted checkpoint leaves nothing, whatever had been written [I-14]', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  await writeData(world, location, 0);
  assert.deepEqual(await world.storage.discard(location), { foreign: [] });
  assert.deepEqual(await checkpointNames(world), []);
  assert.deepEqual(await world.storage.discard(location), { foreign: [] });
});

test('a task that reports too late cannot write any more [I-15]', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  await world.storage.discard(location);
  await assert.rejects(writeData(world, location, 0), (e) => storageErrno(e) === 'ENOENT');
});

test('unwanted data are removed from a pending checkpoint, others stay [I-15]', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  const [first, second] = [
    await writeData(world, location, 0),
    await writeData(world, location, 1),
  ];
  await world.storage.discardData(location, first);
  assert.deepEqual(await world.memory.list(location), [dataFileName(execution(1))]);
  await world.storage.publish(location, metadataOf(1, [second]));
  await world.storage.discardData(location, second);
  assert.equal(
    (await world.storage.scan())[0]?.status,
    'valid',
    'published data are never touched',
  );
});

test('data elsewhere are not removed as unwanted', async () => {
  const world = setUp();
  const earlier = await world.storage.prepareCheckpoint(5);
  const data = await writeData(world, earlier, 0);
  const reused = `${earlier}/${dataFileName(execution(0))}`;
  await world.storage.discardData('/elsewhere/chk-6', { ...data, path: reused } as never);
  assert.notEqual(await world.memory.stat(reused), null);
  const location = await world.storage.prepareCheckpoint(1);
  const path = `${JOB_DIRECTORY}/shared/${sharedFileName(1, 'sst')}`;
  const shared = await writeShared(world.memory, path, 'x');
  await world.storage.discardData(location, shared);
  await world.storage.discardData(location, { ...shared, path: '../shared/1-sst.data' } as never);
  assert.notEqual(await world.memory.stat(path), null);
});

test('after 50 checkpoints with one retained, one directory remains [R103]', async () => {
  const world = setUp();
  let previous: string | null = null;
  for (let id = 1; id <= 50; id++) {
    const location = await complete(world, id);
    if (previous !== null) await world.storage.discard(previous);
    previous = location;
  }
  assert.deepEqual(await checkpointNames(world), ['chk-50']);
});

test('a foreign file is reported and stays, all else goes [R103]', async () => {
  const world = setUp();
  const location = await complete(world, 1);
  await writeShared(world.memory, `${location}/notes.txt`, 'mine');
  const report = await world.storage.discard(location);
  assert.deepEqual(report, { foreign: [`${location}/notes.txt`] });
  assert.deepEqual(await world.memory.list(location), ['notes.txt']);
  const cleaned = await world.storage.cleanUp({ keep: [], below: 2 });
  assert.deepEqual(cleaned.foreign, [`${location}/notes.txt`]);
});

test('a file written while its checkpoint is discarded does not keep the directory', async () => {
  const world = setUp();
  const location = await complete(world, 1);
  const removeDirectory = world.memory.removeDirectory.bind(world.memory);
  let late = true;
  world.memory.removeDirectory = async (path) => {
    if (late) await writeData({ ...world, fileSystem: world.memory }, location, 5);
    late = false;
    return removeDirectory(path);
  };
  await world.storage.discard(location);
  assert.deepEqual(await checkpointNames(world), []);
});

test('a crash while discarding leaves no damaged snapshot: _metadata goes first', async () => {
  for (let seed = 0; seed < 8; seed++) {
    for (let step = 0, isDone = false; !isDone; step++) {
      const world = setUp();
      const location = await complete(world, 1);
      world.fileSystem.stopAfter(step);
      void world.storage.discard(location);
      for (let turn = 0; turn < 100; turn++) await Promise.resolve();
      isDone = !world.fileSystem.isStopped;
      world.memory.crash(seededRandom(seed));
      const [found] = await setUp(world.memory).storage.scan();
      assert.notEqual(found?.status, 'damaged', `after ${step} operations`);
    }
  }
});

test('nor does one that goes on with what a dead process had begun to discard', async () => {
  for (let seed = 0; seed < 8; seed++)
    for (let step = 1; step < 4; step++)
      for (let later = 1; later < 9; later++) {
        const world = setUp();
        const location = await complete(world, 1);
        world.fileSystem.stopAfter(step);
        void world.storage.discard(location);
        for (let turn = 0; turn < 100; turn++) await Promise.resolve();
        const next = setUp(world.memory);
        next.fileSystem.stopAfter(later);
        void next.storage.discard(location);
        for (let turn = 0; turn < 100; turn++) await Promise.resolve();
        world.memory.crash(seededRandom(seed));
        const [found] = await setUp(world.memory).storage.scan();
        assert.notEqual(found?.status, 'damaged', `after ${step} and ${later} operations`);
      }
});

test('files of a retained checkpoint stay when the job ends [I-31]', async () => {
  const world = setUp();
  const location = await complete(world, 1);
  // Whether it is retained is decided by who calls `discard`; a new start keeps what is published.
  const next = setUp(world.memory);
  await next.storage.cleanUp({ keep: 'published', below: 100 });
  assert.equal((await next.storage.load(location)).metadata.checkpointId, 1);
  await next.storage.discard(location);
  assert.deepEqual(await checkpointNames(next), []);
});

test('cleaning up removes what never completed and what is not to be kept', async () => {
  const world = setUp();
  for (const id of [1, 2, 3]) await complete(world, id);
  const pending = await world.storage.prepareCheckpoint(4);
  await writeData(world, pending, 0);
  const report = await world.storage.cleanUp({ keep: [3], below: 5 });
  assert.deepEqual(await checkpointNames(world), ['chk-3']);
  assert.deepEqual(
    report.removed,
    [1, 2, 4].map((id) => `${JOB_DIRECTORY}/chk-${id}`),
  );
});

test('cleaning up leaves what a newer leader has begun or completed', async () => {
  const world = setUp();
  await complete(world, 1);
  await complete(world, 2);
  await world.storage.prepareCheckpoint(3);
  await world.storage.cleanUp({ keep: [], below: 2 });
  assert.deepEqual(await checkpointNames(world), ['chk-2', 'chk-3']);
});

test('cleaning up leaves strange names, task-owned files and damaged snapshots', async () => {
  const world = setUp();
  const location = await complete(world, 5);
  world.memory.flipBit(`${location}/_metadata`, 30);
  const kept = [
    `${JOB_DIRECTORY}/chk-x/file`,
    `${JOB_DIRECTORY}/taskowned/wal.data`,
    `${location}/_metadata`,
  ];
  await world.memory.makeDirectory(`${JOB_DIRECTORY}/chk-x`);
  await writeShared(world.memory, kept[0]!, 'x');
  await writeShared(world.memory, kept[1]!, 'x');
  const report = await world.storage.cleanUp({ keep: [], below: 100 });
  assert.deepEqual(report.damaged, [location]);
  const left = await filesBelow(world.memory, JOB_DIRECTORY);
  for (const path of kept) assert.ok(left.includes(path), path);
});

test('shared files live as long as a kept checkpoint refers to them [I-78]', async () => {
  const world = setUp();
  const location = await world.storage.prepareCheckpoint(1);
  const shared = `${JOB_DIRECTORY}/shared`;
  const used = await writeShared(world.memory, `${shared}/${sharedFileName(1, 'used')}`, 'x');
  await writeShared(world.memory, `${shared}/${sharedFileName(1, 'unused')}`, 'x');
  await writeShared(world.memory, `${shared}/${sharedFileName(9, 'newer')}`, 'x');
  await world.storage.publish(location, metadataOf(1, [used]));
  // Aborting a checkpoint removes what is private to it and nothing that is shared.
  const aborted = await world.storage.prepareCheckpoint(2);
  await world.storage.discard(aborted);
  assert.equal((await world.memory.list(shared)).length, 3);

  await world.storage.cleanUp({ keep: [1], below: 3 });
  assert.deepEqual(await world.memory.list(shared), ['1-used.data', '9-newer.data']);
  await world.storage.cleanUp({ keep: [], below: 3 });
  assert.deepEqual(await world.memory.list(shared), ['9-newer.data']);
});

test('shared files stay while a snapshot that may need them cannot be read', async () => {
  const world = setUp();
  const location = await complete(world, 1);
  world.memory.flipBit(`${location}/_metadata`, 30);
  const path = `${JOB_DIRECTORY}/shared/${sharedFileName(1, 'sst')}`;
  await writeShared(world.memory, path, 'x');
  await world.storage.cleanUp({ keep: [1], below: 5 });
  assert.notEqual(await world.memory.stat(path), null);
});

test('what cannot be removed is reported and does not stop the start', async () => {
  const world = setUp();
  await complete(world, 1);
  await complete(world, 2);
  const fault = { operation: 'remove', path: 'chk-1', times: Infinity, errno: 'EACCES' } as const;
  world.fileSystem.inject(fault);
  const report = await world.storage.cleanUp({ keep: [], below: 3 });
  assert.deepEqual(report.removed, [`${JOB_DIRECTORY}/chk-2`]);
  assert.equal(report.failed.length, 1);
  assert.match(report.failed[0]!.reason, /permission denied \(EACCES\)/);
});

test('scanning tells valid, damaged and incomplete ones apart, by ascending id', async () => {
  const world = setUp();
  for (const id of [10, 9, 2]) await complete(world, id);
  await world.storage.prepareCheckpoint(11);
  world.memory.flipBit(`${JOB_DIRECTORY}/chk-9/_metadata`, 30);
  await world.memory.remove(`${JOB_DIRECTORY}/chk-10/${dataFileName(execution(0))}`);
  const found = await world.storage.scan();
  assert.deepEqual(
    found.map(({ checkpointId, status }) => `${checkpointId} ${status}`),
    ['2 valid', '9 damaged', '10 damaged', '11 incomplete'],
  );
});

test('a disk that does not answer is not taken for damage', async () => {
  const world = setUp();
  await complete(world, 1);
  world.fileSystem.inject({ operation: 'readFile', times: Infinity, errno: 'EIO' });
  const scanning = runWithClock(world.clock, world.storage.scan());
  await assert.rejects(scanning, (error) => storageErrno(error) === 'EIO');
});

test('a savepoint stands where the user wants it, under the name Flink gives it', async () => {
  const world = setUp();
  const location = await world.storage.prepareSavepoint('/backup/new', 'cafe12345678');
  assert.equal(location, '/backup/new/savepoint-012345-cafe12345678');
  const data = [await writeData(world, location, 0)];
  await world.storage.publish(location, { ...metadataOf(3, data), kind: 'savepoint' });
  world.memory.crash();
  assert.equal((await world.storage.load(location)).metadata.kind, 'savepoint');
  assert.deepEqual(await world.storage.scan(), []);
});
