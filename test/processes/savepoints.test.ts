/** Savepoints of real processes, and what goes wrong with them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { place } from './weir.ts';
import type { Ended, Place, Weir } from './weir.ts';
import {
  assertExact,
  checkpointAfter,
  checkpointDirectory,
  newestCheckpoint,
  someText,
  startWords,
  wordsCommand,
} from './words.ts';

/** So slow that the job never ends by itself while a test operates it. */
const RATE = 500;
const LINES = 30_000;
const NEVER = ['-Dexecution.checkpointing.interval=1h'];
/** All state in files. */
const IN_FILES = ['-Dexecution.checkpointing.data-inline-threshold=0'];

/** The word count, once it has completed a checkpoint. */
async function running(
  at: Place,
  options: readonly string[] = [],
): Promise<{ readonly weir: Weir; readonly jobId: string }> {
  at.write('input.txt', someText(LINES));
  const weir = startWords(at, { rate: RATE, options });
  if (options === NEVER) await weir.said(/running for/);
  else await checkpointAfter(at, weir, 0);
  const { out } = await at.run(['list']);
  return { weir, jobId: /[0-9a-f]{32}/.exec(out)?.[0] ?? '' };
}

/** Goes on at full speed from a snapshot, by default the newest checkpoint; checks the results. */
async function finish(at: Place, path?: string): Promise<void> {
  const from = path ?? checkpointDirectory(at, newestCheckpoint(at));
  const { code, output } = await startWords(at, { options: ['-s', from] }).ended;
  assert.equal(code, 0, output);
  assertExact(at);
}

function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function pathIn({ out }: Ended): string {
  return /Path: file:(.+)/.exec(out)?.[1] ?? '';
}

/** A job that is stopped with a savepoint; the path of that. */
async function stopped(at: Place): Promise<{ readonly path: string; readonly jobId: string }> {
  const { weir, jobId } = await running(at);
  const stop = await at.run(['stop', '-p', at.path('sp'), jobId]);
  assert.equal(stop.code, 0, stop.output);
  assert.equal((await weir.ended).code, 0, weir.output);
  return { path: pathIn(stop), jobId };
}

test('kill -9 in the middle of a savepoint leaves none that would be taken for one', async (t) => {
  const at = place(t);
  const { weir, jobId } = await running(at, IN_FILES);
  const savepoint = at.start(['savepoint', jobId, at.path('sp')]);
  await weir.until('a folder for it', () => namesIn(at.path('sp')).length > 0);
  await weir.kill();
  assert.equal((await savepoint.ended).code === 0, /Path: /.test(savepoint.output));
  const [name = ''] = readdirSync(at.path('sp'));
  if (!existsSync(at.path('sp', name, '_metadata'))) {
    const refused = await at.run(['run', '-s', at.path('sp', name), ...wordsCommand(at).slice(1)]);
    assert.equal(refused.code, 2, refused.output);
    assert.match(refused.err, /(is not complete|nothing at)/);
  }
  await finish(at);
  const left = readdirSync(at.path('sp'));
  for (const one of left)
    assert.ok(existsSync(at.path('sp', one, '_metadata')), 'the next run has removed what is half');
});

test('kill -9 in the middle of a stop, and a start goes on from the newest state', async (t) => {
  const at = place(t);
  const { weir, jobId } = await running(at, IN_FILES);
  const stop = at.start(['stop', '-p', at.path('sp'), jobId]);
  await weir.until('a folder for it', () => namesIn(at.path('sp')).length > 0);
  const { signal } = await weir.kill();
  await stop.ended;
  // The stop may have been quicker than the kill.
  const [name = ''] = readdirSync(at.path('sp'));
  await finish(at, signal === null ? at.path('sp', name) : undefined);
});

test('of two stops one stops the job, and the other is told so', async (t) => {
  const at = place(t);
  const { weir, jobId } = await running(at);
  const both = await Promise.all([
    at.run(['stop', '-p', at.path('sp'), jobId]),
    at.run(['stop', '-p', at.path('sp'), jobId]),
  ]);
  assert.equal(both.filter(({ code }) => code === 0).length, 1);
  const unfinished = readdirSync(at.path('output')).filter((name) => name.startsWith('.'));
  assert.deepEqual(unfinished, [], 'what the job is stopped with is published');
  const late = both.find(({ code }) => code === 1)?.err ?? '';
  assert.match(late, /being stopped with a savepoint|not every task|not running|does not answer/);
  assert.equal((await weir.ended).code, 0);
  const [name] = readdirSync(at.path('sp'));
  const third = await at.run(['stop', '-p', at.path('sp'), jobId]);
  assert.match(third.err, new RegExp(`it is FINISHED, stopped with the savepoint .*${name}`));
});

test('while one version runs the next does not write beside it [R016]', async (t) => {
  const at = place(t);
  const { weir, jobId } = await running(at);
  const savepoint = pathIn(await at.run(['savepoint', jobId, at.path('sp')]));
  const [, ...words] = wordsCommand(at);
  const second = await at.run(['run', '-s', savepoint, ...words]);
  assert.equal(second.code, 3, second.output);
  assert.match(second.err, /JOB_ALREADY_RUNNING\]: job .* is running already/);
  const last = pathIn(await at.run(['stop', '-p', at.path('sp'), jobId]));
  assert.equal((await weir.ended).code, 0);
  await finish(at, last);
});

test('savepoints and checkpoints asked for at once are all taken', async (t) => {
  const at = place(t);
  const { weir, jobId } = await running(at);
  const all = await Promise.all([
    at.run(['savepoint', jobId, at.path('sp')]),
    at.run(['checkpoint', jobId]),
    at.run(['savepoint', jobId, `file://${at.path('sp')}`]),
    at.run(['savepoint', '--type', 'native', jobId, 'sp']),
  ]);
  assert.deepEqual(
    all.map(({ code }) => code),
    [0, 0, 0, 0],
    all.map(({ output }) => output).join('\n'),
  );
  assert.equal(readdirSync(at.path('sp')).length, 3);
  await weir.kill();
  await finish(at);
});

/** A small disk of its own in a folder; `null` where that is not permitted. */
function disk(at: Place, folder: string): ((options: string) => void) | null {
  mkdirSync(folder);
  try {
    const size = ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', folder];
    execFileSync('mount', size, { stdio: 'ignore' });
  } catch {
    return null;
  }
  at.atEnd(() => execFileSync('umount', [folder]));
  return (options) => execFileSync('mount', ['-o', `remount,${options}`, folder]);
}

test('a savepoint onto a full or read-only disk fails alone, with the reason', async (t) => {
  const at = place(t);
  const folder = at.path('disk');
  const remount = disk(at, folder);
  const { weir, jobId } = await running(at, IN_FILES);
  if (remount === null) {
    // Where no disk may be mounted, at least a folder that cannot be one.
    const { err } = await at.run(['savepoint', jobId, at.path('input.txt')]);
    assert.match(err, /a part of the path is a file/);
    return;
  }
  const filler = join(folder, 'filler');
  try {
    writeFileSync(filler, Buffer.alloc(1024 * 1024));
  } catch {
    // As much as there was room for.
  }
  const full = await at.run(['savepoint', jobId, folder]);
  assert.equal(full.code, 1, full.output);
  assert.match(full.err, /disk\/savepoint-.*the disk is full \(ENOSPC\)/);
  const stop = await at.run(['stop', '-p', folder, jobId]);
  assert.equal(stop.code, 1, stop.output);
  assert.match(stop.err, /the disk is full \(ENOSPC\)/);
  rmSync(filler);
  assert.deepEqual(readdirSync(folder), [], 'nothing is left of them');
  remount('ro');
  const readOnly = await at.run(['savepoint', jobId, folder]);
  assert.match(readOnly.err, /cannot create the folder .*disk.*read-only.*\(EROFS\)/);
  remount('rw');
  const taken = await at.run(['savepoint', jobId, folder]);
  assert.equal(taken.code, 0, taken.output);
  cpSync(pathIn(taken), at.path('kept'), { recursive: true });
  assert.equal((await at.run(['inspect', at.path('kept')])).code, 0);
  assert.doesNotMatch(weir.output, /restarting/);
  assert.ok(!weir.isOver, weir.output);
  await weir.kill();
  await finish(at);
});

test('a stop whose savepoint is made and whose results cannot be published names it', async (t) => {
  const at = place(t);
  const { weir, jobId } = await running(at, NEVER);
  renameSync(at.path('output'), at.path('aside'));
  const { code, err, output } = await at.run(['stop', '-p', at.path('sp'), jobId]);
  assert.equal(code, 1, output);
  const [name = ''] = readdirSync(at.path('sp'));
  assert.match(err, new RegExp(`STOP_INCOMPLETE: .*complete in .*${name}, but the job did not`));
  const ended = await weir.ended;
  assert.equal(ended.code, 1);
  assert.match(ended.err, new RegExp(`STOP_INCOMPLETE.*${name}`, 's'));
  renameSync(at.path('aside'), at.path('output'));
  await finish(at, at.path('sp', name));
});

test('a savepoint that is gone before the run has a checkpoint of its own is missed', async (t) => {
  const at = place(t);
  const { path } = await stopped(at);
  const command = (...options: readonly string[]): string[] =>
    wordsCommand(at, { rate: RATE, options: [...NEVER, ...options] });
  const second = at.start(command('-s', path));
  await second.said(/running for/);
  await second.kill();
  renameSync(path, at.path('moved'));
  const refused = await at.run(command());
  assert.equal(refused.code, 3, refused.output);
  assert.match(
    refused.err,
    /JOB_STATE_UNPROVEN\]: the run to be resumed was started from .*sp\/savepoint-.* no checkpoint/,
  );
  renameSync(at.path('moved'), path);
  await finish(at, path);
});

test('a folder of any name is found again by the path that is printed', async (t) => {
  const at = place(t);
  const { weir, jobId } = await running(at);
  const folder = at.path('50% ü 😀 %20');
  const stop = await at.run(['stop', '-p', folder, jobId]);
  assert.equal(stop.code, 0, stop.output);
  await weir.ended;
  const printed = /Path: (file:.+)/.exec(stop.out)?.[1] ?? '';
  assert.match(printed, /^file:\/.*50%25 ü 😀 %2520\/savepoint-/);
  await finish(at, printed);
  assert.equal((await at.run(['savepoint', '-d', printed])).code, 0);
  assert.deepEqual(readdirSync(folder), []);
});

test('-s behind the job file does not start it empty', async (t) => {
  const at = place(t);
  const { path } = await stopped(at);
  const { code, err } = await at.run([...wordsCommand(at), '-s', path]);
  assert.equal(code, 2);
  assert.match(err, /-s stands behind the job file .*Write it before: weir run -s PATH/);
});

test('a savepoint may go once the run that began with it has a checkpoint [I-71]', async (t) => {
  const at = place(t);
  const { path } = await stopped(at);
  const before = newestCheckpoint(at);
  const begun = startWords(at, { rate: RATE, options: ['-s', path] });
  await checkpointAfter(at, begun, before);
  rmSync(path, { recursive: true });
  await begun.kill();
  const resumed = startWords(at, { rate: RATE });
  await resumed.said(/resumes|goes on|from checkpoint/);
  await checkpointAfter(at, resumed, newestCheckpoint(at));
  await resumed.kill();
  await finish(at);
});

/** Keeps the last record of its only key: a number, or a text. */
function lastJob(at: Place, name: string, addition = ''): string {
  return at.job(
    name,
    `import { fileSource, job, lines, type, valueState } from '@weir/core';
export default job('last', (env) => {
  env.enableCheckpointing('100ms');
  const path = 'lines.txt';
  const rate = env.args.number('rate');
  env
    .fromSource(fileSource({ path, format: lines(), rate }), { uid: 'in' })
    .keyBy(() => 'all')
    .process({
      emits: type<string>(),
      state: { last: valueState<number | string>() },
      onElement(line, context) {
        const { last } = context.state;
        last.update(Number.isNaN(Number(line)) ? line : Number(line));
        context.emit(\`${'${line}'}${addition}\`);
      },
    })
    .uid('last')
    .print();
});
`,
  );
}

test('only other code is suspected when a state is given values of another kind', async (t) => {
  const at = place(t);
  const numbers = Array.from({ length: 100 }, (_, i) => `${i}\n`).join('');
  at.write('lines.txt', `${numbers}text\n`);
  const weir = at.start(['run', lastJob(at, 'last.ts'), '--rate=20']);
  await weir.said(/^3$/m);
  const { out } = await at.run(['list']);
  const stop = await at.run(['stop', '-p', 'sp', /[0-9a-f]{32}/.exec(out)?.[0] ?? '']);
  await weir.ended;
  const path = pathIn(stop);
  const rest = '--rate=100000';
  const other = lastJob(at, 'other.ts', '!');
  const suspected = await at.run(['run', '-s', path, other, rest]);
  assert.equal(suspected.code, 1, suspected.output);
  assert.match(suspected.err, /STATE_INCOMPATIBLE.*"last" of last: its values are number/);
  const same = await at.run(['run', '-s', path, at.path('last.ts'), rest]);
  assert.equal(same.code, 0, same.output);
  assert.match(same.out, /^text$/m);
});
