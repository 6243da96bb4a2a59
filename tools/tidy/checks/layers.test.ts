import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { layers } from './layers.ts';

function complaints(files: Record<string, string>): string[] {
  const paths = Object.entries(files).map(([path, text]) => [`packages/core/src/${path}`, text]);
  return layers.run(repositoryOf(Object.fromEntries(paths))).map((problem) => problem.message);
}

test('an import that points up is reported with both folders', () => {
  const found = complaints({ 'base/ids.ts': "import { a } from '../api/stream.ts';" });
  assert.equal(found.length, 1);
  assert.match(found[0] ?? '', /^base must not import api: layer 0 and layer 1/);
});

test('imports that point down, stay inside, or are a listed exception are fine', () => {
  const files = {
    'taskmanager/task.ts': "import '../protocol/messages.ts'; import './chain/chain.ts';",
    'state/heap.ts': "import '../storage/file.ts'; import '../base/ids.ts'; import 'msgpackr';",
    'cluster/run.ts': "import '../jobmanager/master.ts'; import '../taskmanager/task.ts';",
    'cli/main.ts': "import '../cluster/index.ts';",
    'index.ts': "import './api/stream.ts'; import('./cluster/index.ts');",
  };
  assert.deepEqual(complaints(files), []);
});

test('the JobManager and the TaskManager never import each other', () => {
  const found = complaints({
    'jobmanager/master.ts': "import type { Task } from '../taskmanager/task.ts';",
    'taskmanager/task.ts': "export const m = () => import('../jobmanager/master.ts');",
  });
  assert.equal(found.length, 2);
});

test('neighbours of one layer do not import each other, but their tests do', () => {
  const text = "import '../network/ring.ts';";
  assert.equal(complaints({ 'graph/plan.ts': text }).length, 1);
  assert.deepEqual(complaints({ 'graph/plan.test.ts': text }), []);
  const up = "import '../taskmanager/task.ts';";
  assert.equal(complaints({ 'graph/plan.test.ts': up }).length, 1);
});

test('a folder without a layer, the own package name and paths out of it are reported', () => {
  const found = complaints({
    'misc/a.ts': "import '../base/ids.ts';",
    'graph/b.ts': "import '@weir/core';",
    'graph/c.ts': "import '../../../../tools/tidy/main.ts';",
    'graph/d.ts': "import '../index.ts';",
  });
  assert.equal(found.length, 4);
});
