import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { changelog } from './changelog.ts';

function lines(text: string): number[] {
  return changelog.run(repositoryOf({ 'CHANGELOG.md': text })).map((problem) => problem.line);
}

test('each departure from the form is reported with its line', () => {
  const samples: Record<string, number> = {
    '# Changes\n': 1,
    '# Changelog\n# Again\n': 2,
    '# Changelog\n## Next\n': 2,
    '# Changelog\n## 1.0\n': 2,
    '# Changelog\n## Unreleased\n### Stuff\n': 3,
    '# Changelog\n## Unreleased\n### Fixes\n### Safety\n': 4,
    '# Changelog\n## Unreleased\n- entry\n': 3,
    '# Changelog\n## Unreleased\n### Fixes\n* entry\n': 4,
    '# Changelog\n\nText. \n': 3,
  };
  for (const [text, line] of Object.entries(samples)) assert.deepEqual(lines(text), [line], text);
  assert.equal(changelog.run(repositoryOf({})).length, 1);
});

test('a changelog with two releases is fine', () => {
  const text =
    '# Changelog\n\n## Unreleased\n\n### Safety\n\n- a\n  b\n\n### Internals\n\n- c\n\n' +
    '## 0.1.0 (2030-01-31)\n\n### Features\n\n- d\n';
  assert.deepEqual(lines(text), []);
});
