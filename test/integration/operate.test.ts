/** A running job, operated from outside: by the command line, and by plain requests. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { runLocal } from '@weir/core/cluster';
import type { RunOutcome } from '@weir/core/cluster';
import { job, valueState, type } from '@weir/core';
import { Configuration } from '../../packages/core/src/base/configuration.ts';
import { TestEnvironment } from '../../packages/core/src/cli/test-environment.ts';
import { realClock } from '../../packages/core/src/cluster/real-clock.ts';
import { RestClient } from '../../packages/core/src/rest/rest-client.ts';
import { LocalFileSystem } from '../../packages/core/src/storage/local-file-system.ts';
import { range } from './support/faults.ts';
import { pacedSource } from './support/paced-source.ts';

interface Operated {
  readonly data: string;
  readonly jobId: string;
  readonly api: string;
  readonly ended: Promise<RunOutcome>;
  readonly weir: (
    ...words: readonly string[]
  ) => Promise<{ readonly code: number; readonly out: string; readonly error: string }>;
}

/** What stands in an answer: `at(body, 'jobs.0.jid')`. */
function at(body: unknown, path: string): unknown {
  let value = body;
  for (const name of path.split('.')) value = (value as Readonly<Record<string, unknown>>)[name];
  return value;
}

/** A job that never ends by itself, run as `weir run` runs it, once its API is there. */
async function operated(t: TestContext): Promise<Operated> {
  const data = await mkdtemp(join(tmpdir(), 'weir-operate-'));
  t.after(() => rm(data, { recursive: true, force: true }));
  const counts = job('counts', (env) => {
    env.enableCheckpointing('50ms');
    env
      .fromSource(pacedSource({ splits: [range(0, 50)], unbounded: true }), { uid: 'numbers' })
      .keyBy((n) => n % 3)
      .process({
        emits: type<number>(),
        state: { n: valueState({ default: 0 }) },
        onElement(_, context) {
          context.state.n.update(context.state.n.value + 1);
        },
      })
      .uid('counts')
      .print();
  });
  const api = Promise.withResolvers<string>();
  const ended = runLocal({
    job: { job: counts, sourcePath: '', bundleUrl: null },
    arguments: [],
    configuration: Configuration.empty,
    parallelism: null,
    jobId: null,
    restorePath: null,
    allowNonRestored: false,
    fresh: false,
    append: false,
    dataDirectory: data,
    rest: { port: 0 },
    listener: (event) => {
      const address = event.type === 'log' ? /REST API at (\S+)/.exec(event.message)?.[1] : null;
      if (address !== null && address !== undefined) api.resolve(address);
    },
  });
  const address = await api.promise;
  const { jobs } = (await (await fetch(`${address}/jobs`)).json()) as { jobs: { id: string }[] };
  return {
    data,
    jobId: jobs[0]?.id ?? '',
    api: address,
    ended,
    weir: async (...words) => {
      const environment = new TestEnvironment();
      Object.assign(environment, { clock: realClock, fileSystem: new LocalFileSystem() });
      environment.variables['WEIR_DATA_DIR'] = data;
      environment.rest = async (at) => new RestClient(realClock, at);
      const code = await environment.weir(...words);
      return { code, out: environment.out.text, error: environment.error.text };
    },
  };
}

test('the command line finds a run through the data folder, and operates it', async (t) => {
  const { weir, jobId, data, ended } = await operated(t);
  assert.match((await weir('list')).out, new RegExp(` : ${jobId} : counts \\(RUNNING\\)`));
  const noFolder = await weir('savepoint', jobId);
  assert.equal(noFolder.code, 1);
  assert.match(
    noFolder.error,
    new RegExp(
      String.raw`Config key \[execution.checkpointing.savepoint-dir\] is not set. ` +
        String.raw`Property \[target-directory\]`,
    ),
  );
  const savepoint = await weir('savepoint', jobId, join(data, 'sp'));
  assert.match(
    savepoint.out,
    /Savepoint completed. Path: file:\/\S+\/savepoint-[0-9a-f]{6}-[0-9a-f]{12}\n/,
  );
  const path = /Path: (\S+)/.exec(savepoint.out)?.[1] ?? '';
  assert.equal((await weir('savepoint', '-d', path)).code, 0);
  assert.deepEqual(await readdir(join(data, 'sp')), []);
  assert.match((await weir('checkpoint', jobId)).out, /Checkpoint \d+ for job .* completed\./);
  const stopped = await weir('stop', '-p', join(data, 'sp'), jobId);
  assert.equal(stopped.code, 0, stopped.error);
  const outcome = await ended;
  assert.equal(outcome.status, 'FINISHED');
  assert.equal(`file:${outcome.savepoint}`, /Path: (\S+)/.exec(stopped.out)?.[1]);
  assert.match((await weir('list', '-a')).out, new RegExp(` : ${jobId} : counts \\(FINISHED\\)`));
  const late = await weir('cancel', jobId);
  assert.equal(late.code, 1);
  assert.match(late.error, /job counts \(\w+\) is not running: it is FINISHED/);
});

test('requests get the answers that Flink would give', async (t) => {
  const { api, jobId, data, weir, ended } = await operated(t);
  const get = async (
    path: string,
    init: RequestInit = {},
  ): Promise<{ readonly status: number; readonly body: unknown }> => {
    const response = await fetch(api + path, init);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=UTF-8');
    return { status: response.status, body: await response.json() };
  };
  const post = (path: string, body: object): ReturnType<typeof get> =>
    get(path, { method: 'POST', body: JSON.stringify(body) });
  const errorOf = async (answer: ReturnType<typeof get>): Promise<readonly unknown[]> => {
    const { status, body } = await answer;
    return [status, at(body, 'errors.0')];
  };

  const { body: jobs } = await get('/v1/jobs/overview');
  assert.equal(at((await get('/jobs/overview')).body, 'jobs.0.jid'), at(jobs, 'jobs.0.jid'));
  assert.equal(at(jobs, 'jobs.0.end-time'), -1);
  assert.equal(at(jobs, 'jobs.0.tasks.running'), 2);
  assert.equal(at(jobs, 'jobs.0.tasks.total'), 2);
  const { body: details } = await get(`/jobs/${jobId}`);
  assert.equal(at(details, 'state'), 'RUNNING');
  assert.equal(at(details, 'vertices.length'), 2);
  assert.equal(at(details, 'timestamps.FINISHED'), 0);
  assert.equal(at(details, 'plan.nodes.1.inputs.0.ship_strategy'), 'HASH');
  const { body: plan } = await get(`/jobs/${jobId}/plan`);
  assert.deepEqual(at(plan, 'plan'), at(details, 'plan'));
  const { body: config } = await get(`/jobs/${jobId}/checkpoints/config`);
  assert.equal(at(config, 'mode'), 'exactly_once');
  assert.equal(at((await get('/overview')).body, 'jobs-running'), 1);

  const unknown = '0'.repeat(32);
  assert.deepEqual(await errorOf(get('/nothing')), [404, 'Not found: /nothing']);
  assert.deepEqual(await errorOf(get(`/jobs/${unknown}`)), [404, `Job ${unknown} not found`]);
  assert.deepEqual(await errorOf(get(`/jobs/${unknown}`, { method: 'PATCH' })), [
    404,
    'Job could not be found.',
  ]);
  assert.deepEqual(await errorOf(get(`/jobs/${jobId}/savepoints/${unknown}`)), [
    404,
    `There is no savepoint operation with triggerId=${unknown} for job ${jobId}.`,
  ]);
  assert.equal((await get('/jobs/x')).status, 400);
  assert.equal((await post(`/jobs/${jobId}/stop`, {})).status, 400);
  assert.equal((await post(`/jobs/${jobId}/stop`, { drain: 'yes' })).status, 400);
  assert.equal((await get(`/jobs/${jobId}/stop`, { method: 'POST', body: '{' })).status, 400);
  // A page of the web can make a browser send this.
  const evil = { method: 'PATCH', headers: { Origin: 'http://evil.example' } };
  assert.equal((await get(`/jobs/${jobId}`, evil)).status, 403);

  const triggerId = 'd'.repeat(32);
  const wanted = { 'target-directory': join(data, 'sp'), 'cancel-job': false, triggerId };
  const triggered = await post(`/jobs/${jobId}/savepoints`, wanted);
  assert.deepEqual(triggered, { status: 202, body: { 'request-id': triggerId } });
  await post(`/jobs/${jobId}/savepoints`, wanted);
  let { body: operation } = await get(`/jobs/${jobId}/savepoints/${triggerId}`);
  while (at(operation, 'status.id') === 'IN_PROGRESS')
    operation = (await get(`/jobs/${jobId}/savepoints/${triggerId}`)).body;
  assert.match(String(at(operation, 'operation.location')), /^file:\/.*\/savepoint-/);
  assert.equal((await readdir(join(data, 'sp'))).length, 1, 'asked for twice, taken once');
  const { body: checkpoints } = await get(`/jobs/${jobId}/checkpoints`);
  assert.equal(at(checkpoints, 'latest.savepoint.checkpoint_type'), 'SAVEPOINT');
  const id = String(at(checkpoints, 'latest.savepoint.id'));
  const { body: one } = await get(`/jobs/${jobId}/checkpoints/details/${id}`);
  assert.equal(at(one, 'className'), 'completed');
  assert.equal(at(one, 'num_acknowledged_subtasks'), 2);

  const cancelled = await get(`/jobs/${jobId}?mode=cancel`, { method: 'PATCH', body: '{}' });
  assert.deepEqual(cancelled, { status: 202, body: {} });
  assert.equal((await ended).status, 'CANCELED');
  assert.match((await weir('list')).out, /No running jobs\./);
});
