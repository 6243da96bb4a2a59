/** What is told of records, keys and settings that cannot be: where it was, and what helps. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { job, runJob, type } from '@weir/core';
import type { ErrorCode, StreamExecutionEnvironment } from '@weir/core';
import { logged, run } from './support/run.ts';

interface Failure {
  readonly code: ErrorCode;
  readonly message: RegExp;
}

/** The job's own error is the cause of the one that says that it is not restarted. */
async function fails(
  build: (env: StreamExecutionEnvironment) => void,
  { code, message }: Failure,
): Promise<void> {
  await assert.rejects(run(job('bad', build)), (error: Error) => {
    const cause = (error.cause ?? error) as Error & { code: string };
    assert.equal(cause.code, code);
    assert.match(error.message, message);
    return true;
  });
}

test('a key function that returns undefined is named, and what a key may be', () =>
  fails(
    (env) =>
      void env
        .fromCollection([{ id: 1 }, {}] as { readonly id: number }[])
        .uid('orders')
        .keyBy(({ id }) => id)
        .reduce((a) => a)
        .collect([]),
    {
      code: 'KEY_INVALID',
      message:
        /key .*behind operator "orders" returned undefined; a key must be a string, a finite/,
    },
  ));

test('a key function that throws is named, not the operator before it', () =>
  fails(
    (env) =>
      void env
        .fromCollection([null])
        .flatMap(() => [1])
        .uid('before')
        .keyBy(() => {
          throw new Error('no id');
        })
        .reduce((a) => a)
        .collect([]),
    {
      code: 'USER_FUNCTION_FAILED',
      message: /key function or partitioner behind operator "before" \(bad-input.* threw: no id/,
    },
  ));

test('a partitioner that answers no subtask is named with what it answered', () =>
  fails(
    (env) =>
      void env
        .fromCollection([1])
        .uid('numbers')
        .partitionCustom(
          (n) => n,
          () => 7,
        )
        .map((n) => n)
        .collect([]),
    {
      code: 'USER_FUNCTION_FAILED',
      message: /partitioner behind operator "numbers" returned 7; .* integer from 0 to 0/,
    },
  ));

test('a failing function is named with its operator and its place in the code', () =>
  fails(
    (env) =>
      void env
        .fromCollection([1])
        .keyBy((n) => n)
        .process({
          emits: type<number>(),
          onElement() {
            throw new Error('out of luck');
          },
        })
        .uid('lucky')
        .collect([]),
    {
      code: 'USER_FUNCTION_FAILED',
      message:
        /onElement of operator "lucky" \(KeyedProcess, bad-input.*:\d+.*\) threw: out of luck/,
    },
  ));

test('an argument that the job never reads is told, with the one that may be meant', async () => {
  const greeting = job('arguments', (env) => {
    const input = env.args.string('input', 'default');
    env.fromCollection([input]).collect([]);
  });
  const { events } = await run(greeting, { args: { inptu: 'a.txt' } });
  assert.deepEqual(
    logged(events, 'warn').filter((text) => text.includes('argument')),
    ['the job does not read the argument --inptu; did you mean "input"?'],
  );
});

test('an option of weir behind the job file is told to stand before it', async () => {
  const greeting = job('options-behind', (env) => {
    env.fromCollection([1]).collect([]);
  });
  const { events } = await run(greeting, { args: { 'job-id': 'a'.repeat(32) } });
  assert.deepEqual(
    logged(events, 'warn').filter((text) => text.includes('argument')),
    [
      'the job does not read the argument --job-id; if it is meant for weir, write it before the ' +
        'job file',
    ],
  );
});

test('a record that cannot cross to another thread is named with operator and field', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-bad-'));
  try {
    const path = join(folder, 'unserialisable.ts');
    writeFileSync(
      path,
      `import { fromCollection, job } from '@weir/core';
       export default job('unserialisable', (env) => {
         env
           .fromCollection([1, 2, 3])
           .map((n) => ({ n, parts: [{ convert: () => n }] }))
           .uid('converters')
           .rebalance()
           .map(({ n }) => n)
           .forEach(() => undefined);
       });`,
    );
    await assert.rejects(runJob(path, { parallelism: 2 }), (error: Error) => {
      assert.match(
        error.message,
        /operator "converters" in subtask \d emitted a value that cannot/,
      );
      assert.match(error.message, /parts\[0\]\.convert/);
      return true;
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
