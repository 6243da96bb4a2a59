import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../base/random.ts';
import { MemoryFileSystem } from './memory-file-system.ts';

async function write(disk: MemoryFileSystem, path: string, sync: boolean): Promise<void> {
  const writer = await disk.create(path);
  await writer.write(Buffer.from('content'));
  if (sync) await writer.sync();
  await writer.close();
}

test('a crash forgets a synced file whose name was not synced', async () => {
  const disk = new MemoryFileSystem();
  await write(disk, '/file', true);
  disk.crash();
  assert.equal(await disk.stat('/file'), null);
});

test('a crash empties a file that was not synced although its name was', async () => {
  const disk = new MemoryFileSystem();
  await write(disk, '/file', false);
  await disk.syncDirectory('/');
  disk.crash();
  assert.equal((await disk.stat('/file'))?.sizeBytes, 0);
});

test('a crash keeps what was synced in both ways', async () => {
  const disk = new MemoryFileSystem();
  await write(disk, '/file', true);
  await disk.syncDirectory('/');
  disk.crash();
  assert.equal(Buffer.from(await disk.readFile('/file')).toString(), 'content');
});

test('a crash undoes a rename and a removal whose directory was not synced', async () => {
  const disk = new MemoryFileSystem();
  await write(disk, '/a', true);
  await write(disk, '/b', true);
  await disk.syncDirectory('/');
  await disk.rename('/a', '/c');
  await disk.remove('/b');
  disk.crash();
  assert.deepEqual(await disk.list('/'), ['a', 'b']);
});

test('a directory is lost with all that is in it when its own name was not synced', async () => {
  const disk = new MemoryFileSystem();
  await disk.makeDirectory('/outer/inner');
  await write(disk, '/outer/inner/file', true);
  await disk.syncDirectory('/outer/inner');
  await disk.syncDirectory('/outer');
  disk.crash();
  assert.equal(await disk.stat('/outer'), null);
});

test('after a crash an open writer writes nothing any more', async () => {
  const disk = new MemoryFileSystem();
  const writer = await disk.create('/file');
  await disk.syncDirectory('/');
  disk.crash();
  await assert.rejects(writer.write(Buffer.from('x')), { code: 'STORAGE_UNAVAILABLE' });
});

test('a crash on a real disk keeps any part of what was not synced', async () => {
  const survivors = new Set<string>();
  for (let seed = 0; seed < 40; seed++) {
    const disk = new MemoryFileSystem();
    for (const name of ['1', '2']) await write(disk, `/${name}`, true);
    disk.crash(seededRandom(seed));
    survivors.add((await disk.list('/')).join(''));
  }
  assert.deepEqual([...survivors].sort(), ['', '1', '12', '2']);
});

test('a flipped bit stays flipped over a crash', async () => {
  const disk = new MemoryFileSystem();
  await write(disk, '/file', true);
  await disk.syncDirectory('/');
  disk.flipBit('/file', 0);
  disk.crash();
  assert.equal(Buffer.from(await disk.readFile('/file')).toString(), 'bontent');
});
