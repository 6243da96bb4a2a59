import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { StorageUnavailableError } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import { silentLogger } from '../base/logger.ts';
import { seededRandom } from '../base/random.ts';
import { checkpointConfig } from '../protocol/checkpoint/checkpoint-config.ts';
import { jobGraphOf } from '../protocol/execution/job-graph-fixture.ts';
import type { CleanUpOptions } from '../storage/checkpoint-storage.ts';
import { MemoryCheckpointStorage } from '../storage/memory-checkpoint-storage.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { CheckpointShell } from './checkpoint-shell.ts';
import { CheckpointStatistics } from './checkpoint-statistics.ts';
import { volatilePersistence } from './job-persistence.ts';

const JOB = 'a'.repeat(32) as JobId;

/** A disk that cannot remove anything for the first time. */
class StubbornStorage extends MemoryCheckpointStorage {
  readonly asked: string[] = [];
  readonly cleanUps: CleanUpOptions[] = [];

  override cleanUp(options: CleanUpOptions): ReturnType<MemoryCheckpointStorage['cleanUp']> {
    this.cleanUps.push(options);
    return super.cleanUp(options);
  }

  override discard(location: string): ReturnType<MemoryCheckpointStorage['discard']> {
    this.asked.push(location);
    if (this.asked.length > 1) return Promise.resolve({ foreign: [] });
    return Promise.reject(new StorageUnavailableError('the disk does not answer'));
  }
}

function shellOn(
  storage: StubbornStorage,
  unfinishedCleanUp: CleanUpOptions | null = null,
): CheckpointShell {
  const ignore = (): void => undefined;
  return new CheckpointShell({
    jobId: JOB,
    jobGraph: jobGraphOf({ source: 1 }, []),
    clock: new ManualClock(),
    random: seededRandom(1),
    logger: silentLogger,
    config: checkpointConfig({ intervalMs: 1000 }),
    parallelCleaning: true,
    storage,
    persistence: volatilePersistence(1),
    completed: [
      {
        checkpointId: 1,
        kind: 'checkpoint',
        stopsJob: false,
        directory: '/checkpoints/chk-1',
        triggeredAt: 0,
        sizeBytes: 0,
        isOwned: true,
      },
    ],
    lastCheckpointId: 1,
    unfinishedCleanUp,
    listener: {
      statusChanged: ignore,
      restarting: ignore,
      checkpointCompleted: ignore,
      checkpointFailed: ignore,
      metrics: ignore,
    },
    sources: new Map(),
    statistics: new CheckpointStatistics(10, () => 0),
    executions: () => [],
    sendTo: ignore,
    failJob: ignore,
    stopped: ignore,
    giveUp: ignore,
  });
}

function newStorage(): StubbornStorage {
  return new StubbornStorage({ fileSystem: new MemoryFileSystem(), clock: new ManualClock() }, JOB);
}

test('what a disk kept from being removed is removed when the run has finished', async () => {
  const storage = newStorage();
  await shellOn(storage).runEnded('FINISHED');
  assert.deepEqual(storage.asked, ['/checkpoints/chk-1', '/checkpoints/chk-1']);
});

test('a run that is suspended removes nothing: another goes on from it', async () => {
  const storage = newStorage();
  await shellOn(storage).runEnded('SUSPENDED');
  assert.deepEqual(storage.asked, []);
});

test('a clean-up that failed at the start is tried again when the run has finished', async () => {
  const storage = newStorage();
  const unfinished = { keep: [1], below: 2 };
  await shellOn(storage, unfinished).runEnded('SUSPENDED');
  assert.deepEqual(storage.cleanUps, []);
  await shellOn(storage, unfinished).runEnded('FINISHED');
  assert.deepEqual(storage.cleanUps, [unfinished]);
});
