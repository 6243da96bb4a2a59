/**
 * Files stay small enough to be read in one go. Length alone is no reason to cut a file: cut it
 * where a name for the part exists. A line may be longer only for an address that cannot be broken.
 */
import { isTest } from '../check.ts';
import type { Check, Problem } from '../check.ts';
import type { SourceFile } from '../source-file.ts';

const LINES_MAX = 500;
const TEST_LINES_MAX = 700;
const COLUMNS_MAX = 100;

export const sizes: Check = {
  name: `files hold at most ${LINES_MAX} lines (tests ${TEST_LINES_MAX}) of ${COLUMNS_MAX} columns`,
  run: (repository) => repository.sources.flatMap(problemsOf),
};

function problemsOf(file: SourceFile): Problem[] {
  const problems: Problem[] = [];
  const max = isTest(file.path) ? TEST_LINES_MAX : LINES_MAX;
  if (file.lines.length > max) {
    const message = `${file.lines.length} lines, at most ${max}: split it where a part has a name`;
    problems.push({ file: file.path, line: 0, message });
  }
  for (const [index, line] of file.lines.entries()) {
    if (line.length <= COLUMNS_MAX || line.includes('https://')) continue;
    const message = `${line.length} columns, at most ${COLUMNS_MAX}`;
    problems.push({ file: file.path, line: index + 1, message });
  }
  return problems;
}
