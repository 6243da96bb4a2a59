/** The words of the commands that operate jobs, against what scripts for Flink's client expect. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RestClient } from '../../rest/rest-client.ts';
import { RestError } from '../../rest/rest-error.ts';
import { TestEnvironment } from '../test-environment.ts';
import { storeOf } from './find-job.ts';

const J = 'fd72014d4c864993a2e5a9287b4a9c5d';
const PATH = 'file:/sp/savepoint-fd7201-0123456789ab';
const TRIGGER = 'c'.repeat(32);
const RULE = '-'.repeat(62);

function overview(jid: string, state: string, startTime: number): object {
  return { jid, name: 'orders', state, 'start-time': startTime };
}

/** A REST API that answers everything, and takes down what it was asked. */
class FakeApi {
  readonly asked: unknown[][] = [];
  failure: Error | null = null;
  list: readonly object[] = [];

  #answer<T>(value: T, ...asked: readonly unknown[]): Promise<T> {
    this.asked.push([...asked]);
    return this.failure === null ? Promise.resolve(value) : Promise.reject(this.failure);
  }

  jobs = (): Promise<unknown> => this.#answer(this.list, 'jobs');
  cancel = (id: string): Promise<unknown> => this.#answer(undefined, 'cancel', id);
  triggerSavepoint = (...given: readonly unknown[]): Promise<unknown> =>
    this.#answer(TRIGGER, 'savepoint', ...given);
  triggerStop = (...given: readonly unknown[]): Promise<unknown> =>
    this.#answer(TRIGGER, 'stop', ...given);
  savepoint = (): Promise<unknown> => this.#answer(PATH, 'poll');
  checkpoint = (...given: readonly unknown[]): Promise<unknown> =>
    this.#answer(7, 'checkpoint', ...given);
  dispose = (path: string): Promise<unknown> => this.#answer(undefined, 'dispose', path);
}

async function weir(
  api: FakeApi,
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly out: readonly string[]; readonly error: string }> {
  const environment = new TestEnvironment();
  environment.rest = async () => api as unknown as RestClient;
  const code = await environment.weir(...words);
  return { code, out: environment.out.lines, error: environment.error.text };
}

const AT = ['-m', 'localhost:8081'];

test('list groups jobs as Flink does, by time of start', async () => {
  const api = new FakeApi();
  assert.deepEqual((await weir(api, 'list', ...AT)).out, [
    'Waiting for response...',
    'No running jobs.',
    'No scheduled jobs.',
  ]);
  const later = new Date(2026, 0, 2, 3, 4, 5).getTime();
  const sooner = new Date(2025, 11, 31, 23, 59, 59).getTime();
  api.list = [
    overview(J, 'RUNNING', later),
    overview('0'.repeat(32), 'RESTARTING', sooner),
    overview('1'.repeat(32), 'CREATED', sooner),
    overview('2'.repeat(32), 'FINISHED', sooner),
  ];
  const running = [
    '------------------ Running/Restarting Jobs -------------------',
    `31.12.2025 23:59:59 : ${'0'.repeat(32)} : orders (RESTARTING)`,
    `02.01.2026 03:04:05 : ${J} : orders (RUNNING)`,
    RULE,
  ];
  const scheduled = [
    '----------------------- Scheduled Jobs -----------------------',
    `31.12.2025 23:59:59 : ${'1'.repeat(32)} : orders (CREATED)`,
    RULE,
  ];
  const ended = [
    '---------------------- Terminated Jobs -----------------------',
    `31.12.2025 23:59:59 : ${'2'.repeat(32)} : orders (FINISHED)`,
    RULE,
  ];
  const head = 'Waiting for response...';
  assert.deepEqual((await weir(api, 'list', ...AT)).out, [head, ...running, ...scheduled]);
  assert.deepEqual((await weir(api, 'list', '-r', ...AT)).out, [head, ...running]);
  assert.deepEqual((await weir(api, 'list', '-s', ...AT)).out, [head, ...scheduled]);
  assert.deepEqual((await weir(api, 'list', '-a', ...AT)).out, [
    head,
    ...running,
    ...scheduled,
    ...ended,
  ]);
});

test('savepoint says where it is', async () => {
  const api = new FakeApi();
  const { code, out } = await weir(api, 'savepoint', ...AT, J.toUpperCase(), '/sp');
  assert.equal(code, 0);
  assert.deepEqual(out, [
    `Triggering savepoint for job ${J}.`,
    'Waiting for response...',
    `Savepoint completed. Path: ${PATH}`,
    'You can resume your program from this savepoint with the run command.',
  ]);
  assert.deepEqual(api.asked[0], ['savepoint', J, '/sp', 'CANONICAL']);
  const detached = await weir(api, 'savepoint', '-detached', '-type', 'native', ...AT, J);
  assert.deepEqual(detached.out, [
    `Triggering savepoint in detached mode for job ${J}.`,
    `Successfully trigger manual savepoint, triggerId: ${TRIGGER}`,
  ]);
  assert.deepEqual(api.asked[2], ['savepoint', J, null, 'NATIVE']);
});

test('savepoint -d removes one', async () => {
  const api = new FakeApi();
  const { code, out } = await weir(api, 'savepoint', ...AT, '-d', '/sp/savepoint-1');
  assert.equal(code, 0);
  assert.deepEqual(out, [
    "Disposing savepoint '/sp/savepoint-1'.",
    'Waiting for response...',
    "Savepoint '/sp/savepoint-1' disposed.",
  ]);
});

test('stop suspends, or drains', async () => {
  const api = new FakeApi();
  const suspended = await weir(api, 'stop', ...AT, '-p', '/sp', J);
  assert.deepEqual(suspended.out, [
    `Suspending job "${J}" with a CANONICAL savepoint.`,
    `Triggering stop-with-savepoint for job ${J}.`,
    'Waiting for response...',
    `Savepoint completed. Path: ${PATH}`,
  ]);
  const formatType = 'CANONICAL';
  assert.deepEqual(api.asked[0], ['stop', J, { directory: '/sp', drain: false, formatType }]);
  // The folder may be left out, whatever stands behind.
  const drained = await weir(api, 'stop', '-p', '-d', ...AT, J);
  assert.equal(drained.out[0], `Draining job "${J}" with a CANONICAL savepoint.`);
  assert.deepEqual(api.asked[2], ['stop', J, { directory: null, drain: true, formatType }]);
  // As with Flink's client, the job id may be taken for the folder.
  const swallowed = await weir(api, 'stop', ...AT, '-p', J);
  assert.equal(swallowed.code, 0);
  assert.deepEqual(api.asked[4], ['stop', J, { directory: null, drain: false, formatType }]);
  const detached = await weir(api, 'stop', '-detached', ...AT, J);
  assert.deepEqual(detached.out.slice(1), [
    `Triggering stop-with-savepoint in detached mode for job ${J}.`,
    `Successfully trigger stop-with-savepoint in detached mode, triggerId: ${TRIGGER}`,
  ]);
});

test('cancel ends a job, with a savepoint if it must', async () => {
  const api = new FakeApi();
  assert.deepEqual((await weir(api, 'cancel', ...AT, J)).out, [
    `Cancelling job ${J}.`,
    `Cancelled job ${J}.`,
  ]);
  const { out } = await weir(api, 'cancel', '-s', '/sp', ...AT, J);
  assert.deepEqual(out, [
    'DEPRECATION WARNING: Cancelling a job with savepoint is deprecated. Use "stop" instead.',
    `Cancelling job ${J} with CANONICAL savepoint to /sp.`,
    `Cancelled job ${J}. Savepoint stored in ${PATH}.`,
  ]);
  const byDefault = await weir(api, 'cancel', '-s', ...AT, J);
  const place = 'default savepoint directory';
  assert.equal(byDefault.out[1], `Cancelling job ${J} with CANONICAL savepoint to ${place}.`);
});

test('checkpoint says its number', async () => {
  const api = new FakeApi();
  assert.deepEqual((await weir(api, 'checkpoint', ...AT, J)).out, [
    `Triggering checkpoint for job ${J}.`,
    'Waiting for response...',
    `Checkpoint 7 for job ${J} completed.`,
    'You can resume your program from this checkpoint with the run command.',
  ]);
  const full = await weir(api, 'checkpoint', '-full', ...AT, J);
  assert.equal(full.out[2], `Checkpoint(FULL) 7 for job ${J} completed.`);
});

test('what is wrong with the words is said on standard output, with exit code 1', async () => {
  const help = ['', 'Use the help option (-h or --help) to get help on the command.'];
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['cancel'], 'Missing JobID. Specify a JobID to cancel a job.'],
    [['savepoint'], 'Missing JobID. Specify a Job ID to trigger a savepoint.'],
    [['checkpoint'], 'Missing JobID. Specify a Job ID to manipulate a checkpoint.'],
    [['stop'], 'Missing JobId'],
    [
      ['stop', 'x'],
      'Cannot parse JobID from "x". The expected format is [0-9a-fA-F]{32}, ' +
        'e.g. fd72014d4c864993a2e5a9287b4a9c5d.',
    ],
    [['list', '--runing'], 'weir list: there is no option --runing; did you mean "--running"?'],
  ];
  for (const [words, message] of cases) {
    const { code, out, error } = await weir(new FakeApi(), ...words);
    assert.deepEqual([code, out, error], [1, [message, ...help], '']);
  }
});

test('no cause of a failure shows the password of an address', async () => {
  const api = new FakeApi();
  api.failure = new Error('no answer of http://me:hidden@host:8081');
  const { error } = await weir(api, 'cancel', ...AT, J);
  assert.match(error, /Caused by: no answer of http:\/\/me:\*\*\*@host:8081/);
});

test('what fails is said on standard error, below what was to be done', async () => {
  const cases: readonly (readonly [string, string])[] = [
    ['cancel', `Could not cancel job ${J}.`],
    ['stop', `Could not stop with a savepoint job "${J}".`],
    ['savepoint', `Failed to trigger a savepoint for the job ${J}.`],
    ['checkpoint', `Failed to trigger a checkpoint for the job ${J}.`],
    ['list', 'Failed to retrieve job list.'],
  ];
  for (const [command, message] of cases) {
    const api = new FakeApi();
    api.failure = new RestError(404, 'Job could not be found.');
    const words = command === 'list' ? [] : [J];
    const { code, error } = await weir(api, command, ...AT, ...words);
    assert.equal(code, 1);
    assert.deepEqual(error.split('\n'), [
      '',
      '-'.repeat(60),
      ' The program finished with the following exception:',
      '',
      message,
      'Caused by: Job could not be found.',
      '',
    ]);
  }
});

test('a configuration that cannot be read ends with exit code 31', async () => {
  const { code, error } = await weir(new FakeApi(), 'list', '-Dweir.data-dir=s3://bucket');
  assert.equal(code, 31);
  assert.match(error, /weir.data-dir: s3:\/\/bucket is not a folder of this machine/);
});

test('a job that is not there is named with what is known of it', async () => {
  const { code, error } = await weir(new FakeApi(), 'cancel', J);
  assert.equal(code, 1);
  assert.match(error, /there is no job fd72014d4c864993a2e5a9287b4a9c5d in \/here\/\.weir/);
});

async function withRun(startedAt: number): Promise<TestEnvironment> {
  const environment = new TestEnvironment();
  Object.assign(environment, { livingOwner: async () => 'process 7' });
  const store = storeOf(environment, '/here/.weir');
  const owner = { pid: 7, host: 'here', startedAt, token: 'x' };
  await store.open(J).claim(null, {
    jobId: J,
    jobName: 'orders',
    arguments: [],
    nextCheckpointId: 1,
    firstCheckpointId: 1,
    leaderFirstCheckpointId: 1,
    completed: [],
    owner,
    ended: null,
    restoredFrom: null,
  });
  return environment;
}

test('a run that lives without an API is listed, and said to be silent', async () => {
  const environment = await withRun(0);
  assert.equal(await environment.weir('list'), 0);
  assert.match(environment.out.text, new RegExp(`${J} : orders \\(RUNNING\\)`));
  assert.equal(await environment.weir('stop', J), 1);
  assert.match(environment.error.text, /is running, but its REST API does not answer: .*--no-rest/);
});

test('a run that has just begun is waited for until its API is there', async () => {
  const environment = await withRun(new TestEnvironment().clock.wallTime());
  const api = new FakeApi();
  api.list = [overview(J, 'RUNNING', 0)];
  environment.rest = async () => api as unknown as RestClient;
  const ended = environment.weir('savepoint', J, '/sp');
  while (environment.clock.pendingCount() === 0) await new Promise(setImmediate);
  await environment.writeFile(`/here/.weir/jobs/${J}/rest.json`, '{"address":"localhost:1"}');
  environment.clock.advance(100);
  assert.equal(await ended, 0, environment.error.text);
  assert.match(environment.out.text, /Savepoint completed/);
});
