import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job } from '../api/job.ts';
import type { LoadedJob } from './run-contract.ts';
import { TestEnvironment } from './test-environment.ts';

function environmentWithJob(): TestEnvironment {
  const environment = new TestEnvironment();
  const orders = job('orders', (env) => {
    const add = env.args.integer('add', 0);
    env
      .fromCollection([1, 2, 3], { uid: 'numbers' })
      .rebalance()
      .map((n) => n + add)
      .uid('added')
      .forEach(() => undefined)
      .uid('out');
  });
  environment.load = async (): Promise<LoadedJob> => ({
    job: orders,
    sourcePath: '/here/orders.ts',
    bundleUrl: null,
  });
  return environment;
}

test('explain shows the graph and runs nothing', async () => {
  const environment = environmentWithJob();
  assert.equal(await environment.weir('explain', '-p', '3', 'orders.ts', '--add', '1'), 0);
  assert.match(environment.out.text, /orders/);
  assert.match(environment.out.text, /added/);
  assert.match(environment.out.text, /parallelism 3/);
  assert.equal(environment.runs.length, 0);
});

test('explain --json is one object with the warnings', async () => {
  const environment = environmentWithJob();
  assert.equal(await environment.weir('explain', '--json', 'orders.ts', '--ad', '1'), 0);
  const facts = JSON.parse(environment.out.text) as { jobName: string; warnings: string[] };
  assert.equal(facts.jobName, 'orders');
  assert(facts.warnings.some((text) => /never reads.*"ad".*did you mean "add"/.test(text)));
});

test('a wrong argument of the job is told as such', async () => {
  const environment = environmentWithJob();
  assert.equal(await environment.weir('explain', 'orders.ts', '--add', 'one'), 2);
  assert.match(environment.error.text, /\[ARGUMENT_INVALID\]: --add: "one" is not a whole number/);
});

test('explain needs a job', async () => {
  const environment = new TestEnvironment();
  assert.equal(await environment.weir('explain'), 2);
  assert.match(environment.error.text, /name the job/);
});
