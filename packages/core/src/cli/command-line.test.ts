import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS } from './commands.ts';
import { TestEnvironment } from './test-environment.ts';

test('help names every command, and every option of each', async () => {
  const environment = new TestEnvironment();
  assert.equal(await environment.weir('help'), 0);
  for (const { name } of COMMANDS) assert.match(environment.out.text, new RegExp(`weir ${name} `));
  for (const { name, options } of COMMANDS) {
    const help = new TestEnvironment();
    assert.equal(await help.weir('help', name), 0);
    for (const { short, long } of options)
      for (const option of [short, long])
        if (option !== undefined) assert(help.out.text.includes(option), `${name} ${option}`);
    for (const line of help.out.lines) assert(line.length <= 100, line);
  }
});

test('a command shows its help when asked, wherever the option stands before the job', async () => {
  const environment = new TestEnvironment();
  assert.equal(await environment.weir('run', '-p', '2', '--help'), 0);
  assert.match(environment.out.text, /^usage: weir run /);
  assert.equal(environment.runs.length, 0);
});

test('a help option behind the job belongs to the job', async () => {
  const environment = new TestEnvironment();
  await environment.weir('run', 'orders.ts', '--help');
  assert.deepEqual(environment.runs[0]?.arguments, ['--help']);
});

test('without a command the overview goes to standard error', async () => {
  const environment = new TestEnvironment();
  assert.equal(await environment.weir(), 2);
  assert.match(environment.error.text, /weir run/);
  assert.equal(environment.out.text, '');
});

test('the version is one line', async () => {
  for (const option of ['--version', '-v']) {
    const environment = new TestEnvironment();
    assert.equal(await environment.weir(option), 0);
    assert.equal(environment.out.text, 'weir 1.2.3\n');
  }
});

test('an unknown command is refused with the nearest, a job file with how to run it', async () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['rum', /there is no command rum; did you mean "run"/],
    ['--verison', /there is no option --verison; did you mean "--version"/],
    ['xyzzyx', /there is no command xyzzyx; see: weir help/],
    ['orders.ts', /to run the job write: weir run orders\.ts/],
  ];
  for (const [word, message] of cases) {
    const environment = new TestEnvironment();
    assert.equal(await environment.weir(word), 2);
    assert.match(environment.error.text, message);
  }
});
