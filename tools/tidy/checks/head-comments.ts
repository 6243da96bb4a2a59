/**
 * Every file that is not trivial opens with what it is, the invariant it keeps and who calls it, so
 * that a reader knows before the first line of code whether this is the place. Names of tests say
 * the same for tests.
 */
import { isTest } from '../check.ts';
import type { Check } from '../check.ts';
import type { SourceFile } from '../source-file.ts';

const TRIVIAL_LINES = 30;

export const headComments: Check = {
  name: `files of more than ${TRIVIAL_LINES} lines open with a comment`,
  run: (repository) =>
    repository.sources
      .filter((file) => !isTest(file.path) && file.lines.length > TRIVIAL_LINES && !hasHead(file))
      .map((file) => ({
        file: file.path,
        line: 1,
        message: 'open the file with a comment: what this is, its invariant, who calls it',
      })),
};

function hasHead(file: SourceFile): boolean {
  const first = file.lines[0]?.startsWith('#!') === true ? file.lines[1] : file.lines[0];
  return first !== undefined && /^\/[/*]/.test(first) && !/^\/\/ (oxlint|@ts)-/.test(first);
}
