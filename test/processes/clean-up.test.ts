import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../packages/core/src/base/random.ts';
import { completedCheckpoints } from '../../tools/exactly-once/weir-process.ts';
import { place } from './weir.ts';
import type { Place } from './weir.ts';
import {
  assertExact,
  checkpointAfter,
  checkpointDirectory,
  newestCheckpoint,
  someText,
  startWords,
} from './words.ts';
import type { WordsOptions } from './words.ts';

/** Names in the folder of checkpoints of the only job. */
function checkpointNames(at: Place): string[] {
  const [job] = readdirSync(join(at.dataDirectory, 'checkpoints'));
  return readdirSync(join(at.dataDirectory, 'checkpoints', job!)).toSorted((a, b) =>
    a < b ? -1 : 1,
  );
}

test('after kills and an end the disk holds results and nothing else [R076]', async (t) => {
  const at = place(t);
  const random = seededRandom(3);
  at.write('input.txt', someText(1500));
  mkdirSync(at.path('tmp'));
  const options: WordsOptions = {
    rate: 1000,
    options: ['-Dexecution.checkpointing.data-inline-threshold=0'],
    env: { TMPDIR: at.path('tmp') },
  };
  for (let kill = 0; kill < 6; kill++) {
    const before = newestCheckpoint(at);
    const weir = startWords(at, { ...options, parallelism: 1 + random.int(3) });
    await checkpointAfter(at, weir, before);
    await sleep(random.int(200));
    await weir.kill();
  }
  const { code, output } = await startWords(at, options).ended;
  assert.equal(code, 0, output);
  assertExact(at);
  const unfinished = readdirSync(at.path('output')).filter((name) => !name.startsWith('part-'));
  assert.deepEqual(unfinished, []);
  // A run that finished keeps no checkpoint; its record stays.
  assert.deepEqual(checkpointNames(at), ['shared', 'taskowned']);
  const jobs = readdirSync(at.path('data/jobs'));
  assert.equal(jobs.length, 1);
  const records = readdirSync(at.path('data/jobs', jobs[0]!));
  assert.deepEqual(
    records.filter((name) => !/^(\d{12}\.record|lease)$/.test(name)),
    [],
  );
  assert.ok(records.length <= 8 + 2, `${records.length} records for 7 runs`);
  assert.deepEqual(readdirSync(at.path('tmp')), []);
});

test('what is on disk after a kill is what retained checkpoints refer to [R103]', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(1500));
  const options = [
    '-Dexecution.checkpointing.interval=20ms',
    '-Dexecution.checkpointing.data-inline-threshold=0',
  ];
  const first = startWords(at, { rate: 500, options });
  await checkpointAfter(at, first, 50);
  await first.kill();
  // A stranger's file in the folder of a checkpoint that will go, and another beside it.
  const old = checkpointDirectory(at, newestCheckpoint(at));
  const strange = at.write(`${old.slice(at.folder.length)}/notes.txt`, 'mine');
  const second = startWords(at, { rate: 500, options });
  await second.said(/resumes from checkpoint/);
  await second.said(new RegExp(`not deleted, since Weir did not write it: ${strange}`));
  await second.kill('SIGTERM');
  assert.ok(existsSync(strange));
  const newest = newestCheckpoint(at);
  const chk = (id: number): string => `chk-${id}`;
  assert.deepEqual(
    checkpointNames(at)
      .filter((name) => name.startsWith('chk-'))
      .toSorted(),
    [old.split('/').at(-1)!, chk(newest)].toSorted(),
  );
  assert.deepEqual(completedCheckpoints(at.dataDirectory), [newest]);
});

test('a retained snapshot outlives a run that started from it [R104]', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  const a = startWords(at, { rate: 1000 });
  await checkpointAfter(at, a, 1);
  await a.kill('SIGTERM');
  const snapshot = checkpointDirectory(at, newestCheckpoint(at));
  const before = readdirSync(snapshot);
  // B takes many checkpoints of its own and is ended; C starts from the same snapshot afterwards.
  const b = startWords(at, {
    output: at.path('b'),
    rate: 400,
    options: [
      '-s',
      snapshot,
      '--job-id',
      'b'.repeat(32),
      '-Dexecution.checkpointing.interval=20ms',
    ],
  });
  assert.equal((await b.ended).code, 0, b.output);
  assert.ok(Number(/finished after .*: (\d+) checkpoints/.exec(b.output)?.[1]) > 3, b.output);
  assert.deepEqual(readdirSync(snapshot), before);
  const c = startWords(at, {
    output: at.path('c'),
    options: ['-s', snapshot, '--job-id', 'c'.repeat(32)],
  });
  assert.equal((await c.ended).code, 0, c.output);
  assert.match(c.output, /starts from checkpoint/);
});
