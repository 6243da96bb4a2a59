import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { headComments } from './head-comments.ts';

const body = 'f();\n'.repeat(40);

function reported(files: Record<string, string>): string[] {
  return headComments.run(repositoryOf(files)).map((problem) => problem.file);
}

test('a file that begins with code or with a switch for a tool is reported', () => {
  assert.deepEqual(reported({ 'tools/a.ts': body, 'tools/b.ts': `// oxlint-disable\n${body}` }), [
    'tools/a.ts',
    'tools/b.ts',
  ]);
});

test('a comment, also after the line that names the interpreter, is a head', () => {
  const files = {
    'tools/a.ts': `/** What it is. */\n${body}`,
    'tools/b.js': `#!/usr/bin/env node\n// What it is.\n${body}`,
    'tools/short.ts': 'f();\n',
    'tools/c.test.ts': body,
  };
  assert.deepEqual(reported(files), []);
});
