/**
 * Word count from a text file to part files, exactly-once, beside a script without any guarantee.
 */
import {
  createReadStream,
  readFileSync,
  writeFileSync,
  openSync,
  closeSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runJob } from '@weir/core';
import { writeCorpus } from '../../tools/exactly-once/corpus.ts';
import { compareOutput, recount } from '../../tools/exactly-once/recount.ts';
import { withFolder } from '../support/compare.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';

const JOB = fileURLToPath(new URL('../../examples/word-count.ts', import.meta.url));
const REPEATS = 4;
const ROUNDS = 3;
const WRITE_CHARACTERS = 1 << 16;

/** Reads, counts and writes an update for each word, as one would by hand. */
async function byHand(input: string, output: string): Promise<number> {
  const counts = new Map<string, number>();
  const file = openSync(output, 'w');
  let text = '';
  let words = 0;
  for await (const line of createInterface({ input: createReadStream(input) })) {
    for (const word of line.toLowerCase().match(/[a-z']+/g) ?? []) {
      const count = (counts.get(word) ?? 0) + 1;
      counts.set(word, count);
      words++;
      text += `${JSON.stringify({ word, count })}\n`;
    }
    if (text.length < WRITE_CHARACTERS) continue;
    writeSync(file, text);
    text = '';
  }
  writeSync(file, text);
  closeSync(file);
  return words;
}

async function measure(): Promise<Measured> {
  return withFolder('weir-bench-', async (folder) => {
    const input = join(folder, 'corpus.txt');
    writeCorpus(input);
    writeFileSync(input, readFileSync(input, 'utf8').repeat(REPEATS));
    const expected = recount(readFileSync(input, 'utf8'));
    const hand: number[] = [];
    const weir: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now();
      const words = await byHand(input, join(folder, `by-hand-${round}`));
      hand.push(words / (performance.now() - began) / 1000);
      const output = join(folder, `out-${round}`);
      const { durationMs } = await runJob(JOB, {
        args: { input, output },
        parallelism: 2,
        dataDirectory: join(folder, `data-${round}`),
      });
      weir.push(expected.words / durationMs / 1000);
      const { lost, duplicated, unexpected } = compareOutput(output, expected);
      if (lost + duplicated + unexpected > 0)
        throw new Error(`wrong answer: ${lost} lost, ${duplicated} doubled, ${unexpected} odd`);
    }
    return { value: median(weir), baseline: median(hand), notes: { words: expected.words } };
  });
}

export const WORD_COUNT_ROW: Row = {
  name: 'word-count',
  title: 'word count of the demo, text file to part files, p = 2, exactly-once, start included',
  unit: 'M/s',
  compares: 'ratio',
  direction: 'atLeast',
  mustReach: 0.4,
  reachFor: 0.8,
  measure,
};
