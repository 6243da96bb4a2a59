import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError, JobSubmissionError, toErrorInfo, WeirError } from '../base/errors.ts';
import type { ErrorCode } from '../base/error-codes.ts';
import type { RunEvent, RunOptions, RunOutcome } from './run-contract.ts';
import { JOB_ID, outcome, STARTED, TestEnvironment } from './test-environment.ts';

function events(...told: readonly RunEvent[]): (options: RunOptions) => Promise<RunOutcome> {
  return async ({ listener }) => {
    for (const event of told) listener(event);
    return outcome();
  };
}

test('what was given reaches the run', async () => {
  const environment = new TestEnvironment();
  const words = ['-p', '3', '-s', 'chk-1', '-n', '--append', '--job-id', JOB_ID.toUpperCase()];
  const job = ['-Dparallelism.default=9', 'orders.ts', '--input', 'a b', '-p', '7'];
  assert.equal(await environment.weir('run', ...words, ...job), 0);
  const [{ configuration, listener: _, stop: __, job: loaded, ...rest } = assert.fail()] =
    environment.runs;
  assert.deepEqual(rest, {
    arguments: ['--input', 'a b', '-p', '7'],
    parallelism: 3,
    jobId: JOB_ID,
    restorePath: 'chk-1',
    allowNonRestored: true,
    fresh: false,
    append: true,
    dataDirectory: '/here/.weir',
    rest: { port: 8081 },
  });
  assert.equal(configuration.get('parallelism.default'), 9);
  assert.equal(loaded.job.name, 'orders');
});

test('what may be restored can be configured as well', async () => {
  const environment = new TestEnvironment();
  const path = '-Dexecution.state-recovery.path=/a/chk-2';
  const ignore = '-Dexecution.state-recovery.ignore-unclaimed-state=true';
  await environment.weir('run', path, ignore, 'orders.ts');
  const [run] = environment.runs;
  assert.deepEqual([run?.restorePath, run?.allowNonRestored], ['/a/chk-2', true]);
});

test('the claim mode is an option and a key, the API can be moved or left out', async () => {
  const environment = new TestEnvironment();
  await environment.weir('run', '-s', '/a', '-cm', 'claim', '--no-rest', 'orders.ts');
  await environment.weir('run', '-s', '/a', '-restoreMode=legacy', '-Drest.port=9000', 'orders.ts');
  const key = 'execution.state-recovery.claim-mode';
  const [first, second] = environment.runs;
  assert.deepEqual([first?.configuration.get(key), first?.rest], ['CLAIM', null]);
  assert.deepEqual([second?.configuration.get(key), second?.rest], ['LEGACY', { port: 9000 }]);
  assert.equal(await environment.weir('run', '-s', '/a', '-cm', 'mine', 'orders.ts'), 2);
  assert.match(environment.error.text, /--claimMode mine: it is no_claim or claim/);
});

test('a claim mode without a snapshot is refused, for the job would start without', async () => {
  const environment = new TestEnvironment();
  assert.equal(await environment.weir('run', '-cm', 'claim', 'orders.ts'), 2);
  assert.match(environment.error.text, /--claimMode says what becomes of the snapshot of -s/);
  assert.deepEqual(environment.runs, []);
});

test('a run that was stopped with a savepoint says how to go on from it', async () => {
  const environment = new TestEnvironment();
  environment.run = async () => outcome({ savepoint: '/sp/savepoint-1' });
  assert.equal(await environment.weir('run', '-p2', 'orders.ts', '--input', 'a'), 0);
  assert.deepEqual(environment.out.lines, [
    'stopped with a savepoint after 2.5 s: 3 checkpoints',
    'state is kept in /sp/savepoint-1',
    'go on from it with: weir run -s /sp/savepoint-1 -p 2 orders.ts --input a',
  ]);
});

test('a piped run prints its first line, its course and how it ended', async () => {
  const environment = new TestEnvironment();
  environment.run = events(
    STARTED,
    { type: 'printed', line: '{"word":"a"}' },
    { type: 'checkpointCompleted', checkpointId: 1, durationMs: 5, sizeBytes: 2048, path: null },
    { type: 'log', level: 'warn', message: 'careful' },
  );
  assert.equal(await environment.weir('run', 'orders.ts'), 0);
  assert.deepEqual(environment.out.lines, [
    'job orders: no earlier run, starts empty',
    '{"word":"a"}',
    'checkpoint 1: took 5 ms, 2.00 KB',
    'finished after 2.5 s: 3 checkpoints',
  ]);
  assert.deepEqual(environment.error.lines, ['Warning: careful']);
});

test('--quiet leaves only what the job prints on standard output', async () => {
  const environment = new TestEnvironment();
  const info = { type: 'log', level: 'info', message: 'by the way' } as const;
  environment.run = events(STARTED, info, { type: 'printed', line: 'result' });
  assert.equal(await environment.weir('run', '-q', 'orders.ts'), 0);
  assert.deepEqual(environment.out.lines, ['result']);
  assert.deepEqual(environment.error.lines, [
    'job orders: no earlier run, starts empty',
    'finished after 2.5 s: 3 checkpoints',
  ]);
});

test('--json prints one object a line and moves what the job writes itself', async () => {
  const environment = new TestEnvironment();
  environment.run = async (options) => {
    environment.terminal.pass('console.log\n', environment.terminal.jobOutput);
    return events(STARTED, { type: 'printed', line: 'x' })(options);
  };
  assert.equal(await environment.weir('run', '--json', 'orders.ts'), 0);
  const lines = environment.out.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    lines.map(({ type }) => type),
    ['started', 'printed', 'ended'],
  );
  assert.equal(lines[0]?.['time'], '2023-11-14T22:13:20.000Z');
  assert.equal(lines[0]?.['start'], STARTED.start);
  assert.deepEqual([lines[2]?.['status'], lines[2]?.['exitCode']], ['FINISHED', 0]);
  assert.equal(environment.error.text, 'console.log\n');
});

test('on a terminal the block is drawn while the run goes on and is gone at the end', async () => {
  const environment = new TestEnvironment(true);
  environment.run = async ({ listener }) => {
    listener(STARTED);
    assert.match(environment.out.text, /no checkpoint yet/);
    const drawn = environment.out.text.length;
    environment.clock.advance(1000);
    assert(environment.out.text.length > drawn, 'ages tick');
    return outcome();
  };
  assert.equal(await environment.weir('run', 'orders.ts'), 0);
  const drawn = environment.out.text;
  environment.clock.advance(5000);
  assert.equal(environment.out.text, drawn);
  assert.equal(environment.clock.pendingCount(), 0);
});

test('a failed job says why, that its state is kept, and how to resume; exit code 1', async () => {
  const environment = new TestEnvironment();
  const error = toErrorInfo(new JobSubmissionError('three times', { code: 'JOB_FAILED' }));
  environment.run = async () => outcome({ status: 'FAILED', error, restarts: 2 });
  const options = ['--fresh', '-p2', '-Dpipeline.max-parallelism=64'];
  assert.equal(await environment.weir('run', ...options, 'my job.ts', '--x', "it's"), 1);
  assert.deepEqual(environment.error.lines, [
    'Error [JOB_FAILED]: three times',
    'failed after 2.5 s: 3 checkpoints, 2 restarts',
    'state is kept in /data/checkpoints/chk-3',
    "resume with: weir run -p 2 -Dpipeline.max-parallelism=64 'my job.ts' --x 'it'\\''s'",
  ]);
});

test('no command to go on with holds a secret, and it says what stands in its place', async () => {
  const job = ['orders.ts', '--database', 'postgres://u:hidden@h/db', '--token=hidden'];
  const shown = "orders.ts --database 'postgres://u:***@h/db' '--token=***'";
  const ends = [
    [outcome({ status: 'FAILED' }), `resume with: weir run ${shown}`],
    [outcome({ status: 'FAILED', latestCheckpoint: null }), `run again: weir run ${shown}`],
    [outcome({ savepoint: '/sp/1' }), `go on from it with: weir run -s /sp/1 ${shown}`],
  ] as const;
  for (const [end, command] of ends) {
    const environment = new TestEnvironment();
    environment.run = async () => end;
    await environment.weir('run', ...job);
    assert.deepEqual(environment.runs[0]?.arguments, job.slice(1), 'the job gets it as given');
    const lines = [...environment.out.lines, ...environment.error.lines];
    assert.deepEqual(lines.slice(-2), [command, '*** stands for a secret: give it as before']);
  }
});

test('a run that had finished is no failure', async () => {
  const environment = new TestEnvironment();
  environment.run = async () => outcome({ status: 'ALREADY_FINISHED' });
  assert.equal(await environment.weir('run', 'orders.ts'), 0);
  assert.equal(environment.out.text, '');
  assert.equal(await environment.weir('run', '--quiet', 'orders.ts'), 0);
  assert.match(environment.error.text, /^already finished; use --fresh/);
});

test('the first signal suspends and keeps the state, the second ends the process', async () => {
  const environment = new TestEnvironment();
  const asked: string[] = [];
  environment.run = async ({ stop }) => {
    environment.signal('SIGINT');
    stop?.onStop((how) => asked.push(how));
    environment.signal('SIGINT');
    return outcome({ status: 'SUSPENDED' });
  };
  assert.equal(await environment.weir('run', '-s', 'chk-9', 'orders.ts'), 130);
  assert.deepEqual(asked, ['suspend']);
  assert.deepEqual(environment.exits, [130]);
  assert.match(environment.error.text, /^stopping; the state is kept/);
  assert.deepEqual(environment.out.lines.slice(-3), [
    'stopped after 2.5 s: 3 checkpoints',
    'state is kept in /data/checkpoints/chk-3',
    'resume with: weir run orders.ts',
  ]);
});

test('a run stopped by SIGTERM before its first checkpoint says so', async () => {
  const environment = new TestEnvironment();
  environment.run = async () => {
    environment.signal('SIGTERM');
    return outcome({ status: 'SUSPENDED', latestCheckpoint: null, completedCheckpoints: 0 });
  };
  assert.equal(await environment.weir('run', 'orders.ts'), 143);
  assert.deepEqual(environment.out.lines.slice(-2), [
    'no checkpoint was completed',
    'run again: weir run orders.ts',
  ]);
});

test('after the run signals belong to the process again', async () => {
  const environment = new TestEnvironment();
  await environment.weir('run', 'orders.ts');
  environment.signal('SIGINT');
  assert.deepEqual(environment.exits, []);
  assert.equal(environment.error.text, '');
});

test('a run that is refused for what earlier runs left has exit code 3', async () => {
  const codes: readonly ErrorCode[] = [
    'JOB_ALREADY_RUNNING',
    'JOB_ARGUMENTS_CHANGED',
    'JOB_STATE_UNPROVEN',
    'OUTPUT_NOT_EMPTY',
  ];
  for (const code of codes) {
    const environment = new TestEnvironment();
    environment.run = async () => Promise.reject(new JobSubmissionError('no', { code }));
    assert.equal(await environment.weir('run', 'orders.ts'), 3, code);
    assert.deepEqual(environment.error.lines, [`Error [${code}]: no`]);
  }
});

test('a mistake has the same exit code whether the start or the run finds it', async () => {
  const errors = [
    new WeirError('user', 'no such table', { code: 'SINK_REFUSED' }),
    new WeirError('user', 'no such file', { code: 'SOURCE_UNAVAILABLE' }),
    new WeirError('transient', 'the server is away', { code: 'SINK_UNAVAILABLE' }),
    new WeirError('function', 'map threw', { code: 'USER_FUNCTION_FAILED' }),
  ];
  const codes = errors.map(async (thrown) => {
    const [before, later] = [new TestEnvironment(), new TestEnvironment()];
    before.run = () => Promise.reject(thrown);
    later.run = async () => outcome({ status: 'FAILED', error: toErrorInfo(thrown) });
    return [await before.weir('run', 'orders.ts'), await later.weir('run', 'orders.ts')];
  });
  assert.deepEqual(
    await Promise.all(codes),
    [2, 2, 1, 1].map((code) => [code, code]),
  );
});

test('state that is found not to fit when the job runs is a failure, and no refusal', async () => {
  for (const code of ['STATE_INCOMPATIBLE', 'JOB_STATE_UNPROVEN'] as const) {
    const environment = new TestEnvironment();
    const error = toErrorInfo(new WeirError('user', 'no', { code }));
    environment.run = async () => outcome({ status: 'FAILED', error });
    assert.equal(await environment.weir('run', 'orders.ts'), 1, code);
  }
});

test('a mistake of the user has exit code 2, a fault of the engine 1', async () => {
  const environment = new TestEnvironment();
  environment.run = async () => Promise.reject(new ConfigurationError('no such key'));
  assert.equal(await environment.weir('run', 'orders.ts'), 2);
  environment.run = async () => Promise.reject(new TypeError('undefined is not a function'));
  assert.equal(await environment.weir('run', 'orders.ts'), 1);
});

test('--json tells errors before the start as well', async () => {
  const environment = new TestEnvironment();
  environment.load = async () =>
    Promise.reject(new JobSubmissionError('gone', { code: 'JOB_NOT_LOADABLE' }));
  assert.equal(await environment.weir('run', '--json', 'orders.ts'), 2);
  const ended = JSON.parse(environment.out.lines[0]!) as { type: string; error: { code: string } };
  assert.deepEqual([ended.type, ended.error.code], ['ended', 'JOB_NOT_LOADABLE']);
  assert.deepEqual(environment.error.lines, ['Error [JOB_NOT_LOADABLE]: gone']);
});

test('options that make no sense are refused before anything is loaded', async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /name the job to run/],
    [['-p', '0', 'j.ts'], /-p 0: .*from 1 to 32768/],
    [['-p', 'two', 'j.ts'], /-p two/],
    [['--job-id', 'abc', 'j.ts'], /--job-id abc: .*32 hexadecimal/],
    [['--fresh', '-s', 'chk-1', 'j.ts'], /give one of them/],
    [['--json', '-q', 'j.ts'], /not both/],
  ];
  for (const [words, message] of cases) {
    const environment = new TestEnvironment();
    environment.load = () => assert.fail('loaded');
    assert.equal(await environment.weir('run', ...words), 2);
    assert.match(environment.error.text, message);
  }
});
