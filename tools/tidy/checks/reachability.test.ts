import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { reachability } from './reachability.ts';

function dead(files: Record<string, string>): string[] {
  return reachability.run(repositoryOf(files)).map((problem) => problem.file);
}

test('a file that nothing imports is reported, and so are two that only import each other', () => {
  const files = {
    'tools/tidy/main.ts': "import './a.ts';",
    'tools/tidy/a.ts': '',
    'tools/tidy/dead.ts': "import './dead-too.ts';",
    'tools/tidy/dead-too.ts': "import './dead.ts';",
  };
  assert.deepEqual(dead(files), ['tools/tidy/dead.ts', 'tools/tidy/dead-too.ts']);
});

test('exports of a package, scripts, workers, lazy imports, types and tests count as use', () => {
  const files = {
    'package.json': '{"scripts": {"demo": "node tools/demo/run.ts"}}',
    'tools/demo/run.ts': '',
    'packages/core/package.json': '{"exports": {".": "./src/index.ts"}}',
    'packages/core/src/index.ts': "export const f = () => import('./lazy.ts');",
    'packages/core/src/lazy.ts': "new Worker(new URL('./worker.ts', import.meta.url));",
    'packages/core/src/worker.ts': "export type A = import('./types.ts').A;",
    'packages/core/src/types.ts': '',
    'packages/core/src/a.test.ts':
      "import './testing.ts'; new URL('jobs/job.ts', import.meta.url);",
    'packages/core/src/jobs/job.ts': '',
    'packages/core/src/testing.ts': '',
  };
  assert.deepEqual(dead(files), []);
});
