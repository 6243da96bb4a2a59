import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job } from '@weir/core/internal/api/job';
import { Configuration } from '@weir/core/internal/base/configuration';
import { PreparedJobs } from './prepared-jobs.ts';

function jobs(isShared: boolean): { readonly jobs: PreparedJobs; readonly builds: () => number } {
  let builds = 0;
  const counted = job('counted', (env) => {
    builds++;
    env.fromCollection([1]).forEach(() => undefined);
  });
  const inputs = { arguments: [], configuration: Configuration.empty };
  return { jobs: new PreparedJobs(counted, inputs, isShared), builds: () => builds };
}

test('a job is built anew for each attempt, as in production', () => {
  const { jobs: each, builds } = jobs(false);
  const prepared = each.prepare(2);
  const again = each.rebuild(2, prepared);
  assert.notEqual(again.streamGraph, prepared.streamGraph);
  assert.equal(again.jobGraph, prepared.jobGraph);
  assert.equal(builds(), 2);
});

test('a shared job is built once for each parallelism', () => {
  const { jobs: shared, builds } = jobs(true);
  assert.equal(shared.prepare(2), shared.rebuild(2, shared.prepare(2)));
  assert.notEqual(shared.prepare(2), shared.prepare(3));
  assert.equal(shared.prepare(3).configuration.get('parallelism.default'), 3);
  assert.equal(builds(), 2);
});
