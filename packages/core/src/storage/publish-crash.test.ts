/**
 * Goal: no crash can lose a published checkpoint, or show one that was not whole. Method: run one
 * fixed story, cut the power after each single file operation, and look at what is left.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { FaultyFileSystem } from './faulty-file-system.ts';
import { FileCheckpointStorage } from './file-checkpoint-storage.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { sharedFileName } from './snapshot-layout.ts';
import { JOB_ID, metadataOf, writeData, writeShared } from './test-support.ts';
import { verifySnapshotDeep } from './verify-snapshot.ts';

interface Story {
  /** Ids of checkpoints that `publish` reported as done. */
  readonly published: number[];
  isDiscarding: boolean;
}

const OPTIONS = { directory: '/data/checkpoints', jobId: JOB_ID };

test('a published checkpoint survives a power failure at any moment', async () => {
  const clock = new ManualClock();
  for (let seed = -1; seed < 4; seed++) {
    for (let step = 0, isDone = false; !isDone; step++) {
      const memory = new MemoryFileSystem();
      const disk = new FaultyFileSystem(clock, memory);
      disk.stopAfter(step);
      const story: Story = { published: [], isDiscarding: false };
      let isFinished = false;
      void tell(clock, disk, story).then(() => {
        isFinished = true;
      });
      for (let turn = 0; turn < 1_000 && !isFinished; turn++) await Promise.resolve();
      isDone = isFinished;
      memory.crash(seed < 0 ? undefined : seededRandom(seed));
      await inspect(clock, memory, story);
    }
  }
});

async function tell(clock: ManualClock, fileSystem: FaultyFileSystem, story: Story): Promise<void> {
  const io = { clock, fileSystem };
  const storage = new FileCheckpointStorage(io, OPTIONS);
  for (const id of [1, 2]) {
    const location = await storage.prepareCheckpoint(id);
    const path = `${storage.jobDirectory}/shared/${sharedFileName(id, 'sst')}`;
    const data = [
      await writeData(io, location, 0, `content ${id}`),
      await writeShared(fileSystem, path, `shared ${id}`),
    ];
    await storage.publish(location, metadataOf(id, data));
    story.published.push(id);
  }
  story.isDiscarding = true;
  await storage.discard(`${storage.jobDirectory}/chk-1`);
}

async function inspect(clock: ManualClock, fileSystem: MemoryFileSystem, story: Story) {
  const io = { clock, fileSystem };
  const storage = new FileCheckpointStorage(io, OPTIONS);
  const found = await storage.scan();
  const valid = found.filter(({ status }) => status === 'valid');
  const expected = story.isDiscarding ? [2] : story.published;
  for (const id of expected)
    assert.ok(
      valid.some(({ checkpointId }) => checkpointId === id),
      `checkpoint ${id} is lost`,
    );
  for (const { status, directory } of found) {
    assert.notEqual(status, 'damaged', directory);
    if (status !== 'valid') continue;
    assert.deepEqual(await verifySnapshotDeep(io, await storage.load(directory)), []);
  }
}
