import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Configuration } from '../base/configuration.ts';
import { WeirError } from '../base/errors.ts';
import { buildStreamGraph } from './build-stream-graph.ts';
import type { BuildOptions } from './build-stream-graph.ts';
import { isJob, job } from './job.ts';
import type { SinkWriterContext } from './sink.ts';
import type { StreamExecutionEnvironment } from './stream-execution-environment.ts';

/** Typed so that the compiler lets them through, as it does in JavaScript. */
const ASYNC: () => unknown = async () => undefined;
const PROMISING: () => unknown = () => Promise.resolve();

type Build = (env: StreamExecutionEnvironment) => void;

function build(define: Build, options: BuildOptions = {}): ReturnType<typeof buildStreamGraph> {
  return buildStreamGraph(job('orders', define), options);
}

function refusal(call: () => unknown): WeirError {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof WeirError);
    return error;
  }
  return assert.fail('nothing was refused');
}

test('a job is recognised whichever copy of the package made it', () => {
  assert.equal(isJob(job('orders', () => undefined)), true);
  const other = { [Symbol.for('weir.job')]: true, name: 'x', build: () => undefined };
  assert.equal(isJob(other), true);
  for (const value of [null, undefined, 'job', {}, () => undefined])
    assert.equal(isJob(value), false);
});

test('a job needs a name and a synchronous function', () => {
  assert.match(refusal(() => job(' ', () => undefined)).message, /name/);
  assert.match(refusal(() => job('orders', undefined as never)).message, /"orders".*a function/);
  assert.match(refusal(() => job('orders', ASYNC)).message, /must not be async/);
});

test('every evaluation makes its own function objects', () => {
  const counting = job('orders', (env) => {
    let count = 0;
    env.fromCollection([1]).map(() => ++count);
  });
  const call = (): unknown => {
    const spec = buildStreamGraph(counting).graph.nodes[1]!.spec;
    assert.ok(spec.type === 'map');
    return spec.fn.map(1);
  };
  assert.deepEqual([call(), call()], [1, 1]);
});

test('a job without operators is refused', () => {
  assert.match(refusal(() => build(() => undefined)).message, /"orders" has no operators/);
});

test('operators added after the job was built are refused', () => {
  let kept: StreamExecutionEnvironment | null = null;
  build((env) => {
    kept = env;
    env.fromCollection([1]);
  });
  const { message } = refusal(() => kept!.fromCollection([2]));
  assert.match(message, /fromCollection at build-stream-graph\.test\.ts:\d+: .* is complete/);
});

test('a job that throws is reported by name, with the cause', () => {
  const cause = new TypeError('no such table');
  const error = refusal(() =>
    build(() => {
      throw cause;
    }),
  );
  assert.equal(error.code, 'JOB_NOT_LOADABLE');
  assert.match(error.message, /"orders" threw .*no such table/);
  assert.equal(error.cause, cause);
});

test('a job that returns a promise is refused', () => {
  const error = refusal(() => build(PROMISING));
  assert.equal(error.code, 'JOB_NOT_LOADABLE');
  assert.match(error.message, /must not return a promise/);
});

test('what is given at the start wins over what the job sets', () => {
  const { settings } = build(
    (env) => {
      env.fromCollection([1]);
      env.enableCheckpointing('10s').setParallelism(2);
      assert.equal(env.configuration.get('parallelism.default'), 5, 'the job sees it too');
      assert.equal(env.configuration.get('execution.checkpointing.interval'), 10_000);
    },
    { configuration: Configuration.fromProperties(['parallelism.default=5']) },
  );
  assert.equal(settings.configuration.get('parallelism.default'), 5);
  assert.equal(settings.configuration.get('execution.checkpointing.interval'), 10_000);
  assert.match(
    settings.configuration.originOf('execution.checkpointing.interval') ?? '',
    /^build-stream-graph\.test\.ts:\d+$/,
  );
});

test('settings that do not fit each other are refused, wherever each came from', () => {
  const error = refusal(() =>
    build(
      (env) => {
        env.fromCollection([1]);
        env.setRestartStrategy({ type: 'fixed-delay', attempts: 3, delay: '1s' });
      },
      { configuration: Configuration.empty },
    ),
  );
  assert.match(error.message, /needs checkpoints/);
});

test('arguments that the job never asked for are known afterwards', () => {
  const { settings } = build(
    (env) => {
      env.args.string('input');
      env.args.integer('rate', 5);
      env.fromCollection([1]);
    },
    { args: { input: 'a.txt', ouptut: 'b' } },
  );
  assert.deepEqual(settings.argumentsRead, ['input', 'rate']);
  assert.deepEqual(settings.argumentsUnread, ['ouptut']);
});

test('print writes to the console of the run', () => {
  const lines: string[] = [];
  const { graph } = build((env) => void env.fromCollection(['a']).print(), {
    printLine: (line) => lines.push(line),
  });
  const { spec } = graph.nodes[1]!;
  assert.ok(spec.type === 'sink');
  const writer = spec.sink.createWriter({ subtask: 0, parallelism: 1 } as SinkWriterContext, []);
  writer.write('a', { timestamp: 0, watermark: 0 });
  assert.deepEqual(lines, ['a']);
});

test('warnings of the configuration are handed on', () => {
  const { settings } = build((env) => void env.fromCollection([1]), {
    configuration: Configuration.fromProperties(['state.checkpoints.num-retained=2']),
  });
  assert.equal(settings.warnings.length, 1);
});

test('the graph may be changed once it is built, as a simulation does', () => {
  const { graph } = build((env) => void env.fromCollection(['a']).uid('words').print(), {
    changeGraph: (built) => ({ ...built, jobName: `${built.jobName} of ${built.nodes[0]?.uid}` }),
  });
  assert.match(graph.jobName, / of words$/);
});
