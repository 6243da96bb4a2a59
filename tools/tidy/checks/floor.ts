/**
 * A checker that looks at nothing finds nothing. The number of files looked at must not fall below
 * the recorded one; when files are removed on purpose, record the lower number in the same commit.
 */
import type { Check } from '../check.ts';
import type { Repository } from '../repository.ts';

const FLOOR = 'tools/tidy/floor.json';

export const floor: Check = {
  name: 'at least as many files are looked at as were recorded',
  run: (repository) => {
    const problem = (message: string) => [{ file: FLOOR, line: 0, message }];
    const text = repository.text(FLOOR);
    if (text === null) return problem('missing: run node tools/tidy/main.ts --record-floor');
    const recorded = (JSON.parse(text) as { sources?: unknown }).sources;
    const found = sourceCount(repository);
    if (typeof recorded !== 'number' || recorded < 1)
      return problem('must hold {"sources": N}: run node tools/tidy/main.ts --record-floor');
    if (found >= recorded) return [];
    return problem(
      `${found} sources were looked at, ${recorded} were recorded; if files were removed on ` +
        'purpose, run node tools/tidy/main.ts --record-floor',
    );
  },
};

/** The number that is compared: TypeScript and JavaScript files of the project. */
export function sourceCount(repository: Repository): number {
  return repository.sources.length;
}

export function floorText(repository: Repository): string {
  return `{ "sources": ${sourceCount(repository)} }\n`;
}
