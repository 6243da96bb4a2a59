/** Nothing committed depends on where one machine keeps its files. */
import type { Check, Problem } from '../check.ts';

// Put together from pieces, so that this file does not hold what it looks for.
const PLACES: readonly string[] = ['work', 'farm'].map((folder) => `/${folder}/`);
const PLACE = new RegExp(`(?<![\\w.*})-])(${PLACES.join('|')})`);

export const machinePaths: Check = {
  name: 'no path of one machine',
  run: (repository) =>
    repository.paths.flatMap((path) => problemsOf(path, repository.text(path) ?? '')),
};

function problemsOf(file: string, text: string): Problem[] {
  const problems: Problem[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const place = PLACE.exec(line)?.[1];
    if (place === undefined) continue;
    const message = `'${place}' is a folder of one machine: use a path relative to the repository`;
    problems.push({ file, line: index + 1, message });
  }
  return problems;
}
