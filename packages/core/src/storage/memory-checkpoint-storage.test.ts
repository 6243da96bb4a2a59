import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from '../base/codec/crc32.ts';
import { ManualClock } from '../base/clock.ts';
import { MemoryCheckpointStorage } from './memory-checkpoint-storage.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { JOB_ID, metadataOf, writeData } from './test-support.ts';

const bytes = new Uint8Array([1, 2]);
const inline = { kind: 'inline', bytes, checksum: crc32(bytes) } as const;

function setUp(): {
  io: { clock: ManualClock; fileSystem: MemoryFileSystem };
  storage: MemoryCheckpointStorage;
} {
  const io = { clock: new ManualClock(), fileSystem: new MemoryFileSystem() };
  return { io, storage: new MemoryCheckpointStorage(io, JOB_ID) };
}

test('checkpoints are kept, scanned, loaded and discarded without touching the disk', async () => {
  const { io, storage } = setUp();
  for (const id of [2, 1])
    await storage.publish(await storage.prepareCheckpoint(id), metadataOf(id, [inline]));
  const found = await storage.scan();
  assert.deepEqual(
    found.map(({ checkpointId, status }) => `${checkpointId} ${status}`),
    ['1 valid', '2 valid'],
  );
  assert.equal((await storage.load(found[1]!.directory)).metadata.checkpointId, 2);
  await storage.discard(found[0]!.directory);
  await storage.cleanUp({ keep: [], below: 3 });
  assert.deepEqual(await storage.scan(), []);
  assert.deepEqual(await io.fileSystem.list('/'), []);
});

test('cleaning up keeps what it is told to, and what is newer', async () => {
  const { storage } = setUp();
  for (const id of [1, 2, 3])
    await storage.publish(await storage.prepareCheckpoint(id), metadataOf(id, [inline]));
  const { removed } = await storage.cleanUp({ keep: [2], below: 3 });
  assert.deepEqual(removed, ['jobmanager:chk-1']);
  await storage.cleanUp({ keep: 'published', below: 100 });
  assert.equal((await storage.scan()).length, 2);
});

test('a checkpoint that was never published does not exist', async () => {
  const { storage } = setUp();
  const location = await storage.prepareCheckpoint(1);
  await assert.rejects(storage.load(location), { code: 'ARGUMENT_INVALID' });
});

test('files have no place in it', async () => {
  const { io, storage } = setUp();
  await io.fileSystem.makeDirectory('/elsewhere');
  const file = await writeData(io, '/elsewhere', 0);
  const location = await storage.prepareCheckpoint(1);
  await assert.rejects(storage.publish(location, metadataOf(1, [file])), {
    code: 'STATE_CORRUPT',
    message: /checkpoints of this job are kept in memory/,
  });
});

test('a savepoint is written to files even here', async () => {
  const { io, storage } = setUp();
  const location = await storage.prepareSavepoint('/backup', 'cafe');
  const data = [await writeData(io, location, 0)];
  await storage.publish(location, { ...metadataOf(1, data), kind: 'savepoint' });
  assert.equal((await storage.load(location)).metadata.kind, 'savepoint');
  await storage.discard(location);
  assert.deepEqual(await io.fileSystem.list('/backup'), []);
});
