/** The word count as a subject: its input, how it is started, and whether its output is exact. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '../../packages/core/src/base/random.ts';
import { compareOutput, recount } from '../../tools/exactly-once/recount.ts';
import { completedCheckpoints } from '../../tools/exactly-once/weir-process.ts';
import { WORD_COUNT } from './weir.ts';
import type { Place, StartOptions, Weir } from './weir.ts';

const VOCABULARY = 300;

export interface WordsOptions extends StartOptions {
  readonly parallelism?: number;
  /** Lines per second. */
  readonly rate?: number;
  /** Options of `weir run` itself. */
  readonly options?: readonly string[];
  readonly input?: string;
  readonly output?: string;
}

/** `lines` lines of one to eight words; some words are common. */
export function someText(lines: number, seed = 1): string {
  const random = seededRandom(seed);
  const line = (): string =>
    Array.from({ length: 1 + random.int(8) }, () => word(random.next())).join(' ');
  return Array.from({ length: lines }, () => `${line()}\n`).join('');
}

function word(draw: number): string {
  const number = Math.floor(VOCABULARY * draw ** 3);
  return `w${String(number)
    .split('')
    .map((digit) => 'abcdefghij'[Number(digit)])
    .join('')}`;
}

/** The words of `weir run` for the word count, checkpoints every 100 ms. */
export function wordsCommand(at: Place, options: WordsOptions = {}): string[] {
  const { parallelism = 2, rate } = options;
  return [
    'run',
    `-p${parallelism}`,
    '-Dexecution.checkpointing.interval=100ms',
    ...(options.options ?? []),
    WORD_COUNT,
    `--input=${options.input ?? at.path('input.txt')}`,
    `--output=${options.output ?? at.path('output')}`,
    ...(rate === undefined ? [] : [`--rate=${rate}`]),
  ];
}

export function startWords(at: Place, options: WordsOptions = {}): Weir {
  return at.start(wordsCommand(at, options), options);
}

/** Every (word, n) of a recount is in the finished files exactly `times` times. */
export function assertExact(at: Place, output: string = at.path('output'), times = 1): void {
  const text = readFileSync(at.path('input.txt'), 'utf8');
  const { lost, duplicated, unexpected, samples } = compareOutput(output, recount(text));
  const found = { lost, duplicated, unexpected, samples };
  const words = recount(text).words;
  if (times === 1) assert.deepEqual(found, { lost: 0, duplicated: 0, unexpected: 0, samples: [] });
  else
    assert.deepEqual(
      { lost, duplicated, unexpected },
      { lost: 0, duplicated: words * (times - 1), unexpected: 0 },
    );
}

export function newestCheckpoint(at: Place): number {
  return completedCheckpoints(at.dataDirectory).at(-1) ?? 0;
}

/** Folder of a checkpoint of the only job that the data folder knows. */
export function checkpointDirectory(at: Place, id: number): string {
  const root = join(at.dataDirectory, 'checkpoints');
  const [job, ...others] = readdirSync(root);
  assert.ok(job !== undefined && others.length === 0, 'one job has checkpoints');
  return join(root, job, `chk-${id}`);
}

/** Resolves with the id of a checkpoint on disk that is newer than `after`. */
export async function checkpointAfter(at: Place, weir: Weir, after: number): Promise<number> {
  return weir.until(`a checkpoint after ${after}`, () => {
    const newest = newestCheckpoint(at);
    return newest > after ? newest : null;
  });
}
