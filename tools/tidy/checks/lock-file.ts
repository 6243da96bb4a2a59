/**
 * The lock file pins versions and checksums but no addresses, so that an install works from
 * whatever registry or mirror a machine is set up for; and no demands on Node, since the machine
 * that installs may have an older one than the checkout then runs on, and npm would warn.
 */
import type { Check, Problem } from '../check.ts';

const LOCK = 'package-lock.json';

export const lockFile: Check = {
  name: 'the lock file names no registry and no demands on Node',
  run: (repository) => {
    const text = repository.text(LOCK);
    if (text === null) return [{ file: LOCK, line: 0, message: 'missing: run npm install' }];
    const problems: Problem[] = [];
    for (const [index, line] of text.split('\n').entries()) {
      if (/"resolved":\s*"(https?|git)/.test(line))
        problems.push({ file: LOCK, line: index + 1, message: 'an address: run npm run lock' });
      if (/^ {6}"engines": \{/.test(line))
        problems.push({ file: LOCK, line: index + 1, message: 'engines: run npm run lock' });
    }
    return problems;
  },
};
