import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECK_UPGRADE, RUN } from './commands.ts';
import { parseOptions } from './options.ts';
import type { ParsedOptions } from './options.ts';

function parse(...args: readonly string[]): ParsedOptions {
  return parseOptions(args, { ...RUN, command: 'weir run' });
}

function refusal(...args: readonly string[]): RegExp | string {
  try {
    parse(...args);
  } catch (error) {
    return (error as Error).message;
  }
  assert.fail(`${args.join(' ')} was accepted`);
}

test('a value may be attached, separate, or behind an equals sign', () => {
  for (const words of [['-p4'], ['-p', '4'], ['--parallelism', '4'], ['--parallelism=4']])
    assert.equal(parse(...words, 'job.ts').value('--parallelism'), '4', words.join(' '));
});

test('one dash does for a long option, as with Flink', () => {
  const options = parse('-parallelism', '3', '-fromSavepoint=/a', '-allowNonRestoredState', 'j.ts');
  assert.equal(options.value('--parallelism'), '3');
  assert.equal(options.value('--fromSavepoint'), '/a');
  assert(options.has('--allowNonRestoredState'));
});

test('what stands behind the job belongs to the job', () => {
  const options = parse('-p', '2', 'job.ts', '-p', '5', '--fresh', '--', '-Dx=1');
  assert.equal(options.value('--parallelism'), '2');
  assert(!options.has('--fresh'));
  assert.deepEqual(options.words, ['job.ts', '-p', '5', '--fresh', '--', '-Dx=1']);
});

test('settings may be attached or separate, and keep their order', () => {
  const options = parse('-Da.b=1', '-D', 'c=2', '-Da.b=3', 'job.ts');
  assert.deepEqual(options.values('-D'), ['a.b=1', 'c=2', 'a.b=3']);
});

test('of an option given twice the last counts', () => {
  assert.equal(parse('-p', '1', '-p', '2', 'job.ts').value('--parallelism'), '2');
});

test('a command without operands of a job takes options anywhere', () => {
  const options = parseOptions(['chk-1', '--json'], {
    command: 'weir inspect',
    options: [{ long: '--json', text: '' }],
  });
  assert(options.has('--json'));
  assert.deepEqual(options.words, ['chk-1']);
});

test('an unknown option is refused with the nearest one', () => {
  assert.match(String(refusal('--paralelism', '2', 'j.ts')), /did you mean "--parallelism"/);
  assert.match(
    String(refusal('--xyzzyxyzzy=1', 'j.ts')),
    /no option --xyzzyxyzzy; see: weir help run/,
  );
});

test('an option that needs a value does not take the next option for it', () => {
  assert.match(String(refusal('-p', '--fresh', 'j.ts')), /-p needs a value: -p N/);
  assert.match(String(refusal('--job-id')), /--job-id needs a value/);
  assert.match(String(refusal('--config=', 'j.ts')), /--config needs a value/);
});

test('a switch takes no value', () => {
  assert.match(String(refusal('--fresh=yes', 'j.ts')), /--fresh is a switch/);
});

test('options of Flink that have no place here are refused with what to do instead', () => {
  assert.match(String(refusal('-yid', 'application_1', 'j.ts')), /-yid: Weir does not run on YARN/);
  assert.match(String(refusal('-c', 'org.Main', 'j.ts')), /no entry class.*--config FILE/);
  assert.match(String(refusal('--detached', 'j.ts')), /there is no cluster/);
  assert.match(String(refusal('-pyfs', 'a.py', 'j.ts')), /not Python/);
});

test('options may stand anywhere before the arguments of the job, if the command says so', () => {
  const after2 = (...args: readonly string[]): ParsedOptions =>
    parseOptions(args, { ...CHECK_UPGRADE, command: 'weir check-upgrade' });
  for (const words of [
    ['-p', '3', 'sp', 'job.ts', '--in', 'a'],
    ['sp', '-p', '3', 'job.ts', '--in', 'a'],
    ['sp', 'job.ts', '-p3', '--in', 'a'],
    ['sp', 'job.ts', '--parallelism=3', '--', '--in', 'a'],
  ]) {
    const options = after2(...words);
    assert.equal(options.value('--parallelism'), '3', words.join(' '));
    assert.deepEqual(options.words, ['sp', 'job.ts', '--in', 'a'], words.join(' '));
  }
  const options = after2('sp', 'job.ts', '--in', 'a', '-n', '--json');
  assert.deepEqual(options.words, ['sp', 'job.ts', '--in', 'a', '-n', '--json']);
  assert(!options.has('--json'));
  assert.throws(() => after2('-s', 'sp', 'job.ts'), /-s: name the snapshot without an option/);
  assert.throws(() => after2('sp', '--nothing', 'job.ts'), /no option --nothing/);
});
