import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { simulation } from './simulation.ts';

function complaints(text: string): string[] {
  const files = { 'packages/simulation/src/world/world.ts': text };
  return simulation.run(repositoryOf(files)).map((problem) => problem.message);
}

test('the simulation may import the layers of the engine, and its own files', () => {
  const text = "import '@weir/core/internal/jobmanager/job-master'; import './life.ts';";
  assert.deepEqual(complaints(text), []);
});

test('the other composition root, the public entry and relative ways in are reported', () => {
  assert.equal(complaints("import '@weir/core/internal/cluster/local-run';").length, 1);
  assert.equal(complaints("import '@weir/core';").length, 1);
  assert.equal(complaints("import '../../../core/src/base/ids.ts';").length, 1);
});
