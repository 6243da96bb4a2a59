import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import type { JobId } from '../base/ids.ts';
import { silentLogger } from '../base/logger.ts';
import { seededRandom } from '../base/random.ts';
import { checkpointConfig } from '../protocol/checkpoint/checkpoint-config.ts';
import { jobGraphOf, vertexIdOf } from '../protocol/execution/job-graph-fixture.ts';
import type { TaskManagerMessage } from '../protocol/messages.ts';
import { MemoryCheckpointStorage } from '../storage/memory-checkpoint-storage.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { CheckpointShell } from './checkpoint-shell.ts';
import { CheckpointStatistics } from './checkpoint-statistics.ts';
import { volatilePersistence } from './job-persistence.ts';
import { watchWallClock } from './wall-clock-watch.ts';

const HOUR_MS = 3_600_000;

/** Lets promises that are due run: the clock stands meanwhile. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function shellOn(clock: ManualClock): {
  readonly shell: CheckpointShell;
  readonly sent: TaskManagerMessage[];
  readonly failures: string[];
} {
  const sent: TaskManagerMessage[] = [];
  const failures: string[] = [];
  const ref = { vertexId: vertexIdOf('source'), subtask: 0, attempt: { epoch: 1, counter: 1 } };
  const shell = new CheckpointShell({
    jobId: '0'.repeat(32) as JobId,
    jobGraph: jobGraphOf({ source: 1 }, []),
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    config: checkpointConfig({ intervalMs: 1000, timeoutMs: 60_000 }),
    parallelCleaning: true,
    storage: new MemoryCheckpointStorage({ fileSystem: new MemoryFileSystem(), clock }, 'job'),
    persistence: volatilePersistence(0),
    completed: [],
    unfinishedCleanUp: null,
    lastCheckpointId: 0,
    statistics: new CheckpointStatistics(10, () => clock.wallTime()),
    sources: new Map(),
    executions: () => [{ ref, state: 'RUNNING', attemptNumber: 0, error: null }],
    sendTo: (_execution, message) => void sent.push(message),
    failJob: (error) => void failures.push(String(error)),
    stopped: () => undefined,
    giveUp: (error) => void failures.push(String(error)),
    listener: {
      statusChanged: () => undefined,
      restarting: () => undefined,
      checkpointCompleted: () => undefined,
      checkpointFailed: ({ reason }) => void failures.push(reason),
      metrics: () => undefined,
    },
  });
  return { shell, sent, failures };
}

test('a jump of the wall clock expires no checkpoint, monotonic time does [R119]', async () => {
  const clock = new ManualClock();
  const { shell, sent, failures } = shellOn(clock);
  shell.start();
  clock.advance(1000);
  await settle();
  assert.deepEqual(
    sent.map((message) => message.type),
    ['triggerCheckpoint'],
  );
  for (const jumpMs of [HOUR_MS, -2 * HOUR_MS]) {
    clock.jumpWallTime(jumpMs);
    clock.advance(10_000);
    await settle();
  }
  assert.equal(failures.length, 0);
  clock.advance(60_000);
  await settle();
  assert.equal(failures[0], 'CHECKPOINT_EXPIRED');
});

test('a jump of the wall clock is told with its size, once [R119]', () => {
  const clock = new ManualClock();
  const told: unknown[] = [];
  const stop = watchWallClock(clock, { log: (_level, _text, fields) => void told.push(fields) });
  clock.advance(5000);
  clock.jumpWallTime(HOUR_MS);
  clock.advance(5000);
  clock.jumpWallTime(-2 * HOUR_MS);
  clock.advance(5000);
  assert.deepEqual(told, [{ jumpMs: HOUR_MS }, { jumpMs: -2 * HOUR_MS }]);
  stop();
  assert.equal(clock.pendingCount(), 0);
});
