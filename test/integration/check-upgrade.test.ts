/** `weir check-upgrade`: what it tells of sinks, and how its command line may be written. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { basePath, fileSink, job, ndjson, type, valueState } from '@weir/core';
import type { Job, RunControl, Sink, StateDeclaration, ValueState } from '@weir/core';
import { TestEnvironment } from '../../packages/core/src/cli/test-environment.ts';
import { LocalFileSystem } from '../../packages/core/src/storage/local-file-system.ts';
import { range } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import { runCheckpointed } from './support/run.ts';

const JOB_ID = 'c'.repeat(32);

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'weir-check-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Ten records between two checkpoints. */
function copying(
  sink: Sink<number>,
  values: readonly number[],
  { unbounded = true, onRead = (_: number): void => undefined } = {},
): Job {
  return job('copying', (env) => {
    env.enableCheckpointing('1h');
    env
      .fromSource(pacedSource({ splits: [values], step: 10, unbounded, onRead }), {
        uid: 'numbers',
      })
      .sinkTo(sink)
      .uid('out');
  });
}

function intoFiles(directory: string): Sink<number> {
  return fileSink<number>({
    path: join(directory, 'out'),
    format: ndjson(),
    bucket: basePath(),
    // Else a file stays open, and may still be cut back to the savepoint.
    rolling: { onCheckpoint: true },
  });
}

/** Runs the job under the hands of `use`, and cancels it. */
async function operated(
  jobToRun: Job,
  dataDirectory: string,
  use: (control: RunControl) => Promise<void>,
): Promise<void> {
  const started = Promise.withResolvers<RunControl>();
  const running = runCheckpointed(jobToRun, {
    dataDirectory,
    jobId: JOB_ID,
    config: { 'execution.checkpointing.interval': '1 h' },
    onStart: started.resolve,
  });
  const control = await started.promise;
  try {
    await eventually(() => control.triggerCheckpoint());
    await use(control);
  } finally {
    control.cancel();
    await running;
  }
}

/** Refused until every task runs. */
async function eventually(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    const error = await work().then(
      () => null,
      (reason: unknown) => reason,
    );
    if (error === null) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

interface Checked {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

async function check(data: string, jobToLoad: Job, ...words: readonly string[]): Promise<Checked> {
  const environment = new TestEnvironment();
  Object.assign(environment, { fileSystem: new LocalFileSystem() });
  environment.variables['WEIR_DATA_DIR'] = data;
  environment.load = async () => ({ job: jobToLoad, sourcePath: '', bundleUrl: null });
  const code = await environment.weir('check-upgrade', '--job-id', JOB_ID, ...words);
  return { code, out: environment.out.text, error: environment.error.text };
}

test('a file sink that went on after the savepoint is told, as a start would refuse', async (t) => {
  const directory = await folder(t);
  const data = join(directory, 'data');
  let reads = 0;
  const copy = copying(intoFiles(directory), range(0, 60), { onRead: () => reads++ });
  let plain = '';
  let last = '';
  await operated(copy, data, async (control) => {
    plain = (await control.triggerSavepoint(join(directory, 'sp'))).path ?? '';
    const { code, out, error } = await check(data, copy, plain, 'job.ts');
    assert.equal(code, 0, error);
    assert.match(out, /sink "out".*: of what the snapshot promises, \d+ published, \d+ to be/);
    const before = reads;
    await control.triggerCheckpoint();
    await eventually(async () => assert.ok(reads >= before + 10));
    await control.triggerCheckpoint();
    last = (await control.triggerSavepoint(join(directory, 'sp'))).path ?? '';
  });
  const before = await readdir(join(directory, 'out'));
  const ahead = await check(data, copy, plain, 'job.ts');
  assert.equal(ahead.code, 3);
  assert.match(ahead.out, /sink "out" \(.*\): is ahead of it/);
  assert.match(ahead.out, /a run has gone on since, to checkpoint \d+/);
  assert.doesNotMatch(ahead.out, /can be started/);
  assert.match(ahead.error, /SINK_AHEAD\]: fileSink has published/);
  const json = await check(data, copy, '--json', plain, 'job.ts');
  const facts = JSON.parse(json.out) as {
    readonly sinks: readonly { readonly obstacle: { readonly code: string } }[];
  };
  assert.equal(facts.sinks[0]?.obstacle.code, 'SINK_AHEAD');
  assert.equal(json.code, 3);
  assert.deepEqual(await readdir(join(directory, 'out')), before, 'nothing was changed');

  const records = join(data, 'jobs', JOB_ID);
  const known = await readdir(records);
  const start = runCheckpointed(copying(intoFiles(directory), range(0, 60), { unbounded: false }), {
    restorePath: plain,
    dataDirectory: data,
    jobId: JOB_ID,
  });
  await assert.rejects(start, { code: 'SINK_AHEAD' });
  assert.deepEqual(await readdir(records), known, 'the next start goes on from where it was');
  const allowed = ['-Dexecution.state-recovery.allow-older=true', plain, 'job.ts'];
  assert.equal((await check(data, copy, ...allowed)).code, 0);
  const newest = await check(data, copy, last, 'job.ts');
  assert.equal(newest.code, 0, newest.error);
});

test('a sink with transactions is asked for those that the savepoint promises', async (t) => {
  const directory = await folder(t);
  const data = join(directory, 'data');
  const ledger = new Ledger<number>();
  let reads = 0;
  const copy = copying(ledgerSink(ledger), range(0, 60), { onRead: () => reads++ });
  await operated(copy, data, async (control) => {
    await eventually(async () => assert.ok(reads > ledger.committed.length));
    const savepoint = (await control.triggerSavepoint(join(directory, 'sp'))).path ?? '';
    const waiting = await check(data, copy, savepoint, 'job.ts');
    assert.match(waiting.out, /0 published, \d+ to be published at the start/);
    await control.triggerCheckpoint();
    await eventually(async () => assert.ok(ledger.committed.length >= reads - 10));
    const published = await check(data, copy, savepoint, 'job.ts');
    assert.match(published.out, /[1-9]\d* published, 0 to be published at the start/);
    assert.match(published.out, /a run has gone on since/);
    assert.equal(published.code, 0);
  });
});

test('of a sink that commits nothing it is said that nobody can tell', async (t) => {
  const directory = await folder(t);
  const results: number[] = [];
  const collecting = job('copying', (env) => {
    env
      .fromSource(pacedSource({ splits: [range(0, 9)], unbounded: true }), { uid: 'numbers' })
      .collect(results);
  });
  let savepoint = '';
  await operated(collecting, join(directory, 'data'), async (control) => {
    savepoint = (await control.triggerSavepoint(join(directory, 'sp'))).path ?? '';
  });
  const { code, out } = await check(join(directory, 'data'), collecting, savepoint, 'job.ts');
  assert.equal(code, 0);
  assert.match(out, /sink .*: records since the snapshot, if any, are written again/);
});

test('values that nobody can check are shown by kind, and so is what they lack', async (t) => {
  const directory = await folder(t);
  const data = join(directory, 'data');
  const keeping = (states: StateDeclaration): Job =>
    job('copying', (env) => {
      env.enableCheckpointing('1h');
      env
        .fromSource(pacedSource({ splits: [range(0, 9)], unbounded: true }), { uid: 'numbers' })
        .keyBy((n) => n % 2)
        .process({
          emits: type<number>(),
          state: states,
          onElement(n, context) {
            const { plain, object, third } = context.state as Record<string, ValueState<unknown>>;
            plain?.update(n);
            third?.update(n);
            object?.update({ n });
            context.emit(n);
          },
        })
        .uid('keep')
        .sinkTo(ledgerSink(new Ledger()))
        .uid('out');
    });
  const stored = keeping({
    plain: valueState(),
    object: valueState({ default: () => ({ n: 0 }) }),
    third: valueState({ version: 3 }),
  });
  let savepoint = '';
  await operated(stored, data, async (control) => {
    savepoint = (await control.triggerSavepoint(join(directory, 'sp'))).path ?? '';
  });
  const same = await check(data, stored, savepoint, 'job.ts');
  assert.equal(same.code, 0, same.error);
  assert.match(same.out, /"numbers".*: 1 item, \d+ B, parallelism 1\n/);
  assert.match(same.out, /"keep".*: 2 keys, \d+ B, parallelism 1\n/);
  assert.match(
    same.out,
    /plain \(value\) is .*; 2 keys were read\n      its values are stored as number; unchecked/,
  );
  assert.match(same.out, /object \(value\) is read as it is; 2 keys were read\n    third/);
  assert.match(same.out, /third .*\n      its values are .*; unchecked .* version 3 as before/);
  const wider = keeping({
    plain: valueState(),
    object: valueState({ default: () => ({ n: 0, label: '' }) }),
  });
  assert.match(
    (await check(data, wider, savepoint, 'job.ts')).out,
    /object .*\n      its values are stored as \{ n: number \}; label of its default is missing/,
  );
  const other = keeping({ plain: valueState({ default: '' }), object: valueState() });
  const refused = await check(data, other, savepoint, 'job.ts');
  assert.equal(refused.code, 3);
  assert.match(
    refused.error,
    /state "plain" of "keep" .*stored as number, but the default .*string/,
  );
  const json = await check(data, stored, '--json', savepoint, 'job.ts');
  const { operators } = JSON.parse(json.out) as {
    readonly operators: readonly { readonly states: readonly object[] }[];
  };
  const found = operators.flatMap(({ states }) => states);
  assert.deepEqual(found[0], {
    operator: same.out.match(/"keep" \(.*?\)/)?.[0],
    state: 'plain',
    kind: 'value',
    scope: 'keyed',
    storedVersion: 1,
    declaredVersion: 1,
    fate: 'as it is',
    sampled: 2,
    storedTypes: ['number'],
    checkedBy: null,
    missingFields: [],
  });
});

test('the command line is taken as people write it', async (t) => {
  const directory = await folder(t);
  const data = join(directory, 'data');
  const withArgument = job('copying', (env) => {
    const into = env.args.string('into');
    env
      .fromSource(pacedSource({ splits: [range(0, 9)], unbounded: true }), { uid: 'numbers' })
      .map((n) => `${into}:${n}`)
      .collect([]);
  });
  let savepoint = '';
  await operated(copying(ledgerSink(new Ledger()), range(0, 9)), data, async (control) => {
    savepoint = (await control.triggerSavepoint(join(directory, 'sp'))).path ?? '';
  });
  for (const words of [
    ['-n', savepoint, 'job.ts', '--into', 'x'],
    [savepoint, '-n', 'job.ts', '--into=x'],
    [`file:${savepoint}`, 'job.ts', '-n', '--into', 'x'],
  ]) {
    const { code, error } = await check(data, withArgument, ...words);
    assert.equal(code, 0, `${words.join(' ')}: ${error}`);
  }
  const missing = await check(data, withArgument, '-n', savepoint, 'job.ts');
  assert.match(missing.error, /the job needs the argument --into/);
  assert.equal(missing.code, 2);
  const swapped = await check(data, withArgument, 'job.ts', savepoint);
  assert.match(swapped.error, /the snapshot comes before the job/);
  const habit = await check(data, withArgument, '-s', savepoint, 'job.ts');
  assert.match(habit.error, /-s: name the snapshot without an option/);
});
