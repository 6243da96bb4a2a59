import assert from 'node:assert/strict';
import { readFileSync, existsSync } from 'node:fs';
import { test } from 'node:test';
import { finishedFiles } from '../../tools/exactly-once/recount.ts';
import { place } from './weir.ts';
import type { Place } from './weir.ts';

const NUMBERS = 3000;

/**
 * A job that numbers the records of each key; at record `at` it does `fault` once, as a file says
 * that outlives thread and process.
 */
function faultyJob(at: Place, fault: string): string {
  at.write('numbers.txt', Array.from({ length: NUMBERS }, (_, index) => `${index}\n`).join(''));
  return at.job(
    'faulty.ts',
    `import { existsSync, writeFileSync } from 'node:fs';
import { basePath, fileSink, fileSource, job, lines, ndjson, type, valueState } from '@weir/core';

const FLAG = ${JSON.stringify(at.path('happened'))};
const INPUT = ${JSON.stringify(at.path('numbers.txt'))};
const OUTPUT = ${JSON.stringify(at.path('output'))};

function fault(): void {
  if (existsSync(FLAG)) return;
  writeFileSync(FLAG, '');
  ${fault}
}

export default job('faulty', (env) => {
  env.enableCheckpointing('100ms');
  env
    .fromSource(fileSource({ path: INPUT, format: lines(), rate: 2000 }), { uid: 'numbers' })
    .map((line) => Number(line)).uid('parsed')
    .keyBy((value) => value % 7)
    .process({
      emits: type<{ key: number; value: number; n: number }>(),
      state: { count: valueState({ default: 0 }) },
      onElement(value, context) {
        if (value === 1500) fault();
        const n = context.state.count.value + 1;
        context.state.count.update(n);
        context.emit({ key: context.key, value, n });
      },
    })
    .uid('numbered')
    .sinkTo(fileSink({ path: OUTPUT, format: ndjson<object>(), bucket: basePath() }))
    .uid('out');
});
`,
  );
}

/** Every number stands there once, and the numbering of each key has no gap and no repetition. */
function assertExact(at: Place): void {
  const rows = finishedFiles(at.path('output'))
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { key: number; value: number; n: number });
  const values = rows.map(({ value }) => value).toSorted((a, b) => a - b);
  assert.deepEqual(
    values,
    Array.from({ length: NUMBERS }, (_, index) => index),
  );
  for (let key = 0; key < 7; key++) {
    const ns = rows.filter((row) => row.key === key).map(({ n }) => n);
    assert.deepEqual(
      ns.toSorted((a, b) => a - b),
      Array.from(ns, (_, index) => index + 1),
    );
  }
}

const FAULTS: readonly (readonly [string, string, RegExp])[] = [
  ['calls process.exit', 'process.exit(7);', /thread of slot \d died.*code 7/],
  [
    'leaves a rejection unhandled',
    "void Promise.reject(new Error('nobody catches me'));",
    /thread of slot \d died.*nobody catches me/,
  ],
  [
    'throws in a callback of its own',
    "setTimeout(() => { throw new Error('too late'); }, 1);",
    /thread of slot \d died.*too late/,
  ],
  [
    'uses up the memory of its thread',
    // In small pieces: one large allocation beyond the limit would end all of Node at once.
    'let hoard: unknown = null;' +
      'setInterval(() => { for (let i = 0; i < 20_000; i++) hoard = [hoard, i]; }, 0);',
    /thread of slot \d died.*memory/,
  ],
];

for (const [name, fault, message] of FAULTS)
  test(`a job whose function ${name} restarts from its checkpoint, and is exact`, async (t) => {
    const at = place(t);
    const job = faultyJob(at, fault);
    const nodeOptions = ['--max-old-space-size=150'];
    const { code, output } = await at.run(['run', '-p', '2', job], { nodeOptions });
    assert.equal(code, 0, output);
    assert.match(output, message);
    assert.match(output, /restarting \d+ tasks? in \d+ ms/);
    assert.ok(existsSync(at.path('happened')));
    assertExact(at);
  });

test('a function that blocks its thread is named, then its slot restarted [R113]', async (t) => {
  const at = place(t);
  const job = faultyJob(at, 'for (;;);');
  const options = ['-p', '2', '-Dweir.task.stall-timeout=3s'];
  const weir = at.start([
    'run',
    ...options,
    '-Dexecution.checkpointing.timeout=500ms',
    '-Dexecution.checkpointing.tolerable-failed-checkpoints=100',
    job,
  ]);
  await weir.said(
    new RegExp(
      String.raw`slow operator: operator "numbered" at .*faulty\.ts:\d+ has blocked ` +
        String.raw`the thread of slot \d for 1\.\d s`,
    ),
  );
  const { code, output } = await weir.ended;
  assert.equal(code, 0, output);
  // The timers of checkpoints went on meanwhile.
  assert.match(output, /checkpoint \d+ failed: .*\(CHECKPOINT_EXPIRED\)/);
  assert.match(output, /restarting .* after: .*longer than weir\.task\.stall-timeout allows/);
  assertExact(at);
});

test('slow functions and many timers are not taken for a thread that stands still', async (t) => {
  const at = place(t);
  const job = at.job(
    'slow.ts',
    `import { boundedOutOfOrderness, datagen, job, type } from '@weir/core';

/** More than a second of records, and as much of timers at the end of the input, in pieces. */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

export default job('slow', (env) => {
  env.enableCheckpointing('100ms');
  env
    .fromSource(datagen({ generator: (index) => index, count: 700 }), {
      uid: 'numbers',
      watermarks: boundedOutOfOrderness('1h', (value: number) => value),
    })
    .keyBy((value) => value)
    .process({
      emits: type<number>(),
      onElement(value, context) {
        work(2);
        context.timerService.registerEventTimeTimer(value);
      },
      onTimer(_time, context) {
        work(2);
        context.emit(context.key);
      },
    })
    .uid('slow')
    .forEach(() => undefined)
    .uid('out');
});
`,
  );
  const { code, output } = await at.run([
    'run',
    '-Dweir.task.stall-warning=1s',
    '-Dweir.task.stall-timeout=1s',
    job,
  ]);
  assert.equal(code, 0, output);
  assert.doesNotMatch(output, /slow operator|restarting/);
  assert.match(output, /checkpoint \d+: took/);
});
