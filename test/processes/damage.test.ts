import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { completedCheckpoints } from '../../tools/exactly-once/weir-process.ts';
import { place } from './weir.ts';
import type { Ended, Place } from './weir.ts';
import {
  assertExact,
  checkpointAfter,
  checkpointDirectory,
  newestCheckpoint,
  someText,
  startWords,
} from './words.ts';

const RATE = 1000;
/** Three retained checkpoints, the state of each in files of its own. */
const OPTIONS = [
  '-Dexecution.checkpointing.num-retained=3',
  '-Dexecution.checkpointing.data-inline-threshold=0',
];

/** A run that was stopped with three checkpoints on disk; `again` puts everything back. */
async function stoppedRun(at: Place): Promise<{ newest: number; again: () => void }> {
  at.write('input.txt', someText(900));
  const weir = startWords(at, { rate: RATE, options: OPTIONS });
  await checkpointAfter(at, weir, 3);
  await weir.kill('SIGTERM');
  const newest = newestCheckpoint(at);
  const kept = ['data', 'output'];
  for (const name of kept) cpSync(at.path(name), at.path(`kept-${name}`), { recursive: true });
  const again = (): void => {
    for (const name of kept) {
      rmSync(at.path(name), { recursive: true, force: true });
      cpSync(at.path(`kept-${name}`), at.path(name), { recursive: true });
    }
  };
  return { newest, again };
}

function resume(at: Place, options: readonly string[] = []): Promise<Ended> {
  return startWords(at, { rate: RATE, options: [...OPTIONS, ...options] }).ended;
}

function assertRefused(ended: Ended, message: RegExp): void {
  assert.match(ended.err, message);
  assert.equal(ended.code, 3, ended.output);
  assert.equal(ended.out, '');
  assert.doesNotMatch(ended.err, /^\s+at /m);
}

function flipByte(path: string): Buffer {
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = bytes[at]! ^ 0x10;
  writeFileSync(path, bytes);
  return bytes;
}

/** The largest data file of a checkpoint. */
function dataFile(directory: string): string {
  const files = readdirSync(directory).filter((name) => name !== '_metadata');
  const [largest] = files.toSorted(
    (a, b) => statSync(join(directory, b)).size - statSync(join(directory, a)).size,
  );
  assert.ok(largest !== undefined, `${directory} has no data file`);
  return join(directory, largest);
}

test('a damaged checkpoint is refused with file, checksums and an older one [R011]', async (t) => {
  const at = place(t);
  const { newest, again } = await stoppedRun(at);
  for (const fileOf of [(directory: string) => join(directory, '_metadata'), dataFile]) {
    again();
    const file = fileOf(checkpointDirectory(at, newest));
    const damaged = flipByte(file);
    assertRefused(
      await resume(at),
      new RegExp(
        `JOB_STATE_UNPROVEN\\]: .*checkpoint ${newest} is damaged: .*${file}.*checksum ` +
          `[0-9a-f]{8}.*[0-9a-f]{8}.*an older one is good: ` +
          `checkpoint ${newest - 1} .*allow-older=true`,
      ),
    );
    assert.deepEqual(readFileSync(file), damaged);

    const allowed = await resume(at, ['-Dexecution.state-recovery.allow-older=true']);
    assert.equal(allowed.code, 0, allowed.output);
    assert.match(
      allowed.out,
      new RegExp(
        `resumes from checkpoint ${newest - 1} .*NOT the newest: ` +
          `checkpoint ${newest} is damaged.*may repeat`,
      ),
    );
    assert.deepEqual(readFileSync(file), damaged, 'damaged snapshots are evidence and stay');
    // Nothing was published after the older checkpoint, so nothing repeats.
    assertExact(at);
  }
});

test('a newest checkpoint missing or cut short is not passed over in silence', async (t) => {
  const at = place(t);
  const { newest, again } = await stoppedRun(at);
  const directory = (): string => checkpointDirectory(at, newest);

  again();
  rmSync(directory(), { recursive: true });
  assertRefused(await resume(at), new RegExp(`JOB_STATE_UNPROVEN.*checkpoint ${newest} .*missing`));

  again();
  const metadata = readFileSync(join(directory(), '_metadata'));
  writeFileSync(join(directory(), '_metadata'), metadata.subarray(0, metadata.length / 2));
  assertRefused(
    await resume(at),
    new RegExp(`JOB_STATE_UNPROVEN.*checkpoint ${newest} is damaged`),
  );

  again();
  rmSync(dataFile(directory()));
  assertRefused(await resume(at), new RegExp(`JOB_STATE_UNPROVEN.*checkpoint ${newest}.*`));

  // Of a checkpoint that never completed nobody was told: it is as if it had not begun.
  again();
  const half = checkpointDirectory(at, newest + 1);
  cpSync(directory(), half, { recursive: true });
  rmSync(join(half, '_metadata'));
  writeFileSync(join(half, '._metadata.0123'), metadata.subarray(0, 10));
  const { code, output } = await resume(at);
  assert.equal(code, 0, output);
  assert.match(output, new RegExp(`resumes from checkpoint ${newest} `));
  assertExact(at);
});

test('without the record of runs the last state is not guessed [R097]', async (t) => {
  const at = place(t);
  const { newest, again } = await stoppedRun(at);
  rmSync(at.path('data/jobs'), { recursive: true });
  assertRefused(
    await resume(at),
    new RegExp(
      'JOB_STATE_UNPROVEN\\]: .*cannot be proven; found in storage: ' +
        `.*checkpoint ${newest} \\(completed .*-s PATH.*--fresh`,
    ),
  );
  // The user may say which.
  const named = await resume(at, ['-s', checkpointDirectory(at, newest)]);
  assert.equal(named.code, 0, named.output);
  assert.match(named.out, new RegExp(`starts from checkpoint ${newest} `));
  assertExact(at);

  again();
  const records = at.path('data/jobs', readdirSync(at.path('data/jobs'))[0]!);
  const record = readdirSync(records).findLast((name) => name.endsWith('.record'));
  flipByte(join(records, record!));
  assertRefused(
    await resume(at),
    /STATE_CORRUPT\]: the job record .*\.record is damaged: expected/,
  );
});

const OTHER_JOB = `import { datagen, job } from '@weir/core';
export default job('other', (env) => {
  env.enableCheckpointing('50ms');
  env.fromSource(datagen({ generator: (index) => index, rate: 100 }), { uid: 'numbers' })
    .filter(() => false).uid('none').print().uid('printed');
});
`;

test('a snapshot of another job is refused, unless what is not restored is allowed', async (t) => {
  const at = place(t);
  const job = at.job('other.ts', OTHER_JOB);
  const dataDirectory = at.path('other');
  const other = at.start(['run', job], { dataDirectory });
  await other.until('a checkpoint', () => completedCheckpoints(dataDirectory).length > 0);
  await other.kill('SIGTERM');
  const [folder] = readdirSync(at.path('other/checkpoints'));
  const id = completedCheckpoints(dataDirectory).at(-1);
  const snapshot = at.path('other/checkpoints', folder!, `chk-${id}`);
  at.write('input.txt', someText(10));
  const refused = await startWords(at, { options: ['-s', snapshot] }).ended;
  assert.equal(refused.code, 3, refused.err);
  assert.match(refused.err, /STATE_INCOMPATIBLE\]: /);
  assert.match(refused.err, /another job|no operator/);
  assert.equal(refused.out, '');
  assert.ok(!existsSync(at.path('output')));
  // With -n the user has said that nothing of it is wanted: every operator dropped is named.
  const allowed = await startWords(at, { options: ['-n', '-s', snapshot] }).ended;
  assert.equal(allowed.code, 0, allowed.err);
  assert.match(allowed.err, /the state of operator "numbers" .* is dropped/);
  assertExact(at);
});
