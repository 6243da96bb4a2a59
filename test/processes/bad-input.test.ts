import assert from 'node:assert/strict';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { finishedFiles } from '../../tools/exactly-once/recount.ts';
import { place } from './weir.ts';
import type { Ended, Place } from './weir.ts';

// One line, since places in the job file are part of what is checked.
const IMPORTS =
  'import { basePath, fileSink, fileSource, fromCollection, job, lines, ndjson, type, ' +
  "valueState } from '@weir/core';\n";

/** A job file with these lines as the body of its function. */
function jobOf(at: Place, name: string, body: string): string {
  return at.job(name, `${IMPORTS}export default job('subject', (env) => {\n${body}\n});\n`);
}

/** One message with its code and exit code; frames of a stack only in files of the user. */
function assertTold(ended: Ended, exitCode: number, message: RegExp): void {
  assert.match(ended.err, message);
  assert.equal(ended.code, exitCode, ended.output);
  assert.equal(ended.err.match(/^Error/gm)?.length, 1, ended.err);
  assert.doesNotMatch(ended.err, /packages\/core|node:internal|fault of Weir/);
}

const MODULES: readonly (readonly [string, string, RegExp])[] = [
  [
    'throws while it is loaded',
    `${IMPORTS}throw new Error('no luck');`,
    /JOB_NOT_LOADABLE\]: job\.ts throws while it is loaded: no luck \(job\.ts:2\)/,
  ],
  [
    'has a syntax error',
    `${IMPORTS}export default job('x', (env) => { const = 3; });`,
    /JOB_NOT_LOADABLE\]: cannot compile the job job\.ts: job\.ts:2:42: Expected/,
  ],
  [
    'exports no job',
    'export const main = 3;',
    /JOB_NOT_LOADABLE\]: job\.ts has no default export \(it exports only main\)/,
  ],
  [
    'throws while it builds its graph',
    `${IMPORTS}export default job('x', () => { throw new Error('no graph'); });`,
    /JOB_NOT_LOADABLE\]: job "x" threw while it built its graph: no graph/,
  ],
  [
    'imports what is not there',
    `import x from './gone.ts';\nexport default x;`,
    /JOB_NOT_LOADABLE\].*job\.ts:1:\d+: cannot find the file "\.\/gone\.ts"/,
  ],
];

for (const [what, text, message] of MODULES)
  test(`a job module that ${what} is told with its place`, async (t) => {
    const at = place(t);
    assertTold(await at.run(['run', at.job('job.ts', text)]), 2, message);
  });

test('a job module that ends the process does not look like a run that went well', async (t) => {
  const at = place(t);
  const job = at.job('job.ts', `${IMPORTS}process.exit(0);\nexport default job('x', () => {});\n`);
  assertTold(await at.run(['run', job]), 1, /^Error: code of the job called process\.exit/m);
});

const GRAPHS: readonly (readonly [string, string, RegExp])[] = [
  [
    'builds another graph when it is evaluated again',
    "env.fromSource(fromCollection([1]), { uid: 's' })" +
      '.map((x) => x).uid(`m${Math.random()}`).print();',
    /PLAN_CHANGED\]: job "subject" built another graph when it was evaluated again/,
  ],
  [
    'gives two operators one uid',
    "env.fromSource(fromCollection([1]), { uid: 's' })\n" +
      ".map((x) => x).uid('m')\n" +
      ".map((x) => x).uid('m').print();",
    new RegExp(
      String.raw`UID_DUPLICATE\]: the operators "Map" \(job\.ts:4\) and "Map" \(job\.ts:5\) ` +
        'have the same uid "m"',
    ),
  ],
  [
    'has no operators',
    '',
    /GRAPH_INVALID\]: job "subject" has no operators: begin with env\.fromSource/,
  ],
  [
    'never publishes, since checkpoints are off and its input has no end',
    `env.fromSource(fileSource({ path: '.', format: lines(), watch: true }), { uid: 's' })
      .sinkTo(fileSink({ path: 'out', format: ndjson<string>() })).uid('out');`,
    /GRAPH_INVALID\]: "out" .*this sink publishes on completed checkpoints; checkpointing is off/,
  ],
  [
    'misses an argument',
    "env.args.number('count'); env.fromSource(fromCollection([1]), { uid: 's' }).print();",
    /ARGUMENT_INVALID\]: the job needs the argument --count, a number \(job\.ts:3\)/,
  ],
];

for (const [what, body, message] of GRAPHS)
  test(`a job that ${what} is refused before it starts`, async (t) => {
    const at = place(t);
    assertTold(await at.run(['run', jobOf(at, 'job.ts', body)]), 2, message);
  });

test('wrong settings are told with key, origin and what is meant', async (t) => {
  const at = place(t);
  const job = jobOf(at, 'job.ts', "env.fromSource(fromCollection([1]), { uid: 's' }).print();");
  at.write('weir.yaml', 'execution:\n  checkpointing:\n    intervall: 5s\n');
  at.write('broken.yaml', 'a: [\n');
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [
      [],
      new RegExp(
        String.raw`CONFIG_INVALID\]: execution\.checkpointing\.intervall \(weir\.yaml\).*` +
          String.raw`did you mean "execution\.checkpointing\.interval"`,
      ),
    ],
    [['--config', 'broken.yaml'], /CONFIG_INVALID\]: broken\.yaml is not valid YAML: .*line 2/],
    [['--config', 'gone.yaml'], /ARGUMENT_INVALID\]: there is no configuration file gone\.yaml/],
    [
      ['--config', '/dev/null', '-Dexecution.checkpointing.interval=soon'],
      /CONFIG_INVALID\]: execution\.checkpointing\.interval.*soon/,
    ],
    [
      ['--config', '/dev/null', '-Dparallelsm.default=2'],
      /CONFIG_INVALID\].*did you mean "parallelism\.default"/,
    ],
    [
      ['--config', '/dev/null', '-Dstate.backend.type=rocksdb'],
      /CONFIG_UNSUPPORTED\]: state\.backend\.type: rocksdb .*not supported/,
    ],
    [
      ['--config', '/dev/null', '-Dexecution.checkpointing.unaligned.enabled=true'],
      /CONFIG_UNSUPPORTED\]: execution\.checkpointing\.unaligned\.enabled/,
    ],
    [['-p', '0'], /ARGUMENT_INVALID\]: weir run: -p 0: the parallelism must be/],
    [['--job-id', 'zz'], /ARGUMENT_INVALID\]: weir run: --job-id zz: an id is 32 hexadecimal/],
    [
      ['--frehs'],
      /ARGUMENT_INVALID\]: weir run: there is no option --frehs; did you mean "--fresh"/,
    ],
  ];
  for (const [options, message] of cases)
    assertTold(await at.run(['run', ...options, job]), 2, message);
  assertTold(await at.run(['run', '-s', 'gone', job], {}), 2, /CONFIG_INVALID|ARGUMENT_INVALID/);
});

test('input that is missing or cannot be read is told with its path', async (t) => {
  const at = place(t);
  symlinkSync(at.path('loop'), at.path('loop'));
  at.write('file', 'x\n');
  const cases: readonly (readonly [string, RegExp])[] = [
    ['gone.txt', /SOURCE_UNAVAILABLE\]: fileSource cannot read .*gone\.txt: there is no such file/],
    ['loop', /SOURCE_UNAVAILABLE\]: .*\/loop/],
    ['file/below', /SOURCE_UNAVAILABLE\]: .*file\/below/],
    ['gone-*.txt', /fileSource found no file in .*gone-\*\.txt/],
  ];
  for (const [path, message] of cases) {
    const body = `env.enableCheckpointing('1s');
      const input = fileSource({ path: ${JSON.stringify(path)}, format: lines() });
      env.fromSource(input, { uid: 's' }).print();`;
    const ended = await at.run(['run', '--fresh', jobOf(at, 'job.ts', body)]);
    assert.match(ended.err, message);
    // A pattern that fits nothing, like an empty folder, is an input without records.
    assert.equal(ended.code, path.includes('*') ? 0 : 2, ended.output);
  }
});

const MALFORMED = '1\n"x"\n{not json\n2\n';

function malformedJob(at: Place, policy: string): string {
  at.write('in.ndjson', MALFORMED);
  return jobOf(
    at,
    'job.ts',
    `env.enableCheckpointing('50ms');
    const format = ndjson<unknown>();
    const onMalformed = ${policy};
    env.fromSource(fileSource({ path: 'in.ndjson', format, onMalformed, rate: 700 }), { uid: 's' })
      .sinkTo(fileSink({ path: 'out', format, bucket: basePath() })).uid('out');`,
  );
}

function linesBelow(folder: string): string[] {
  return finishedFiles(folder)
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .filter((line) => line !== '')
    .toSorted((a, b) => (a < b ? -1 : 1));
}

test('a malformed line failing three times ends the job with file and byte [R107]', async (t) => {
  const at = place(t);
  const ended = await at.run(['run', malformedJob(at, "'fail'")]);
  assertTold(
    ended,
    1,
    /JOB_FAILED\]: the same record failed 3 times, at byte 6 of .*in\.ndjson: .*"\{not json"/,
  );
});

test('malformed lines can be skipped, and are counted [R107]', async (t) => {
  const at = place(t);
  const ended = await at.run(['run', '--json', malformedJob(at, "'skip'")]);
  assert.equal(ended.code, 0, ended.output);
  assert.deepEqual(linesBelow(at.path('out')), ['"x"', '1', '2']);
});

test('dead letters stand there once, whatever was killed and replayed [R107]', async (t) => {
  const at = place(t);
  const job = malformedJob(at, "{ deadLetter: 'bad' }");
  const good = Array.from({ length: 1500 }, (_, index) => index);
  writeFileSync(
    at.path('in.ndjson'),
    good.map((n) => (n % 10 === 3 ? `broken ${n}\n` : `${n}\n`)).join(''),
  );
  for (let kills = 0; kills < 5; kills++) {
    const weir = at.start(['run', job]);
    await weir.said(/starts empty|resumes from/);
    await sleep(100 + 100 * kills);
    await weir.kill();
  }
  const { code, output } = await at.run(['run', job]);
  assert.equal(code, 0, output);
  const letters = linesBelow(at.path('bad')).map(
    (line) => (JSON.parse(line) as { line: string }).line,
  );
  const broken = good.filter((n) => n % 10 === 3).map((n) => `broken ${n}`);
  assert.deepEqual(letters.toSorted(), broken.toSorted());
  assert.deepEqual(
    linesBelow(at.path('out'))
      .map(Number)
      .toSorted((a, b) => a - b),
    good.filter((n) => n % 10 !== 3),
  );
  assert.deepEqual(
    readdirSync(at.path('bad')).filter((name) => name.startsWith('.')),
    [],
  );
});

const RECORDS: readonly (readonly [string, string, RegExp])[] = [
  [
    'that cannot be sent',
    ".map((x) => ({ a: { fn: () => x } })).uid('m').rebalance().map(() => 1).uid('n').print();",
    /JOB_FAILED\]: .*operator "m" .*cannot store a function \(at a\.fn\)/,
  ],
  [
    'without a key',
    '.keyBy((x) => (x > 1 ? x : (undefined as never)))' +
      ".process({ emits: type<number>(), onElement: (x, c) => c.emit(x) }).uid('m').print();",
    /JOB_FAILED\]: .*keyBy behind operator "s" returned undefined; a key must be/,
  ],
  [
    'whose state cannot be stored',
    `.rebalance().keyBy((x) => x).process({
      emits: type<number>(),
      state: { held: valueState<unknown>() },
      onElement(x, c) { c.state.held.update({ p: { fn: () => x } }); } }).uid('m').print();`,
    /JOB_FAILED\]: .*state "held" of m under key \d: cannot store a function \(at p\.fn\)/,
  ],
];

for (const [what, rest, message] of RECORDS)
  test(`a record ${what} ends the job after three tries, naming operator and place`, async (t) => {
    const at = place(t);
    const body = `env.enableCheckpointing('100ms');
      env.fromSource(fromCollection([1, 2, 3]), { uid: 's' })${rest}`;
    assertTold(await at.run(['run', '-p', '2', jobOf(at, 'job.ts', body)]), 1, message);
  });

test('a misspelt job argument is told, and does not keep the job from running', async (t) => {
  const at = place(t);
  const body = `const n = env.args.number('count', 1);
    env.fromSource(fromCollection([1]), { uid: 's' }).map((x) => x + n).uid('m').print();`;
  const { code, err } = await at.run(['run', jobOf(at, 'job.ts', body), '--cuont', '4']);
  assert.equal(code, 0);
  assert.match(err, /does not read the argument --cuont; did you mean "count"/);
});
