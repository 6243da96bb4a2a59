import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { internals } from './internals.ts';

function complaints(text: string, path = 'packages/simulation/src/world/world.ts'): string[] {
  return internals.run(repositoryOf({ [path]: text })).map((problem) => problem.message);
}

test('the simulation may import the layers of the engine, and its own files', () => {
  const text =
    "import '@weir/core/internal/jobmanager/job-master'; import './life.ts';" +
    "import '@weir/kafka/internal/model/model-broker';";
  assert.deepEqual(complaints(text), []);
});

test('the other composition root, the public entry and relative ways in are reported', () => {
  assert.equal(complaints("import '@weir/core/internal/cluster/local-run';").length, 1);
  assert.equal(complaints("import '@weir/core';").length, 1);
  assert.equal(complaints("import '../../../core/src/base/ids.ts';").length, 1);
});

test('a connector may use the public API alone, its tests more', () => {
  const text = "import '@weir/core'; import '@weir/core/internal/base/clock';";
  const found = complaints(text, 'packages/kafka/src/fetcher.ts');
  assert.equal(found.length, 1);
  assert.match(found[0] ?? '', /export there what connectors need/);
  assert.deepEqual(complaints(text, 'packages/kafka/src/fetcher.test.ts'), []);
});

test('the package for tests may use both, but not the first composition root', () => {
  const path = 'packages/testing/src/simulate.ts';
  assert.deepEqual(complaints("import '@weir/core'; import '@weir/core/internal/a/b';", path), []);
  assert.equal(complaints("import '@weir/core/internal/cluster/run-job';", path).length, 1);
});
