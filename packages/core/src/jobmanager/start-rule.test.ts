import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScannedSnapshot } from '../storage/checkpoint-storage.ts';
import type { JobRecord } from '../storage/job-store.ts';
import { decideStart, olderWarning } from './start-rule.ts';
import type { StartFacts } from './start-rule.ts';

const ID = 'a'.repeat(32);

function valid(checkpointId: number): ScannedSnapshot {
  const completedAt = Date.UTC(2030, 0, 1);
  const directory = `/c/chk-${checkpointId}`;
  return { status: 'valid', checkpointId, directory, kind: 'checkpoint', completedAt };
}

function damaged(checkpointId: number): ScannedSnapshot {
  const reason = `/c/chk-${checkpointId}/_metadata: checksum 1 expected, 2 found`;
  return { status: 'damaged', checkpointId, directory: `/c/chk-${checkpointId}`, reason };
}

function record(completed: readonly number[], changes: Partial<JobRecord> = {}): JobRecord {
  return {
    jobId: ID,
    jobName: 'orders',
    arguments: ['--input=a'],
    nextCheckpointId: 100,
    firstCheckpointId: 1,
    leaderFirstCheckpointId: 1,
    completed: completed.map((checkpointId) => ({
      checkpointId,
      directory: `/c/chk-${checkpointId}`,
    })),
    owner: null,
    ended: null,
    restoredFrom: null,
    ...changes,
  } as unknown as JobRecord;
}

function decide(changes: Partial<StartFacts> = {}): ReturnType<typeof decideStart> {
  return decideStart({
    jobId: ID,
    record: null,
    runningOwner: null,
    scanned: [],
    arguments: ['--input=a'],
    fresh: false,
    append: false,
    restorePath: null,
    allowOlder: false,
    occupiedOutput: null,
    ...changes,
  });
}

function refused(decision: ReturnType<typeof decideStart>, code: string, ...texts: RegExp[]): void {
  assert.equal(decision.type, 'refuse');
  if (decision.type !== 'refuse') return;
  assert.equal(decision.code, code);
  for (const text of texts) assert.match(decision.message, text);
}

test('a job that never ran starts empty and says so', () => {
  assert.deepEqual(decide(), {
    type: 'empty',
    isNewRun: true,
    note: 'no earlier run, starts empty',
  });
});

test('a start without any record says when it adds to an output that is not empty', () => {
  const decision = decide({ occupiedOutput: '/out' });
  assert.match(decision.type === 'empty' ? decision.note : '', /empty; adds to what is in \/out/);
});

test('a run that did not end goes on from its newest checkpoint [R100]', () => {
  const decision = decide({ record: record([16, 17]), scanned: [valid(16), valid(17)] });
  assert.deepEqual(decision, {
    type: 'resume',
    directory: '/c/chk-17',
    checkpointId: 17,
    skipped: [],
  });
});

test('a job that failed for good goes on from its newest checkpoint, no older [R098]', () => {
  const decision = decide({
    record: record([9], {
      ended: { status: 'FAILED', at: 0 },
      restoredFrom: '/savepoints/savepoint-100',
    }),
    scanned: [valid(8), valid(9)],
  });
  assert.equal(decision.type === 'resume' && decision.checkpointId, 9);
});

test('a checkpoint that is stored counts though the record was not written any more', () => {
  const decision = decide({ record: record([3]), scanned: [valid(3), valid(4)] });
  assert.equal(decision.type === 'resume' && decision.checkpointId, 4);
});

test('the recorded one gone beside a newer good one is no loss, and not told as one', () => {
  const decision = decide({ record: record([3]), scanned: [damaged(2), valid(4)] });
  assert.deepEqual(decision, {
    type: 'resume',
    directory: '/c/chk-4',
    checkpointId: 4,
    skipped: [],
  });
});

test('checkpoints of runs that were given up are not resumed from', () => {
  const decision = decide({
    record: record([], { firstCheckpointId: 10 }),
    scanned: [valid(8), damaged(9)],
  });
  assert.deepEqual(decision, {
    type: 'empty',
    isNewRun: false,
    note: 'the earlier run had completed no checkpoint, starts empty',
  });
});

test('a killed run without checkpoints is not repeated unasked, where that doubles', () => {
  const killed = record([], { wouldRepeat: true });
  const decision = decide({ record: killed });
  refused(decision, 'JOB_STATE_UNPROVEN', /ran without checkpoints.*would write again.*--fresh/);
  assert.equal(decide({ record: killed, fresh: true }).type, 'empty');
  assert.equal(
    decide({ record: record([3], { wouldRepeat: true }), scanned: [valid(3)] }).type,
    'resume',
  );
});

test('what a leader published after another took over is not resumed from', () => {
  const decision = decide({
    record: record([3], { leaderFirstCheckpointId: 6 }),
    scanned: [valid(3), valid(4), damaged(5)],
  });
  assert.deepEqual(decision, {
    type: 'resume',
    directory: '/c/chk-3',
    checkpointId: 3,
    skipped: [],
  });
});

test('--fresh starts empty and says what it ignores [R100]', () => {
  const decision = decide({ fresh: true, record: record([17]), scanned: [valid(17)] });
  assert.deepEqual(decision, {
    type: 'empty',
    isNewRun: true,
    note: 'fresh start, ignoring checkpoint 17 (/c/chk-17)',
  });
});

test('with the record of runs missing, nothing starts empty beside checkpoints [R097]', () => {
  const decision = decide({ scanned: [valid(16), valid(17)] });
  refused(
    decision,
    'JOB_STATE_UNPROVEN',
    /checkpoint 17 \(completed 2030-01-01T00:00:00.000Z, \/c\/chk-17\)/,
    /-s PATH/,
  );
});

test('a checkpoint that never was complete is no reason to refuse', () => {
  const scanned = [{ status: 'incomplete', checkpointId: 1, directory: '/c/chk-1' } as const];
  assert.equal(decide({ scanned }).type, 'empty');
});

test('the newest is damaged: refused, naming file, checksums and the good one [R011]', () => {
  const decision = decide({ record: record([4, 5]), scanned: [valid(4), damaged(5)] });
  refused(
    decision,
    'JOB_STATE_UNPROVEN',
    /checkpoint 5 is damaged: \/c\/chk-5\/_metadata: checksum 1 expected, 2 found/,
    /an older one is good: checkpoint 4/,
    /execution\.state-recovery\.allow-older=true/,
  );
});

test('with allow-older the good one is used, and what was skipped is told [R011]', () => {
  const decision = decide({
    record: record([4, 5]),
    scanned: [valid(4), damaged(5)],
    allowOlder: true,
  });
  assert.equal(decision.type, 'resume');
  if (decision.type !== 'resume') return;
  assert.equal(decision.checkpointId, 4);
  assert.match(decision.skipped.join(), /checkpoint 5 is damaged/);
});

test('the newest one is gone from disk: refused, though an older one is there', () => {
  const decision = decide({ record: record([4, 5]), scanned: [valid(4)] });
  refused(decision, 'JOB_STATE_UNPROVEN', /checkpoint 5 \(\/c\/chk-5\) is missing/);
});

test('all of them gone: refused, never started empty', () => {
  const decision = decide({ record: record([5]), allowOlder: true });
  refused(decision, 'JOB_STATE_UNPROVEN', /is missing/, /no older one is good/, /--fresh/);
});

test('an older damaged one beside a good newer one does not matter', () => {
  const decision = decide({ record: record([4, 5]), scanned: [damaged(4), valid(5)] });
  assert.equal(decision.type === 'resume' && decision.checkpointId, 5);
});

test('a run started from a snapshot begins there again until it has a checkpoint', () => {
  const started = record([], { restoredFrom: '/savepoints/s1' });
  assert.deepEqual(decide({ record: started }), {
    type: 'restore',
    path: '/savepoints/s1',
    isNewRun: false,
  });
});

test('a run that claimed its snapshot goes on from it until it has a checkpoint', () => {
  const claimed = record([9], { firstCheckpointId: 10, leaderFirstCheckpointId: 10 });
  const decision = decide({ record: claimed, scanned: [valid(8), valid(9)] });
  assert.equal(decision.type === 'resume' && decision.checkpointId, 9);
  refused(decide({ record: claimed, scanned: [valid(8)] }), 'JOB_STATE_UNPROVEN', /9 .* missing/);
});

test('its first own checkpoint damaged: refused, naming where it was started from', () => {
  const started = record([3], { restoredFrom: '/savepoints/s1' });
  refused(decide({ record: started, scanned: [damaged(3)] }), 'JOB_STATE_UNPROVEN', /-s \/sav/);
});

test('-s starts a new run whatever the earlier end or arguments were', () => {
  const decision = decide({
    restorePath: '/s',
    record: record([5], { ended: { status: 'FINISHED', at: 0 } }),
    arguments: ['--other'],
    occupiedOutput: '/out',
  });
  assert.deepEqual(decision, { type: 'restore', path: '/s', isNewRun: true });
});

test('other arguments than those of the run to be resumed are refused', () => {
  const decision = decide({ record: record([5]), scanned: [valid(5)], arguments: ['--input=b'] });
  refused(decision, 'JOB_ARGUMENTS_CHANGED', /"--input=a", not "--input=b"/, /--fresh/, /--job-id/);
});

test('secrets of other arguments are not shown, also those of an older record', () => {
  const database = (password: string): string => `--database=redis://u:${password}@h`;
  const before = { ...record([5]), arguments: [database('hidden'), '--pin-token=hidden'] };
  const now = [database('hidden'), '--pin-token=Hidden'];
  const decision = decide({ record: before, scanned: [valid(5)], arguments: now });
  refused(decision, 'JOB_ARGUMENTS_CHANGED', /redis:\/\/u:\*{3}@h.*\(\*{3} stands for a secret\)/);
  assert.doesNotMatch(JSON.stringify(decision), /hidden/i);
});

test('other arguments are taken when the earlier run left nothing behind', () => {
  const facts = { record: record([]), scanned: [], arguments: ['--input=b'] };
  const decision = decide(facts);
  assert.equal(decision.type, 'empty');
  refused(decide({ ...facts, occupiedOutput: '/out' }), 'JOB_ARGUMENTS_CHANGED', /-s CHECKPOINT/);
});

test('--fresh after a run that did not end says that it adds to what is published', () => {
  const decision = decide({
    fresh: true,
    record: record([17]),
    scanned: [valid(17)],
    occupiedOutput: '/out',
  });
  assert.match(
    JSON.stringify(decision),
    /ignoring checkpoint 17.*results that are in \/out already stay/,
  );
});

for (const [status, word] of [
  ['FINISHED', 'finished'],
  ['CANCELED', 'cancelled'],
] as const)
  test(`a run that has ${word} is not repeated`, () => {
    const ended = record([5], { ended: { status, at: 0 } });
    const decision = decide({ record: ended });
    assert.equal(decision.type, 'alreadyEnded');
    if (decision.type === 'alreadyEnded')
      assert.match(decision.message, new RegExp(`already ${word}; use --fresh`));
  });

test('an ended run with other arguments does not stand in the way, unless its output does', () => {
  const ended = record([5], { ended: { status: 'FINISHED', at: 0 } });
  const other = { record: ended, arguments: ['--input=b'] };
  assert.equal(decide(other).type, 'empty');
  refused(decide({ ...other, occupiedOutput: '/out' }), 'OUTPUT_NOT_EMPTY', /\/out/, /--append/);
  assert.equal(decide({ ...other, occupiedOutput: '/out', append: true }).type, 'empty');
});

test('--fresh into the output of an ended run needs --append', () => {
  const ended = record([5], { ended: { status: 'CANCELED', at: 0 } });
  const fresh = { record: ended, fresh: true, occupiedOutput: '/out' };
  refused(decide(fresh), 'OUTPUT_NOT_EMPTY', /still in \/out/);
  assert.equal(decide({ ...fresh, append: true }).type, 'empty');
});

test('two runs of one id at once: the second is refused, whatever it asks for', () => {
  for (const asked of [{}, { fresh: true }, { restorePath: '/s' }])
    refused(
      decide({ ...asked, record: record([5]), runningOwner: 'process 7 on this machine' }),
      'JOB_ALREADY_RUNNING',
      /process 7 on this machine/,
      /--job-id/,
    );
});

test('a start from an older snapshot than the newest is told to repeat results', () => {
  const known = record([6, 7]);
  const [restore, resumed] = [{ type: 'restore' }, { type: 'resume' }] as const;
  assert.match(olderWarning(restore, 5, known) ?? '', /checkpoint 7 after 5.*may come again/);
  assert.equal(olderWarning(restore, 7, known), null);
  assert.equal(olderWarning(restore, 8, known), null, 'a savepoint that ended the run');
  assert.equal(olderWarning(restore, 5, undefined), null);
  assert.equal(olderWarning(resumed, 5, known), null);
});
