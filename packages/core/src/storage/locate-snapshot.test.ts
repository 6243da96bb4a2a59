import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { FileCheckpointStorage } from './file-checkpoint-storage.ts';
import { locateSnapshot } from './locate-snapshot.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import type { StorageIo } from './storage-io.ts';
import type { StoredSnapshot } from './stored-snapshot.ts';
import { JOB_ID, metadataOf, writeData } from './test-support.ts';

const JOB_DIRECTORY = `/cp/${JOB_ID}`;

/** Checkpoints 4 and 5 are complete, 6 is not. */
async function setUp(): Promise<StorageIo & { readonly fileSystem: MemoryFileSystem }> {
  const clock = new ManualClock();
  const io = { clock, fileSystem: new MemoryFileSystem(() => clock.wallTime()) };
  const storage = new FileCheckpointStorage(io, { directory: '/cp', jobId: JOB_ID });
  for (const id of [4, 5]) {
    clock.advance(1_000);
    const location = await storage.prepareCheckpoint(id);
    await storage.publish(location, metadataOf(id, [await writeData(io, location, 0)]));
  }
  await writeData(io, await storage.prepareCheckpoint(6), 0);
  return io;
}

function locate(io: StorageIo, path: string): Promise<StoredSnapshot> {
  return locateSnapshot(io, path, JOB_DIRECTORY);
}

test('a snapshot is found by its folder, its _metadata, a relative path and a URI', async () => {
  const io = await setUp();
  const spellings = [
    `${JOB_DIRECTORY}/chk-5`,
    `${JOB_DIRECTORY}/chk-5/`,
    `${JOB_DIRECTORY}/chk-5/_metadata`,
    'chk-5',
    `file://${JOB_DIRECTORY}/chk-5`,
  ];
  for (const path of spellings) {
    const { metadata, directory } = await locate(io, path);
    assert.equal(metadata.checkpointId, 5, path);
    assert.equal(directory, `${JOB_DIRECTORY}/chk-5`);
  }
});

test('the time of completion is known', async () => {
  const io = await setUp();
  const ages = await Promise.all(['chk-4', 'chk-5'].map((path) => locate(io, path)));
  assert.equal(ages[1]!.completedAt - ages[0]!.completedAt, 1_000);
});

test('where nothing is, the snapshots nearby are named', async () => {
  await assert.rejects(locate(await setUp(), 'chk-7'), {
    code: 'ARGUMENT_INVALID',
    kind: 'user',
    message:
      `there is nothing at ${JOB_DIRECTORY}/chk-7; snapshots beside it: ` +
      `${JOB_DIRECTORY}/chk-5, ${JOB_DIRECTORY}/chk-4`,
  });
});

test('a folder of snapshots is no snapshot, but shows which to choose', async () => {
  await assert.rejects(locate(await setUp(), JOB_DIRECTORY), {
    code: 'ARGUMENT_INVALID',
    message: new RegExp(`is not a snapshot, but holds some: choose ${JOB_DIRECTORY}/chk-5 or`),
  });
});

test('some other folder or file is no snapshot', async () => {
  const io = await setUp();
  await assert.rejects(locate(io, '/cp'), {
    code: 'ARGUMENT_INVALID',
    message: '/cp is not a snapshot: it has no _metadata file',
  });
  await writeData(io, '/cp', 0);
  const [file] = (await io.fileSystem.list('/cp')).filter((name) => name.endsWith('.data'));
  await assert.rejects(locate(io, `/cp/${file}`), { message: /is not a snapshot/ });
});

test('a checkpoint that was never completed is said to be that', async () => {
  await assert.rejects(locate(await setUp(), 'chk-6'), {
    code: 'ARGUMENT_INVALID',
    message: /chk-6 is not complete: it has no _metadata file.*; snapshots beside it: .*chk-5/,
  });
});

test('a path of another kind says what may be given', async () => {
  await assert.rejects(locate(await setUp(), 's3://bucket/chk-5'), {
    code: 'ARGUMENT_INVALID',
    message: /s3:\/\/bucket\/chk-5 is not a path .* snapshot from: give a path/,
  });
  await assert.rejects(locate(await setUp(), 'file:chk-5'), {
    message: /file:chk-5 is not .*: a file: URI must be absolute .*; a plain path .*: chk-5$/,
  });
});

test('a damaged snapshot is refused by checksum, and an older one named [R011]', async () => {
  const io = await setUp();
  const path = `${JOB_DIRECTORY}/chk-5/_metadata`;
  io.fileSystem.flipBit(path, 40);
  const damagedBytes = await io.fileSystem.readFile(path);
  await assert.rejects(locate(io, 'chk-5'), (error) => {
    const { code, message, details } = error as Error & {
      code: string;
      details: Record<string, unknown>;
    };
    assert.equal(code, 'STATE_CORRUPT');
    assert.match(message, /chk-5\/_metadata is damaged: expected checksum \w{8}, found \w{8}/);
    assert.match(message, /intact snapshots beside it: .*chk-4$/);
    assert.deepEqual(details['candidates'], [`${JOB_DIRECTORY}/chk-4`]);
    assert.equal(details['path'], path);
    return true;
  });
  assert.deepEqual(await io.fileSystem.readFile(path), damagedBytes);
});

test('a snapshot of which a data file is missing is damaged', async () => {
  const io = await setUp();
  const [file] = await io.fileSystem
    .list(`${JOB_DIRECTORY}/chk-5`)
    .then((names) => names.filter((name) => name.endsWith('.data')));
  await io.fileSystem.remove(`${JOB_DIRECTORY}/chk-5/${file}`);
  await assert.rejects(locate(io, 'chk-5'), {
    code: 'STATE_CORRUPT',
    message: new RegExp(`needs the file .*${file} of subtask 0 of "sum", but it is missing`),
  });
});
