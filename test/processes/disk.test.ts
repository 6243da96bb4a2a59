import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
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

const RATE = 1000;
const TOLERANT = ['-Dexecution.checkpointing.tolerable-failed-checkpoints=2'];

/** A small disk of its own, where that is permitted; else null. */
function smallDisk(at: Place, folder: string): { fill: () => void; free: () => void } | null {
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return null;
  }
  at.atEnd(() => execFileSync('umount', [folder]));
  const filler = join(folder, 'filler');
  return {
    fill: () => {
      try {
        writeFileSync(filler, Buffer.alloc(1024 * 1024));
      } catch {
        // As much as there was room for.
      }
    },
    free: () => rmSync(filler),
  };
}

/** What is said of a checkpoint folder that is a file. */
const BLOCKED = new RegExp(
  String.raw`^Error \[\w+\]: .*(a part of the path is a file|there is nothing at)` +
    '.*data/checkpoints|data/checkpoints/.*a part of the path is a file',
  'm',
);

const DISK_FULL = new RegExp(
  String.raw`JOB_FAILED\]: .*3 checkpoints failed in a row.*cannot (write|create) .*data/.*` +
    String.raw`the disk is full \(ENOSPC\)`,
);

/** Where a disk cannot be mounted: the folder is a file for a while. */
function blocked(folder: string): { fill: () => void; free: () => void } {
  const aside = `${folder}.aside`;
  return {
    fill: () => {
      renameSync(folder, aside);
      writeFileSync(folder, '');
    },
    free: () => {
      rmSync(folder);
      renameSync(aside, folder);
    },
  };
}

/** Runs until checkpoints cannot be written any more, and again when they can. */
async function failAndResume(
  at: Place,
  trouble: { fill: () => void; free: () => void },
  message: RegExp,
): Promise<void> {
  const weir = startWords(at, { rate: RATE, options: TOLERANT });
  await checkpointAfter(at, weir, 0);
  trouble.fill();
  const failed = await weir.ended;
  assert.equal(failed.code, 1, failed.output);
  // A checkpoint of which nobody knows whether it was completed ends the job at once.
  if (!/unknown whether/.test(failed.err))
    assert.match(failed.err, /3 checkpoints failed in a row/);
  assert.match(failed.err, message);
  trouble.free();
  const resumed = await startWords(at, { rate: RATE, options: TOLERANT }).ended;
  assert.equal(resumed.code, 0, resumed.output);
  assert.match(resumed.out, /resumes from checkpoint/);
  assertExact(at);
}

test('a checkpoint folder that became a file is told with its path, nothing lost', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(1500));
  await failAndResume(at, blocked(at.path('data/checkpoints')), BLOCKED);
});

test('a full disk is told with path and reason, and with room the job resumes', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(1500));
  const disk = smallDisk(at, at.path('data'));
  await failAndResume(
    at,
    disk ?? blocked(at.path('data/checkpoints')),
    disk === null ? BLOCKED : DISK_FULL,
  );
});

test('checkpoint failures within the tolerance leave the job running', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(1500));
  const weir = startWords(at, { rate: RATE, options: TOLERANT });
  const newest = await checkpointAfter(at, weir, 0);
  // Files in place of the folders of two checkpoints to come.
  const inTheWay = [newest + 3, newest + 4].map((id) => checkpointDirectory(at, id));
  for (const path of inTheWay) writeFileSync(path, '');
  await weir.said(new RegExp(`Warning: checkpoint ${newest + 4} failed: .*${inTheWay[1]}`));
  await checkpointAfter(at, weir, newest + 4);
  const { code, output } = await weir.ended;
  assert.equal(code, 0, output);
  assert.doesNotMatch(output, /restarting/);
  assertExact(at);
});

test('a data folder deleted while the job runs ends it, naming the folder', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(3000));
  const weir = startWords(at, { rate: RATE, options: TOLERANT });
  await checkpointAfter(at, weir, 0);
  rmSync(at.path('data'), { recursive: true });
  const { code, err } = await weir.ended;
  assert.equal(code, 1, err);
  assert.match(
    err,
    new RegExp(
      String.raw`(JOB_FAILED|JOB_STATE_UNPROVEN)\]: .*data/(jobs|checkpoints).*does not exist|` +
        'nothing at .*data',
    ),
  );
});

test('an output folder deleted during a run is told, naming what is missing [R112]', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(900));
  const weir = startWords(at, { rate: RATE });
  await checkpointAfter(at, weir, newestCheckpoint(at) + 1);
  rmSync(at.path('output'), { recursive: true });
  const { code, err } = await weir.ended;
  assert.equal(code, 2, err);
  assert.match(err, /SINK_UNAVAILABLE\]: .*fileSink is missing .*output\/part-/);
  const again = await startWords(at, { rate: RATE }).ended;
  assert.match(
    again.err,
    /SINK_UNAVAILABLE\]: sink [\w-]+: fileSink is missing .*output\/part-.*put the file back/,
  );
  assert.equal(again.code, 2);
});
