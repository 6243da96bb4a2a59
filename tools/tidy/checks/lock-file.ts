/**
 * The lock file pins versions and checksums but no addresses, so that an install works from
 * whatever registry or mirror a machine is set up for.
 */
import type { Check, Problem } from '../check.ts';

const LOCK = 'package-lock.json';

export const lockFile: Check = {
  name: 'the lock file names no registry',
  run: (repository) => {
    const text = repository.text(LOCK);
    if (text === null) return [{ file: LOCK, line: 0, message: 'missing: run npm install' }];
    const problems: Problem[] = [];
    for (const [index, line] of text.split('\n').entries()) {
      if (!/"resolved":\s*"(https?|git)/.test(line)) continue;
      const message =
        'run npm install --package-lock-only --omit-lockfile-registry-resolved to drop addresses';
      problems.push({ file: LOCK, line: index + 1, message });
    }
    return problems;
  },
};
