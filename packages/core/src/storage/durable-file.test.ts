import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { makeDirectoryDurably, writeFileDurably } from './durable-file.ts';
import { FaultyFileSystem } from './faulty-file-system.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { storageErrno } from './storage-error.ts';

function setUp(): { memory: MemoryFileSystem; disk: FaultyFileSystem } {
  const memory = new MemoryFileSystem();
  return { memory, disk: new FaultyFileSystem(new ManualClock(), memory) };
}

test('a directory made durably survives a crash with all that is above it', async () => {
  const { memory } = setUp();
  await makeDirectoryDurably(memory, '/a/b/c');
  memory.crash();
  assert.equal((await memory.stat('/a/b/c'))?.isDirectory, true);
});

test('a directory that was there, but not durably, is durable afterwards', async () => {
  const { memory } = setUp();
  await memory.makeDirectory('/a/b');
  await makeDirectoryDurably(memory, '/a/b');
  memory.crash();
  assert.equal((await memory.stat('/a/b'))?.isDirectory, true);
});

test('a failed sync is not forgotten when the directory exists at the second try', async () => {
  const { memory, disk } = setUp();
  disk.inject({ operation: 'syncDirectory', times: 2, errno: 'EIO' });
  for (let tries = 0; tries < 2; tries++)
    await assert.rejects(makeDirectoryDurably(disk, '/a/b'), (e) => storageErrno(e) === 'EIO');
  await makeDirectoryDurably(disk, '/a/b');
  memory.crash();
  assert.equal((await memory.stat('/a/b'))?.isDirectory, true);
});

test('directories above that this user may not read do not matter', async () => {
  const { memory, disk } = setUp();
  await memory.makeDirectory('/home');
  await memory.syncDirectory('/');
  // Two syncs, of what is created, succeed; that of the root does not.
  disk.inject({ operation: 'syncDirectory', skip: 2, times: Infinity, errno: 'EACCES' });
  await makeDirectoryDurably(disk, '/home/me/data');
  memory.crash();
  assert.equal((await memory.stat('/home/me/data'))?.isDirectory, true);
});

test('a file that cannot be written is closed', async () => {
  const { disk } = setUp();
  const before = disk.operationCount;
  disk.inject({ operation: 'write', errno: 'ENOSPC' });
  const writing = writeFileDurably(disk, '/file', Buffer.from('x'));
  await assert.rejects(writing, (e) => storageErrno(e) === 'ENOSPC');
  assert.equal(disk.operationCount - before, 3, 'create, write, close');
});
