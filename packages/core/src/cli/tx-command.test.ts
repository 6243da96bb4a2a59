import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job } from '../api/job.ts';
import { Configuration } from '../base/configuration.ts';
import { seededRandom } from '../base/random.ts';
import { prepareJob } from '../jobmanager/prepare-run.ts';
import { jobIdOf } from '../jobmanager/run-state.ts';
import { JobStore } from '../storage/job-store.ts';
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

test('a job that has finished has removed its checkpoints, and promises nothing', async () => {
  const environment = new TestEnvironment();
  const done = job('done', (env) => {
    env.fromCollection([1]).print();
  });
  environment.load = async () => ({ job: done, sourcePath: '/a.ts', bundleUrl: null });
  const { fileSystem, clock } = environment;
  const jobId = jobIdOf('done');
  const log = new JobStore({ fileSystem, clock, random: seededRandom(1) }, '/here/.weir').open(
    jobId,
  );
  await log.claim(null, {
    jobId,
    jobName: 'done',
    arguments: [],
    nextCheckpointId: 8,
    firstCheckpointId: 1,
    leaderFirstCheckpointId: 1,
    completed: [
      {
        checkpointId: 7,
        kind: 'checkpoint',
        stopsJob: false,
        directory: '/here/.weir/checkpoints/chk-7',
        triggeredAt: 0,
        sizeBytes: 0,
        isOwned: true,
      },
    ],
    owner: null,
    ended: { status: 'FINISHED', at: 0 },
    restoredFrom: null,
  });
  assert.equal(await environment.weir('tx', 'list', 'a.ts'), 0, environment.error.text);
  assert.match(environment.out.text, /job done, no checkpoint: 0 transaction\(s\) listed/);
});
