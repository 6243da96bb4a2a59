import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunEvent } from '../run-contract.ts';
import { STARTED } from '../test-environment.ts';
import { linesOf, PeriodicLines } from './plain-lines.ts';
import { errorInfo, someProgress, userError } from './report-fixtures.ts';
import { RunProgress } from './run-progress.ts';

function texts(event: RunEvent, progress = new RunProgress(0), verbose = false): readonly string[] {
  return linesOf(event, progress, verbose).map(({ level, text }) => `${level}: ${text}`);
}

test('the first line is what the run said, unchanged', () => {
  assert.deepEqual(texts(STARTED), ['note: job orders: no earlier run, starts empty']);
});

test('a restart names the number of tasks, the delay and the innermost cause', () => {
  const error = errorInfo({ message: 'the task failed', causes: [userError()] });
  assert.deepEqual(texts({ type: 'restarting', error, delayMs: 1500, tasks: 3 }), [
    'warning: restarting 3 tasks in 1.5 s, after: the task failed: too much',
  ]);
  const known = errorInfo({ causes: [userError()] });
  assert.deepEqual(texts({ type: 'restarting', error: known, delayMs: 0, tasks: 1 }), [
    'warning: restarting 1 task now, after: map of operator totals threw: too much',
  ]);
});

test('running is told only when it is so again', () => {
  const running = { type: 'statusChanged', status: 'RUNNING', error: null } as const;
  const progress = new RunProgress(0);
  assert.deepEqual(texts(running, progress), []);
  progress.restarts = 1;
  assert.deepEqual(texts(running, progress), ['note: running again']);
});

test('failed checkpoints are warnings with the reason', () => {
  const reason = 'CHECKPOINT_EXPIRED';
  const event = { type: 'checkpointFailed', reason, message: 'took\ntoo long' } as const;
  assert.deepEqual(texts({ ...event, checkpointId: 4 }), [
    'warning: checkpoint 4 failed: took too long (CHECKPOINT_EXPIRED)',
  ]);
  assert.match(texts({ ...event, checkpointId: null })[0]!, /^warning: a checkpoint failed/);
});

test('a checkpoint that is given up because the job ends is no warning', () => {
  const reason = 'CHECKPOINT_COORDINATOR_SUSPEND';
  const event = { type: 'checkpointFailed', checkpointId: 5, reason, message: 'ends' } as const;
  assert.deepEqual(texts(event), []);
  assert.equal(texts(event, new RunProgress(0), true).length, 1);
});

test('log lines keep their level; those for debugging are shown when asked for', () => {
  const log = (level: 'debug' | 'info' | 'warn' | 'error'): RunEvent => ({
    type: 'log',
    level,
    message: 'm',
  });
  assert.deepEqual(texts(log('info')), ['note: m']);
  assert.deepEqual(texts(log('warn')), ['warning: m']);
  assert.deepEqual(texts(log('error')), ['error: m']);
  assert.deepEqual(texts(log('debug')), []);
  assert.deepEqual(texts(log('debug'), new RunProgress(0), true), ['note: m']);
});

test('progress is told about every two seconds', () => {
  const periodic = new PeriodicLines(0);
  const event = { type: 'progress', vertices: [], tasks: [] } as const;
  const at = [1000, 2000, 2900, 4100, 5000].filter(
    (now) => periodic.lines(event, someProgress(), now).length > 0,
  );
  assert.deepEqual(at, [2000, 4100]);
});

test('a run that has ended makes no more progress', () => {
  const lines = new PeriodicLines(0);
  const progress = new RunProgress(0);
  const event = { type: 'progress', vertices: [], tasks: [] } as const;
  progress.status = 'RUNNING';
  assert.equal(lines.lines(event, progress, 2000).length, 1);
  progress.status = 'FINISHED';
  assert.deepEqual(lines.lines(event, progress, 4000), []);
});

test('a line of progress holds every vertex', () => {
  const event = { type: 'progress', vertices: [], tasks: [] } as const;
  const [line] = new PeriodicLines(0).lines(event, someProgress(), 65_000);
  assert.equal(
    line?.text,
    'running for 1 min 5 s | Source: orders -> Map: 1,234,567 records, 12.3k/s, busy 60 % | ' +
      'totals: 1,200,950 records, 950/s, busy 24 %, late 7',
  );
});

test('of many checkpoints a second, one is told', () => {
  const periodic = new PeriodicLines(0);
  const lines = [10, 500, 1009, 1010, 1500].flatMap((now) =>
    periodic.lines(
      { type: 'checkpointCompleted', checkpointId: now, durationMs: 5, sizeBytes: 9, path: null },
      someProgress(),
      now,
    ),
  );
  assert.deepEqual(
    lines.map(({ text }) => text),
    ['checkpoint 10: took 5 ms, 9 B', 'checkpoint 1010: took 5 ms, 9 B'],
  );
});
