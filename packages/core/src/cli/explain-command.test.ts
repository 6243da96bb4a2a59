import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SinkOuterFacts } from '../api/guarantee-facts.ts';
import { job } from '../api/job.ts';
import type { Sink } from '../api/sink.ts';
import { StorageUnavailableError, WeirError } from '../base/errors.ts';
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

type Ask = () => Promise<SinkOuterFacts>;

const REFUSES: Ask = async () => {
  throw new WeirError('user', 'too few slots', { code: 'SINK_UNAVAILABLE' });
};
const WARNS: Ask = async () => ({ warnings: ['keeps no file'] });

function environmentWithSinks(
  asks: Readonly<Record<string, Ask>>,
  level: 'at-least-once' | 'exactly-once' = 'at-least-once',
): TestEnvironment {
  const environment = new TestEnvironment();
  const sinks = job('sinks', (env) => {
    env.enableCheckpointing('1s').requireGuarantee(level);
    const numbers = env.fromCollection([1], { uid: 'numbers' });
    for (const [name, askOuterSystem] of Object.entries(asks)) {
      const sink = { name, write: 'plain', createWriter: () => null, askOuterSystem };
      numbers.sinkTo(sink as unknown as Sink<number>).uid(name);
    }
  });
  environment.load = async (): Promise<LoadedJob> => ({
    job: sinks,
    sourcePath: '/here/sinks.ts',
    bundleUrl: null,
  });
  return environment;
}

test('what an outer system refuses ends explain as it ends the run, after the plan', async () => {
  const environment = environmentWithSinks({ rows: REFUSES, lists: WARNS });
  assert.equal(await environment.weir('explain', 'sinks.ts'), 2);
  assert.match(
    environment.out.text,
    /required: at-least-once ✗\n.*refused ✗ sink rows: too few slots/,
  );
  assert.match(environment.error.text, /\[SINK_UNAVAILABLE\]: sink rows: too few slots/);
  assert.match(environment.error.text, /lists: keeps no file/, 'the other is heard as well');
});

test('all that outer systems refuse is told, not the first alone', async () => {
  const lists: Ask = async () => ({ refusals: ['no table', 'no right'] });
  const environment = environmentWithSinks({ rows: REFUSES, lists });
  assert.equal(await environment.weir('explain', 'sinks.ts'), 2);
  const reasons = ['sink rows: too few slots', 'sink lists: no table', 'sink lists: no right'];
  assert.match(
    environment.error.text,
    new RegExp(`for 3 reasons:${reasons.map((it) => `\\n\\s+- ${it}`).join('')}\n`),
  );
});

test('an outer system that is away is told of, and is no reason to fail', async () => {
  const away: Ask = async () =>
    Promise.reject(new StorageUnavailableError('nothing listens at here:1'));
  const environment = environmentWithSinks({ lists: away });
  assert.equal(await environment.weir('explain', 'sinks.ts'), 0);
  assert.match(
    environment.error.text,
    /sink lists could not be asked whether it fits: nothing listens at here:1; a run looks again/,
  );
  assert.doesNotMatch(environment.out.text, /refused/);
});

test('explain --json names what is refused', async () => {
  const environment = environmentWithSinks({ rows: REFUSES, lists: WARNS });
  assert.equal(await environment.weir('explain', '--json', 'sinks.ts'), 2);
  const facts = JSON.parse(environment.out.text) as { refusals: string[]; warnings: string[] };
  assert.deepEqual(facts.refusals, ['sink rows: too few slots']);
  assert.deepEqual(facts.warnings, ['lists: keeps no file']);
});

test('a guarantee weaker than required ends explain as it ends the run', async () => {
  const environment = environmentWithSinks({ lists: WARNS }, 'exactly-once');
  assert.equal(await environment.weir('explain', 'sinks.ts'), 2);
  assert.match(environment.out.text, /required: exactly-once ✗/);
  assert.match(environment.error.text, /exactly-once is required/);
});
