/**
 * `npm run kill -- --runs N [--seed S]`: runs the word count N times and kills each run five times
 * with SIGKILL, each time after a new checkpoint of that attempt was seen on disk plus a random
 * delay, so that kills fall between checkpoints, inside them, and (with extra kills) into recovery.
 * The parallelism changes from start to start. Ends with the sums; exit code 1 on any difference.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seededRandom } from '../../packages/core/src/base/random.ts';
import type { Random } from '../../packages/core/src/base/random.ts';
import { compareOutput, recount } from '../exactly-once/recount.ts';
import {
  completedCheckpoints,
  hasResumed,
  kill9,
  newCheckpoint,
  startWeir,
  WORD_COUNT,
} from '../exactly-once/weir-process.ts';
import type { WeirProcess } from '../exactly-once/weir-process.ts';

const KILLS_PER_RUN = 5;
const RESUMES_MIN = 3;
const LINES = 24_000;
const LINES_PER_SECOND = 6000;
const DELAY_MAX_MS = 600;
/** Share of restarts that are killed again before they can complete a checkpoint. */
const RECOVERY_KILLS = 0.3;
const RECOVERY_DELAY_MAX_MS = 500;
const PARALLELISMS = [1, 2, 3];

interface Sums {
  kills: number;
  resumes: number;
  lost: number;
  duplicated: number;
  failures: number;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Lines of a few words each, of a vocabulary where some words are common and most are rare. */
function writeInput(path: string, random: Random): void {
  const lines: string[] = [];
  for (let line = 0; line < LINES; line++) {
    const words: string[] = [];
    const length = 1 + random.int(8);
    for (let word = 0; word < length; word++)
      words.push(`w${letters(Math.floor(2000 * random.next() ** 3))}`);
    lines.push(words.join(' '));
  }
  writeFileSync(path, `${lines.join('\n')}\n`);
}

function letters(number: number): string {
  return number
    .toString(26)
    .split('')
    .map((digit) => String.fromCharCode(97 + Number.parseInt(digit, 26)))
    .join('');
}

async function oneRun(folder: string, random: Random, sums: Sums): Promise<boolean> {
  const input = join(folder, 'input.txt');
  const output = join(folder, 'output');
  const dataDirectory = join(folder, 'data');
  mkdirSync(dataDirectory, { recursive: true });
  writeInput(input, random.derive('input'));
  const start = (parallelism: number): WeirProcess =>
    startWeir({
      args: [
        '-p',
        String(parallelism),
        WORD_COUNT,
        '--input',
        input,
        '--output',
        output,
        '--rate',
        String(LINES_PER_SECOND),
      ],
      cwd: folder,
      dataDirectory,
      show: false,
    });
  let kills = 0;
  let resumes = 0;
  let parallelism = 2;
  for (;;) {
    const before = completedCheckpoints(dataDirectory).at(-1) ?? 0;
    const weir = start(parallelism);
    if (kills > 0 && random.next() < RECOVERY_KILLS) {
      await sleep(random.int(RECOVERY_DELAY_MAX_MS));
      if (await kill9(weir)) sums.kills++;
    } else if (kills < KILLS_PER_RUN) {
      if ((await newCheckpoint(weir, dataDirectory, before)) !== null) {
        await sleep(random.int(DELAY_MAX_MS));
        if (await kill9(weir)) {
          kills++;
          sums.kills++;
        }
      }
    }
    const ended = await weir.ended;
    if (hasResumed(ended.output)) resumes++;
    if (ended.signal === 'SIGKILL') {
      parallelism = PARALLELISMS[random.int(PARALLELISMS.length)] ?? 2;
      continue;
    }
    if (ended.code === 0) break;
    say(ended.output);
    say(`kill: a run ended with exit code ${ended.code}`);
    return false;
  }
  sums.resumes += resumes;
  const { lost, duplicated, unexpected, samples } = compareOutput(
    output,
    recount(readFileSync(input, 'utf8')),
  );
  sums.lost += lost;
  sums.duplicated += duplicated + unexpected;
  for (const sample of samples) say(`kill: ${sample}`);
  if (resumes < RESUMES_MIN) say(`kill: only ${resumes} resumes`);
  return lost + duplicated + unexpected === 0 && resumes >= RESUMES_MIN;
}

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '20' }, seed: { type: 'string' } },
});
const runs = Number(values.runs);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const sums: Sums = { kills: 0, resumes: 0, lost: 0, duplicated: 0, failures: 0 };
say(`kill: ${runs} runs, seed ${seed}`);
for (let run = 0; run < runs; run++) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-kill-'));
  const isGood = await oneRun(folder, seededRandom(seed).derive(`run ${run}`), sums);
  say(`kill: run ${run + 1} of ${runs} ${isGood ? 'is exact' : `FAILED, left in ${folder}`}`);
  if (isGood) rmSync(folder, { recursive: true, force: true });
  else sums.failures++;
}
say(
  `kill: ${runs} runs, ${sums.kills} kills, ${sums.resumes} resumes, ` +
    `${sums.lost} lost, ${sums.duplicated} duplicated`,
);
process.exitCode = sums.failures === 0 ? 0 : 1;
