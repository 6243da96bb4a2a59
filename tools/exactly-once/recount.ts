/**
 * The plain recount that the output of the word count is held against, and the comparison: for a
 * word that occurs n times, each of (word, 1) … (word, n) must be in the finished files exactly
 * once.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export interface Recount {
  readonly words: number;
  readonly counts: ReadonlyMap<string, number>;
}

export function recount(text: string): Recount {
  const counts = new Map<string, number>();
  let words = 0;
  for (const word of text.toLowerCase().match(/[a-z']+/g) ?? []) {
    words++;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return { words, counts };
}

export interface Comparison {
  readonly lost: number;
  readonly duplicated: number;
  /** Pairs that the recount does not have at all. */
  readonly unexpected: number;
  /** A few of the differences, for the message. */
  readonly samples: readonly string[];
}

const SAMPLES_MAX = 5;

export function compareOutput(folder: string, expected: Recount): Comparison {
  const seen = new Map<string, Uint8Array>();
  for (const [word, count] of expected.counts) seen.set(word, new Uint8Array(count + 1));
  const samples: string[] = [];
  const note = (text: string): void => {
    if (samples.length < SAMPLES_MAX) samples.push(text);
  };
  let duplicated = 0;
  let unexpected = 0;
  for (const { word, count } of outputPairs(folder)) {
    const places = seen.get(word);
    if (places === undefined || !(count >= 1 && count < places.length)) {
      unexpected++;
      note(`unexpected ${word} ${count}`);
    } else if (places[count] === 1) {
      duplicated++;
      note(`twice ${word} ${count}`);
    } else places[count] = 1;
  }
  let lost = 0;
  for (const [word, places] of seen)
    for (let count = 1; count < places.length; count++) {
      if (places[count] === 1) continue;
      lost++;
      note(`missing ${word} ${count}`);
    }
  return { lost, duplicated, unexpected, samples };
}

/** The records of all finished part files. */
function* outputPairs(folder: string): Generator<{ word: string; count: number }> {
  for (const path of finishedFiles(folder)) {
    for (const line of readFileSync(path, 'utf8').split('\n'))
      if (line !== '') yield JSON.parse(line) as { word: string; count: number };
  }
}

/** Names that begin with `.` or `_` are unfinished files, or not data. */
export function finishedFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/^[._]/.test(basename(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
