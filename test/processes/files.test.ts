import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { compareOutput, finishedFiles, recount } from '../../tools/exactly-once/recount.ts';
import { place } from './weir.ts';
import type { Place, Weir } from './weir.ts';
import { assertExact, checkpointAfter, newestCheckpoint, someText, startWords } from './words.ts';

const RATE = 1000;

/** Rolls a part file at each checkpoint and at a size, so there are pending and finished ones. */
function rollingJob(at: Place, rolling: string): string {
  return at.job(
    'rolling.ts',
    `import { basePath, fileSink, fileSource, job, lines } from '@weir/core';
export default job('rolling', (env) => {
  env.enableCheckpointing('100ms');
  const format = lines();
  const rolling = ${rolling};
  env.fromSource(fileSource({ path: 'input.txt', format, rate: ${RATE} }), { uid: 'lines' })
    .sinkTo(fileSink({ path: 'output', format, bucket: basePath(), rolling })).uid('out');
});
`,
  );
}

function numbers(count: number): string {
  return Array.from({ length: count }, (_, index) => `${index}\n`).join('');
}

function outputNumbers(at: Place): number[] {
  return finishedFiles(at.path('output'))
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map(Number)
    .toSorted((a, b) => a - b);
}

function unfinished(at: Place): string[] {
  return readdirSync(at.path('output'))
    .filter((name) => name.startsWith('.'))
    .map((name) => join(at.path('output'), name));
}

test('a file open over many checkpoints is restored though few are retained [R074]', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(2000));
  const options = ['-Dexecution.checkpointing.interval=20ms'];
  const weir = startWords(at, { rate: RATE, options });
  await checkpointAfter(at, weir, 40);
  // The same unfinished files as at the start, held by each checkpoint since.
  assert.ok(unfinished(at).length > 0);
  assert.deepEqual(finishedFiles(at.path('output')), []);
  await weir.kill();
  const { code, output } = await startWords(at, { rate: RATE, options }).ended;
  assert.equal(code, 0, output);
  assertExact(at);
});

test('a rerun publishes the same content once, and orphans are never seen [R076]', async (t) => {
  const at = place(t);
  const count = 1200;
  at.write('input.txt', numbers(count));
  const job = rollingJob(at, '{ onCheckpoint: true }');
  const seen = new Map<string, string>();
  /** Finished files never change and never go. */
  const look = (): void => {
    for (const path of existsSync(at.path('output')) ? finishedFiles(at.path('output')) : []) {
      const text = readFileSync(path, 'utf8');
      assert.equal(seen.get(path) ?? text, text, `${path} has changed`);
      seen.set(path, text);
    }
    for (const path of seen.keys()) assert.ok(existsSync(path), `${path} is gone`);
  };
  for (let kills = 0; kills < 4; kills++) {
    const before = newestCheckpoint(at);
    const weir = at.start(['run', '-p', '2', job]);
    await checkpointAfter(at, weir, before);
    await weir.kill();
    look();
    const values = outputNumbers(at);
    assert.equal(new Set(values).size, values.length, 'nothing is published twice');
  }
  const { code, output } = await at.run(['run', '-p', '2', job]);
  assert.equal(code, 0, output);
  look();
  assert.deepEqual(
    outputNumbers(at),
    Array.from({ length: count }, (_, index) => index),
  );
  assert.deepEqual(unfinished(at), []);
});

test('a job without checkpoints publishes at its end, nothing when killed [R077]', async (t) => {
  const at = place(t);
  at.write('input.txt', numbers(1000));
  const job = at.job(
    'plain.ts',
    readFileSync(rollingJob(at, '{}'), 'utf8').replace("env.enableCheckpointing('100ms');", ''),
  );
  const weir = at.start(['run', job]);
  await weir.until('an unfinished file', () => existsSync(at.path('output')));
  await weir.kill();
  assert.deepEqual(outputNumbers(at), []);
  const { code, output } = await at.run(['run', job]);
  assert.equal(code, 0, output);
  assert.deepEqual(
    outputNumbers(at),
    Array.from({ length: 1000 }, (_, index) => index),
  );
});

/** A run that is killed while the newest checkpoint holds unfinished files. */
async function killedRolling(at: Place): Promise<{ job: string; open: string[] }> {
  at.write('input.txt', numbers(1500));
  const job = rollingJob(at, '{ maxSizeBytes: 700 }');
  const weir: Weir = at.start(['run', job]);
  await checkpointAfter(at, weir, 1);
  await weir.kill('SIGTERM');
  const open = unfinished(at);
  assert.ok(open.length > 0);
  return { job, open };
}

test('a restore whose files are gone or changed is refused, changing nothing [R112]', async (t) => {
  const at = place(t);
  const { job, open } = await killedRolling(at);
  const before = readdirSync(at.path('output')).toSorted();
  const aside = (path: string): void => renameSync(path, at.path('aside'));
  const back = (path: string): void => renameSync(at.path('aside'), path);

  // Of the unfinished ones at least one is part of the checkpoint.
  const refusals: string[] = [];
  for (const path of open) {
    aside(path);
    const { code, err } = await at.run(['run', job]);
    if (code === 2) {
      refusals.push(err);
      assert.match(
        err,
        /SINK_UNAVAILABLE\]: sink [\w-]+: fileSink is missing .*output\/part-.*put the file back/,
      );
    }
    back(path);
    if (code === 0) return assert.fail(`the run went on without ${path}`);
    assert.deepEqual(readdirSync(at.path('output')).toSorted(), before);
  }
  assert.equal(refusals.length, open.length);

  const [first] = open;
  const whole = readFileSync(first!);
  truncateSync(first!, 1);
  const cut = await at.run(['run', job]);
  assert.equal(cut.code, 2, cut.output);
  assert.match(
    cut.err,
    /SINK_UNAVAILABLE\]: sink [\w-]+: fileSink finds .* with 1 bytes where .* wrote \d+/,
  );
  rmSync(first!);
  at.write(first!.slice(at.folder.length), whole);

  const { code, output } = await at.run(['run', job]);
  assert.equal(code, 0, output);
  assert.deepEqual(
    outputNumbers(at),
    Array.from({ length: 1500 }, (_, index) => index),
  );
});

test('input that shrank or vanished is refused, and read when it is back', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  const text = readFileSync(at.path('input.txt'));
  const weir = startWords(at, { rate: RATE, parallelism: 1 });
  await checkpointAfter(at, weir, 1);
  await weir.kill();
  const again = (): Weir => startWords(at, { rate: RATE, parallelism: 1 });

  truncateSync(at.path('input.txt'), 20);
  const shrunk = await again().ended;
  assert.equal(shrunk.code, 2, shrunk.output);
  assert.match(
    shrunk.err,
    /SOURCE_UNAVAILABLE\]: .*input\.txt: it had \d+ bytes when .* now ends after 20/,
  );
  rmSync(at.path('input.txt'));
  const gone = await again().ended;
  assert.equal(gone.code, 2, gone.output);
  assert.match(gone.err, /SOURCE_UNAVAILABLE\]: .*input\.txt.*gone/);
  at.write('input.txt', text);
  const { code, output } = await again().ended;
  assert.equal(code, 0, output);
  assertExact(at);
});

test('input that grows while it is read loses and repeats nothing', async (t) => {
  const at = place(t);
  const text = someText(600);
  at.write('input.txt', text);
  const weir = startWords(at, { rate: RATE, parallelism: 1 });
  let newest = 0;
  for (let times = 0; times < 3; times++) {
    newest = await checkpointAfter(at, weir, newest);
    appendFileSync(at.path('input.txt'), 'later later\n');
  }
  const { code, output } = await weir.ended;
  assert.equal(code, 0, output);
  // What comes after the end was seen is not part of the input: how much that is, is open.
  const grown = readFileSync(at.path('input.txt'), 'utf8');
  const { duplicated, unexpected, lost } = compareOutput(at.path('output'), recount(grown));
  assert.deepEqual({ duplicated, unexpected }, { duplicated: 0, unexpected: 0 });
  assert.ok(lost <= 6 && lost % 2 === 0, `${lost} lost`);
  assert.equal(compareOutput(at.path('output'), recount(text)).lost, 0);
});

test('paths with spaces, other scripts and symbolic links work, also over a kill', async (t) => {
  const at = place(t);
  const text = someText(700);
  at.write('input.txt', text);
  const odd = 'Ein Ordner für 数据 & $HOME (1)';
  at.write(`${odd}/real/in put.txt`, text);
  mkdirSync(at.path(odd, 'real/out'));
  symlinkSync(at.path(odd, 'real'), at.path(odd, 'link'));
  const options = {
    rate: RATE,
    input: at.path(odd, 'link/in put.txt'),
    output: at.path(odd, 'link/out'),
    dataDirectory: at.path(odd, 'link/data folder'),
    cwd: at.path(odd),
  };
  const weir = startWords(at, options);
  const root = join(options.dataDirectory, 'checkpoints');
  await weir.until(
    'a checkpoint',
    () =>
      existsSync(root) &&
      readdirSync(root, { recursive: true }).some((name) => String(name).endsWith('_metadata')),
  );
  await weir.kill();
  const { code, output } = await startWords(at, options).ended;
  assert.equal(code, 0, output);
  assert.match(output, /resumes from checkpoint/);
  assertExact(at, at.path(odd, 'real/out'));
  assert.ok(statSync(at.path(odd, 'real/data folder')).isDirectory());
});
