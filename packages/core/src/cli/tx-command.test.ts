import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job } from '../api/job.ts';
import { Configuration } from '../base/configuration.ts';
import { prepareJob } from '../jobmanager/prepare-run.ts';
import { TestEnvironment } from './test-environment.ts';

test('transactions are listed whatever the job guarantees without the -D of its run', async () => {
  const environment = new TestEnvironment();
  const strict = job('strict', (env) => {
    env.requireGuarantee('exactly-once').fromCollection([1]).print();
  });
  environment.load = async () => ({ job: strict, sourcePath: '/a.ts', bundleUrl: null });
  const inputs = { configuration: Configuration.of({}, 'test'), arguments: [] };
  assert.throws(() => prepareJob(strict, inputs), /the guarantee exactly-once is required/);
  assert.equal(await environment.weir('tx', 'list', 'a.ts'), 2);
  assert.match(environment.error.text, /there is no run of job strict/);
});
