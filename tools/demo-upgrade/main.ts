/**
 * `npm run demo:upgrade`: the word count runs over the Brown corpus, a savepoint is taken, it is
 * stopped; a second version with a new operator, a renamed one, another type of state and another
 * parallelism checks the upgrade, starts from the savepoint, and finishes. The output is held
 * against a plain recount. Ends with one line that says whether anything was lost or doubled.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeCorpus } from '../exactly-once/corpus.ts';
import { compareOutput, recount } from '../exactly-once/recount.ts';
import { newCheckpoint, startWeir, WORD_COUNT } from '../exactly-once/weir-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const WEIR = join(ROOT, 'packages/core/bin/weir.js');
const SECOND_VERSION = join(ROOT, 'examples/word-count-upgraded.ts');
const LINES_PER_SECOND = 9000;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Runs a command of `weir` to its end, showing it; rejects unless its exit code is 0. */
async function weir(folder: string, ...args: readonly string[]): Promise<string> {
  say(`$ weir ${args.join(' ')}`);
  const child = spawn(process.execPath, [WEIR, ...args], {
    cwd: folder,
    env: { ...process.env, WEIR_DATA_DIR: join(folder, 'weir-data') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    process.stdout.write(chunk);
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`weir ${args[0]} ended with exit code ${code}`);
  return output;
}

async function demo(folder: string): Promise<boolean> {
  const input = join(folder, 'brown.txt');
  const output = join(folder, 'counts');
  const dataDirectory = join(folder, 'weir-data');
  mkdirSync(dataDirectory);
  writeCorpus(input);
  const expected = recount(readFileSync(input, 'utf8'));
  const about = ['--input', input, '--output', output];
  say('demo: word count over the Brown corpus, 2 worker threads');
  const rate = ['--rate', String(LINES_PER_SECOND)];
  const args = ['-p', '2', WORD_COUNT, ...about, ...rate];
  const first = startWeir({ args, cwd: folder, dataDirectory, show: true });
  if ((await newCheckpoint(first, dataDirectory, 1)) === null)
    throw new Error('the first version ended too soon');

  const listed = await weir(folder, 'list');
  const jobId = /[0-9a-f]{32}/.exec(listed)?.[0] ?? '';
  await weir(folder, 'savepoint', jobId, 'savepoints');
  const stopped = await weir(folder, 'stop', '-p', 'savepoints', jobId);
  const savepoint = /Path: (\S+)/.exec(stopped)?.[1] ?? '';
  const { code } = await first.ended;
  if (code !== 0) throw new Error(`the first version ended with exit code ${code}`);

  await weir(folder, 'check-upgrade', '-p', '3', savepoint, SECOND_VERSION, ...about);
  await weir(folder, 'run', '-s', savepoint, '-p', '3', SECOND_VERSION, ...about);
  const { lost, duplicated, unexpected, samples } = compareOutput(output, expected);
  for (const sample of samples) say(`demo: ${sample}`);
  const words = expected.words.toLocaleString('en-US');
  const distinct = expected.counts.size.toLocaleString('en-US');
  say(
    `upgrade: ${words} words, ${distinct} distinct, parallelism 2 to 3, state version 1 to 2, ` +
      `${lost} lost, ${duplicated} duplicated`,
  );
  return lost === 0 && duplicated === 0 && unexpected === 0;
}

const folder = mkdtempSync(join(tmpdir(), 'weir-upgrade-'));
try {
  process.exitCode = (await demo(folder)) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
