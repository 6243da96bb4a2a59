/** `weir diff` and `weir check-upgrade` on savepoints of a real job. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { job, operatorListState, type, valueState } from '@weir/core';
import type { Job, RunControl } from '@weir/core';
import { TestEnvironment } from '../../packages/core/src/cli/test-environment.ts';
import { LocalFileSystem } from '../../packages/core/src/storage/local-file-system.ts';
import { pacedSource } from './support/paced-source.ts';
import { run } from './support/run.ts';

function counting(words: readonly string[], results: number[]): Job {
  return job('counting', (env) => {
    env
      .fromSource(pacedSource({ splits: [words], unbounded: true }), { uid: 'words' })
      .process({
        emits: type<string>(),
        state: { seen: operatorListState<string>() },
        onElement(word, context) {
          context.state.seen.add(word);
          context.emit(word);
        },
      })
      .uid('seen')
      .keyBy((word) => word)
      .process({
        emits: type<number>(),
        state: { count: valueState({ default: 0 }) },
        onElement(_, context) {
          const { count } = context.state;
          count.update(count.value + 1);
          context.emit(count.value);
        },
      })
      .uid('counts')
      .collect(results);
  });
}

async function savepointOf(words: readonly string[], directory: string): Promise<string> {
  const results: number[] = [];
  const control = Promise.withResolvers<RunControl>();
  const running = run(counting(words, results), { onStart: control.resolve, parallelism: 2 });
  const operated = await control.promise;
  while (results.length < words.length) await new Promise((resolve) => setImmediate(resolve));
  const { path } = await operated.stopWithSavepoint({ directory });
  await running;
  return path ?? '';
}

async function weir(
  jobToLoad: Job,
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly out: readonly string[]; readonly error: string }> {
  const environment = new TestEnvironment();
  Object.assign(environment, { fileSystem: new LocalFileSystem() });
  environment.load = async () => ({ job: jobToLoad, sourcePath: '', bundleUrl: null });
  const code = await environment.weir(...words);
  return { code, out: environment.out.lines, error: environment.error.text };
}

test('two savepoints are compared by operator, state and key', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'weir-diff-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const a = await savepointOf(['x', 'y', 'x'], directory);
  const b = await savepointOf(['y', 'x', 'z'], directory);
  const any = counting([], []);
  assert.deepEqual(await weir(any, 'diff', a, a), {
    code: 0,
    out: ['both hold the same state'],
    error: '',
  });
  const { code, out } = await weir(any, 'diff', a, b);
  assert.equal(code, 1);
  assert.deepEqual(
    out.toSorted(),
    [
      'counts/count "x": 2 -> 1',
      'counts/count "z": nothing -> 1',
      'seen/seen: {"value":"x"} -> nothing',
      'seen/seen: nothing -> {"value":"z"}',
    ].toSorted(),
  );
  const json = await weir(any, 'diff', '--json', a, b);
  assert.ok(json.out.includes('{"operator":"counts","state":"count","key":"x","a":2,"b":1}'));
});

test('an upgrade is checked without starting it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'weir-check-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const path = await savepointOf(['x', 'y', 'x'], directory);
  const results: number[] = [];
  const good = await weir(counting(['x'], results), 'check-upgrade', '-p', '3', path, 'job.ts');
  assert.equal(good.code, 0);
  assert.match(good.out.join('\n'), /"counts" .*: 2 keys, .*, parallelism 2 -> 3 \(at most 128\)/);
  assert.match(good.out.join('\n'), /count \(value\) is read as it is; 2 keys were read/);
  const json = await weir(counting([], results), 'check-upgrade', '--json', path, 'job.ts');
  const facts = JSON.parse(json.out.join('\n')) as { readonly operators: readonly object[] };
  assert.deepEqual(
    facts.operators.map((it) => 'fate' in it && it.fate),
    ['restored', 'restored', 'restored'],
  );
  const other = job('counting', (env) => {
    env.fromSource(pacedSource({ splits: [['a']] }), { uid: 'words' }).collect([]);
  });
  const refused = await weir(other, 'check-upgrade', path, 'job.ts');
  assert.equal(refused.code, 3);
  assert.match(refused.error, /STATE_INCOMPATIBLE.*would be lost/);
  const dropped = await weir(other, 'check-upgrade', '-n', path, 'job.ts');
  assert.equal(dropped.code, 0);
  assert.match(dropped.out.join('\n'), /"counts" is gone: its state is dropped \(2 keys/);
  assert.deepEqual(results, [], 'nothing was started');
});
