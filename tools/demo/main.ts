/**
 * `npm run demo`: counts the words of the Brown corpus with two worker threads, kills the process
 * twice in the middle, starts it again, and holds the output against a plain recount. Ends with one
 * line that says whether anything was lost or doubled; exit code 1 if so.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeCorpus } from '../exactly-once/corpus.ts';
import { compareOutput, recount } from '../exactly-once/recount.ts';
import {
  completedCheckpoints,
  kill9,
  newCheckpoint,
  startWeir,
  WORD_COUNT,
} from '../exactly-once/weir-process.ts';
import type { WeirProcess } from '../exactly-once/weir-process.ts';

const KILLS = 2;
/** Slow enough that there is something left to kill, fast enough for a demonstration. */
const LINES_PER_SECOND = 9000;
const DELAY_AFTER_CHECKPOINT_MAX_MS = 900;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function demo(folder: string): Promise<boolean> {
  const input = join(folder, 'brown.txt');
  const output = join(folder, 'counts');
  const dataDirectory = join(folder, 'weir-data');
  mkdirSync(dataDirectory);
  say('demo: word count over the Brown corpus, 2 worker threads, exactly-once, killed twice');
  writeCorpus(input);
  const expected = recount(readFileSync(input, 'utf8'));
  const start = (): WeirProcess =>
    startWeir({
      args: [
        '-p',
        '2',
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
      show: true,
    });

  let kills = 0;
  let weir = start();
  while (kills < KILLS) {
    const before = completedCheckpoints(dataDirectory).at(-1) ?? 0;
    const checkpoint = await newCheckpoint(weir, dataDirectory, before);
    if (checkpoint === null) break;
    const delayMs = Math.round(Math.random() * DELAY_AFTER_CHECKPOINT_MAX_MS);
    await sleep(delayMs);
    if (!(await kill9(weir))) break;
    kills++;
    say(`demo: kill -9, ${delayMs} ms after checkpoint ${checkpoint}; starting again`);
    weir = start();
  }
  const { code } = await weir.ended;
  if (code !== 0) {
    say(`demo: the last run ended with exit code ${code}`);
    return false;
  }
  if (kills < KILLS) {
    say(`demo: the job ended after ${kills} of ${KILLS} kills`);
    return false;
  }
  const { lost, duplicated, unexpected, samples } = compareOutput(output, expected);
  for (const sample of samples) say(`demo: ${sample}`);
  if (unexpected > 0) say(`demo: ${unexpected} results that should not exist`);
  const words = expected.words.toLocaleString('en-US');
  const distinct = expected.counts.size.toLocaleString('en-US');
  say(
    `exactly-once: ${words} words, ${distinct} distinct, ${kills} kills, ` +
      `${lost} lost, ${duplicated} duplicated`,
  );
  return lost === 0 && duplicated === 0 && unexpected === 0;
}

const folder = mkdtempSync(join(tmpdir(), 'weir-demo-'));
try {
  process.exitCode = (await demo(folder)) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
