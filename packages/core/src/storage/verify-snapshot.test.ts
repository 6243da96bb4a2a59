import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { dataFileName } from './snapshot-layout.ts';
import { execution, metadataOf, writeData } from './test-support.ts';
import { verifySnapshotDeep } from './verify-snapshot.ts';

test('an intact snapshot has no damage, a large file included', async () => {
  const { io, snapshot } = await setUp();
  assert.deepEqual(await verifySnapshotDeep(io, snapshot), []);
});

test('each damaged piece is listed with file, expected and found checksum [R011]', async () => {
  const { io, snapshot } = await setUp();
  const paths = [0, 1].map((subtask) => `/s/${dataFileName(execution(subtask))}`);
  io.fileSystem.flipBit(paths[0]!, 2_500_000);
  await io.fileSystem.truncate(paths[1]!, 1);
  const damage = await verifySnapshotDeep(io, snapshot);
  assert.deepEqual(
    damage.map(({ details }) => details['path']),
    paths,
  );
  assert.match(damage[0]!.message, /expected checksum [0-9a-f]{8}, found [0-9a-f]{8}/);
  assert.match(damage[1]!.message, /should have 5 bytes, but has 1/);
});

async function setUp() {
  const io = { clock: new ManualClock(), fileSystem: new MemoryFileSystem() };
  await io.fileSystem.makeDirectory('/s');
  const data = [
    await writeData(io, '/s', 0, 'x'.repeat(2_600_000)),
    await writeData(io, '/s', 1, 'small'),
    { kind: 'inline', bytes: new Uint8Array(), checksum: 0 } as const,
    null,
  ];
  return { io, snapshot: { directory: '/s', metadata: metadataOf(1, data), completedAt: 0 } };
}
