import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { finishedFiles } from '../../tools/exactly-once/recount.ts';
import { place } from './weir.ts';
import type { Ended } from './weir.ts';
import {
  assertExact,
  checkpointAfter,
  checkpointDirectory,
  newestCheckpoint,
  someText,
  startWords,
} from './words.ts';

/** A mistake of the user is answered by one line with its code, and no stack trace. */
function assertRefused(ended: Ended, exitCode: number, message: RegExp): void {
  assert.match(ended.err, message);
  assert.equal(ended.code, exitCode, ended.output);
  assert.doesNotMatch(ended.err, /^\s+at /m);
}

test('SIGTERM and SIGINT suspend a run, each with its exit code; a start resumes', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  for (const [signal, exitCode] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    const weir = startWords(at, { rate: 1000 });
    await checkpointAfter(at, weir, newestCheckpoint(at));
    const { code, output } = await weir.kill(signal);
    assert.equal(code, exitCode, output);
    assert.match(output, /state is kept in .*chk-\d+\nresume with: weir run -p 2/);
  }
  const { code, output } = await startWords(at, { rate: 1000 }).ended;
  assert.equal(code, 0, output);
  assert.match(output, /resumes from checkpoint/);
  assertExact(at);
});

test('a second run of a job is refused while the first lives, not after its kill', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  // So slow that it does not end while the others try.
  const rate = 20;
  const first = startWords(at, { rate });
  await checkpointAfter(at, first, 0);
  const second = await startWords(at, { rate }).ended;
  assertRefused(second, 3, /^Error \[JOB_ALREADY_RUNNING\]: .*process \d+ on this machine/);
  assert.ok(second.err.includes(`process ${first.pid} `), second.err);
  // --fresh and -s are no way around it.
  for (const options of [['--fresh'], ['-s', at.path('data')]]) {
    const { code, err } = await startWords(at, { rate, options }).ended;
    assert.equal(code, 3, err);
    assert.match(err, /JOB_ALREADY_RUNNING/);
  }
  await first.kill();
  const third = startWords(at, { rate });
  await third.said(/resumes from checkpoint/);
});

test('of runs started at the same instant exactly one runs', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(500));
  for (let round = 0; round < 2; round++) {
    const job = ['--job-id', String(round).repeat(32)];
    const output = at.path(`output-${round}`);
    const started = Array.from({ length: 3 }, () =>
      startWords(at, { rate: 1000, output, options: job }),
    );
    const ended = await Promise.all(started.map((weir) => weir.ended));
    const ran = ended.filter(({ out }) => out.includes('starts empty'));
    assert.equal(ran.length, 1, ended.map((one) => one.output).join(''));
    assert.equal(ran[0]?.code, 0);
    for (const { code, output: told } of ended.filter((one) => !ran.includes(one)))
      assert.match(`${code} ${told}`, /^3 .*JOB_ALREADY_RUNNING|^0 .*already finished/);
    assertExact(at, output);
  }
});

test('a run that has finished is not run again, and its output stays as it is', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(300));
  assert.equal((await startWords(at).ended).code, 0);
  const files = readdirSync(at.path('output'));
  const again = await startWords(at).ended;
  assert.equal(again.code, 0, again.output);
  assert.match(again.output, /already finished; use --fresh/);
  assert.deepEqual(readdirSync(at.path('output')), files);

  const fresh = await startWords(at, { options: ['--fresh'] }).ended;
  assertRefused(fresh, 3, /OUTPUT_NOT_EMPTY.*--append/);
  assertExact(at);

  const appended = await startWords(at, { options: ['--fresh', '--append'] }).ended;
  assert.equal(appended.code, 0, appended.output);
  assert.match(appended.output, /fresh start/);
  assertExact(at, at.path('output'), 2);
});

test('a run with other arguments than the one to be resumed is refused', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  const first = startWords(at, { rate: 1000 });
  await checkpointAfter(at, first, 0);
  await first.kill();
  const other = await startWords(at, { rate: 999 }).ended;
  assertRefused(other, 3, /JOB_ARGUMENTS_CHANGED.*--rate=1000.*--rate=999/);
  // Another id is another run.
  const options = ['--job-id', 'ab'.repeat(16)];
  const output = at.path('elsewhere');
  const apart = await startWords(at, { options, output }).ended;
  assert.equal(apart.code, 0, apart.output);
  assertExact(at, output);
  const same = await startWords(at, { rate: 1000 }).ended;
  assert.equal(same.code, 0, same.output);
  assertExact(at);
});

test('the first line names the snapshot of a start, or that it is ignored [R100]', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  const first = startWords(at, { rate: 1000 });
  await checkpointAfter(at, first, 0);
  await first.kill();
  const newest = newestCheckpoint(at);
  const resumed = startWords(at, { rate: 1000 });
  await checkpointAfter(at, resumed, newest);
  const second = await resumed.kill();
  assert.match(
    second.out,
    new RegExp(
      `^job word-count: resumes from checkpoint ${newest} .*chk-${newest}, .* old\\); lines`,
    ),
  );
  const fresh = await startWords(at, { rate: 1000, options: ['--fresh'] }).ended;
  assert.equal(fresh.code, 0, fresh.output);
  assert.match(fresh.out, /^job word-count: fresh start, ignoring checkpoint \d+ \(.*\)\n/);
});

test('checkpoint ids only rise, over --fresh and -s', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  const first = startWords(at, { rate: 1000 });
  const newest = await checkpointAfter(at, first, 1);
  await first.kill();

  const fresh = startWords(at, { rate: 1000, options: ['--fresh'] });
  const afterFresh = await checkpointAfter(at, fresh, newest);
  const { output } = await fresh.kill();
  assert.match(output, /fresh start, ignoring checkpoint/);

  const snapshot = checkpointDirectory(at, newestCheckpoint(at));
  const restored = startWords(at, { rate: 1000, options: ['-s', snapshot] });
  await checkpointAfter(at, restored, afterFresh);
  const { code, out } = await restored.ended;
  assert.equal(code, 0, out);
  assert.match(out, /^job word-count: starts from checkpoint \d+ /);
  assertExact(at);
});

test('the same snapshot can be started from more than once with -s', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  const first = startWords(at, { rate: 1000 });
  await checkpointAfter(at, first, 0);
  await first.kill();
  const snapshot = checkpointDirectory(at, newestCheckpoint(at));
  for (const id of ['b', 'c']) {
    const options = ['-s', snapshot, '--job-id', id.repeat(32)];
    const { code, output } = await startWords(at, { output: at.path(id), options }).ended;
    assert.equal(code, 0, output);
    assert.match(output, /starts from checkpoint \d+ .*; lines at /);
    assert.ok(existsSync(join(snapshot, '_metadata')));
  }
  // What the snapshot promised is in the first run's output, once; each new run adds the rest.
  for (const id of ['b', 'c']) {
    for (const file of finishedFiles(at.path('output')))
      copyFileSync(file, join(at.path(id), `part-of-first-${basename(file)}`));
    assertExact(at, at.path(id));
  }
});

test('an input that grew meanwhile is read from where the run stopped [R004]', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  const first = startWords(at, { rate: 1000, parallelism: 1 });
  await checkpointAfter(at, first, 0);
  await first.kill();
  appendFileSync(at.path('input.txt'), 'late late\n');
  const { code, output } = await startWords(at, { rate: 1000, parallelism: 1 }).ended;
  assert.equal(code, 0, output);
  assertExact(at);
});
