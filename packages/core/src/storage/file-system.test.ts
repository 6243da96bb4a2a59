import assert from 'node:assert/strict';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, describe, test } from 'node:test';
import type { FileSystem } from '../base/file-system.ts';
import { LocalFileSystem } from './local-file-system.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { joinPath } from './paths.ts';
import { isTransientStorageError, storageErrno } from './storage-error.ts';

const root = await fs.mkdtemp(joinPath(tmpdir(), 'weir-file-system-'));
after(() => fs.rm(root, { recursive: true }));

const memory = new MemoryFileSystem();
await memory.makeDirectory('/root');

/** The same promises for both: what holds in simulation holds on a disk. */
for (const [name, fileSystem, base] of [
  ['the local disk', new LocalFileSystem(), root],
  ['the disk in memory', memory, '/root'],
] as const)
  describe(name, () => contract(fileSystem, base));

function contract(fileSystem: FileSystem, base: string): void {
  const write = async (path: string, text: string): Promise<void> => {
    const writer = await fileSystem.create(path);
    await writer.write(Buffer.from(text));
    await writer.sync();
    await writer.close();
  };
  const read = async (path: string): Promise<string> =>
    Buffer.from(await fileSystem.readFile(path)).toString();

  test('a file holds what was written, piece after piece', async () => {
    const path = `${base}/pieces`;
    const writer = await fileSystem.create(path);
    await writer.write(Buffer.from('ab'));
    await writer.write(Buffer.from('cde'));
    await writer.close();
    assert.equal(await read(path), 'abcde');
    const stat = await fileSystem.stat(path);
    assert.equal(stat?.sizeBytes, 5);
    assert.equal(stat.isDirectory, false);
  });

  test('a reader reads at an offset and shortens only at the end', async () => {
    await write(`${base}/read`, 'abcdef');
    const reader = await fileSystem.openForRead(`${base}/read`);
    assert.equal(await reader.sizeBytes(), 6);
    assert.equal(Buffer.from(await reader.read(2, 3)).toString(), 'cde');
    assert.equal(Buffer.from(await reader.read(4, 10)).toString(), 'ef');
    assert.equal((await reader.read(9, 1)).byteLength, 0);
    await reader.close();
  });

  test('creating a file again empties it, unless it must be the first', async () => {
    await write(`${base}/again`, 'old');
    await assertErrno('EEXIST', fileSystem.create(`${base}/again`, { exclusive: true }));
    await write(`${base}/again`, 'x');
    assert.equal(await read(`${base}/again`), 'x');
  });

  test('a directory is made with what is missing above it, and listed in order', async () => {
    await fileSystem.makeDirectory(`${base}/list/deep`);
    await fileSystem.makeDirectory(`${base}/list/deep`);
    await write(`${base}/list/b`, '');
    await write(`${base}/list/a`, '');
    assert.deepEqual(await fileSystem.list(`${base}/list`), ['a', 'b', 'deep']);
    assert.deepEqual(await fileSystem.list(`${base}/nowhere`), []);
    await assertErrno('ENOTDIR', fileSystem.list(`${base}/list/a`));
    assert.equal((await fileSystem.stat(`${base}/list/deep`))?.isDirectory, true);
    await fileSystem.syncDirectory(`${base}/list`);
  });

  test('what is not there is null to look at and an error to use', async () => {
    assert.equal(await fileSystem.stat(`${base}/none`), null);
    await assertErrno('ENOENT', fileSystem.readFile(`${base}/none`));
    await assertErrno('ENOENT', fileSystem.openForRead(`${base}/none`));
    await assertErrno('ENOENT', fileSystem.create(`${base}/none/file`));
    await assertErrno('ENOENT', fileSystem.rename(`${base}/none`, `${base}/other`));
    await assertErrno('ENOENT', fileSystem.truncate(`${base}/none`, 0));
    await assertErrno('ENOENT', fileSystem.syncDirectory(`${base}/none`));
  });

  test('a rename replaces its target', async () => {
    await write(`${base}/from`, 'new');
    await write(`${base}/to`, 'old');
    await fileSystem.rename(`${base}/from`, `${base}/to`);
    assert.equal(await read(`${base}/to`), 'new');
    assert.equal(await fileSystem.stat(`${base}/from`), null);
  });

  test('a link gives a second name, but never one that is taken', async () => {
    await write(`${base}/first`, 'x');
    await fileSystem.link(`${base}/first`, `${base}/second`);
    await assertErrno('EEXIST', fileSystem.link(`${base}/first`, `${base}/second`));
    await fileSystem.remove(`${base}/first`);
    assert.equal(await read(`${base}/second`), 'x');
  });

  test('truncating cuts a file', async () => {
    await write(`${base}/cut`, 'abcdef');
    await fileSystem.truncate(`${base}/cut`, 2);
    assert.equal(await read(`${base}/cut`), 'ab');
  });

  test('removing twice is no error, removing a full directory is', async () => {
    await fileSystem.makeDirectory(`${base}/full`);
    await write(`${base}/full/file`, '');
    await assertErrno('ENOTEMPTY', fileSystem.removeDirectory(`${base}/full`));
    await fileSystem.remove(`${base}/full/file`);
    await fileSystem.remove(`${base}/full/file`);
    await fileSystem.removeDirectory(`${base}/full`);
    await fileSystem.removeDirectory(`${base}/full`);
    assert.equal(await fileSystem.stat(`${base}/full`), null);
  });

  test('an error says what was tried, where, why and what to do', async () => {
    await assert.rejects(fileSystem.readFile(`${base}/none`), {
      message:
        `cannot read ${base}/none: it does not exist (ENOENT); check the path, and whether ` +
        'something else removes files there',
      code: 'STORAGE_UNAVAILABLE',
      details: { path: `${base}/none`, errno: 'ENOENT', permanent: true },
    });
  });
}

test('a full disk is named as such and is not worth another try [R115]', async () => {
  const isThere = await fs.stat('/dev/full').then(
    () => true,
    () => false,
  );
  if (!isThere) return;
  const writer = await new LocalFileSystem().create('/dev/full');
  const error = await writer.write(Buffer.from('x')).catch((caught: unknown) => caught);
  await writer.close();
  assert.match(String(error), /cannot write \/dev\/full: the disk is full \(ENOSPC\); free space/);
  assert.equal(isTransientStorageError(error), false);
});

async function assertErrno(errno: string, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error) => storageErrno(error) === errno);
}

test('a folder that takes no entries is told at once, not tried for ever', async () => {
  // As `/proc` does, a missing root answers that there is nothing, whatever is asked for.
  const fileSystem = new LocalFileSystem();
  const path = process.platform === 'linux' ? '/proc/weir/folder' : '/dev/null/weir';
  await assert.rejects(fileSystem.makeDirectory(path), /cannot create the folder/);
});
