/**
 * The changelog is for users: one section a release, newest first, and in it what was done for
 * their safety, what is new, what is mended, and what only concerns the project itself.
 */
import type { Check, Problem } from '../check.ts';

const FILE = 'CHANGELOG.md';
const RELEASE = /^## (Unreleased|\d+\.\d+\.\d+(-[\w.]+)? \(\d{4}-\d{2}-\d{2}\))$/;
const AREAS: readonly string[] = ['Safety', 'Features', 'Fixes', 'Internals'];

export const changelog: Check = {
  name: 'the changelog has its form',
  run: (repository) => {
    const text = repository.text(FILE);
    if (text === null) return [{ file: FILE, line: 0, message: 'missing' }];
    return problemsOf(text.replace(/\n$/, '').split('\n'));
  },
};

function problemsOf(lines: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  let area = -1;
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('## ')) area = -1;
    const message = complaint(line, index, area);
    if (message !== null) problems.push({ file: FILE, line: index + 1, message });
    if (line.startsWith('### ')) area = AREAS.indexOf(line.slice(4));
  }
  return problems;
}

function complaint(line: string, index: number, area: number): string | null {
  if (/\s$/.test(line)) return 'blank at the end of the line';
  if (index === 0) return line === '# Changelog' ? null : 'the first line must be "# Changelog"';
  if (line.startsWith('# ')) return 'only the first line is a title';
  if (line.startsWith('### ')) {
    const order = AREAS.indexOf(line.slice(4));
    return order > area ? null : `areas are ${AREAS.join(', ')}, each once and in this order`;
  }
  if (line.startsWith('## '))
    return RELEASE.test(line) ? null : 'a release is "## Unreleased" or "## 1.2.3 (2030-01-31)"';
  if (/^[*+] /.test(line)) return 'entries begin with "- "';
  return line.startsWith('- ') && area < 0
    ? `an entry stands in an area: ${AREAS.join(', ')}`
    : null;
}
