import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JobSubmissionError } from '../base/errors.ts';
import { argumentWords, JobArguments, parseJobArguments } from './job-arguments.ts';

function refusal(call: () => unknown): JobSubmissionError {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof JobSubmissionError);
    assert.equal(error.code, 'ARGUMENT_INVALID');
    return error;
  }
  return assert.fail('nothing was refused');
}

test('arguments are read by name and type', () => {
  const args = new JobArguments({
    input: 'a.txt',
    rate: '100',
    ratio: '0.5',
    fail: true,
    wait: '2s',
  });
  assert.equal(args.string('input'), 'a.txt');
  assert.equal(args.integer('rate'), 100);
  assert.equal(args.number('ratio'), 0.5);
  assert.equal(args.boolean('fail'), true);
  assert.equal(args.duration('wait'), 2000);
});

test('values given in code need no text', () => {
  const args = new JobArguments({ rate: 100, wait: 250, input: 7, files: ['a', 'b'] });
  assert.equal(args.integer('rate'), 100);
  assert.equal(args.duration('wait'), 250);
  assert.equal(args.string('input'), '7');
  assert.deepEqual(args.list('files'), ['a', 'b']);
});

test('a missing argument is its fallback, be it null', () => {
  const args = new JobArguments({});
  assert.equal(args.string('output', 'out'), 'out');
  assert.equal(args.integer('limit', null), null);
  assert.equal(args.duration('wait', '1 min'), 60_000);
  assert.equal(args.boolean('fail'), false);
  assert.equal(args.boolean('fast', true), true);
  assert.deepEqual(args.list('files', []), []);
});

test('a missing argument that is required is named, with how to give it and who asks', () => {
  const args = new JobArguments({ inptu: 'a.txt' });
  const { message } = refusal(() => args.string('input'));
  assert.match(message, /needs the argument --input, a text \(job-arguments\.test\.ts:\d+\)/);
  assert.match(message, /--input VALUE; did you mean "inptu"\?/);
});

test('a value of another kind is refused with what is expected', () => {
  const args = new JobArguments({ rate: 'fast', wait: 'soon', fail: 'maybe', on: true });
  assert.match(refusal(() => args.integer('rate')).message, /--rate: "fast" is not a whole number/);
  assert.match(refusal(() => args.number('rate')).message, /is not a number/);
  assert.match(refusal(() => args.duration('wait')).message, /--wait: "soon" is not a duration/);
  assert.match(refusal(() => args.boolean('fail')).message, /is not true or false/);
  assert.match(refusal(() => args.string('on')).message, /--on: true is not a text/);
  assert.match(refusal(() => args.list('on')).message, /is not a list/);
});

test('a list is separated by commas', () => {
  assert.deepEqual(new JobArguments({ files: 'a, b,,c' }).list('files'), ['a', 'b', 'c']);
});

test('what was asked for and what was not is remembered', () => {
  const args = new JobArguments({ a: '1', b: '2', c: '3' });
  args.string('a');
  args.has('b');
  args.integer('d', 0);
  assert.deepEqual(args.namesRead, ['a', 'b', 'd']);
  assert.deepEqual(args.namesUnread, ['c']);
});

test('names that every object has are not mistaken for arguments', () => {
  assert.equal(new JobArguments({}).string('constructor', 'none'), 'none');
  assert.deepEqual(parseJobArguments(['--constructor', 'x']), { constructor: 'x' });
});

test('a command line is read as names with values, and switches', () => {
  assert.deepEqual(
    parseJobArguments(['--input', 'a.txt', '--rate=5', '-o', 'out', '--fail', '--offset', '-3']),
    { input: 'a.txt', rate: '5', o: 'out', fail: true, offset: '-3' },
  );
  assert.deepEqual(parseJobArguments(['--text=a=b', '--empty=', '--last']), {
    text: 'a=b',
    empty: '',
    last: true,
  });
});

test('an argument given more than once is a list', () => {
  const values = parseJobArguments(['--file', 'a', '--file', 'b', '--file=c']);
  assert.deepEqual(new JobArguments(values).list('file'), ['a', 'b', 'c']);
});

test('a value without a name is refused', () => {
  assert.match(refusal(() => parseJobArguments(['a.txt'])).message, /"a\.txt".*--name value/);
});

test('no refusal of an argument shows a secret', () => {
  const args = new JobArguments({ token: 'hidden', url: ['redis://:hidden@h', 'x'] });
  const refusals = [
    refusal(() => args.integer('token')),
    refusal(() => args.string('url')),
    refusal(() => parseJobArguments(['redis://:hidden@h'])),
  ];
  const messages = refusals.map(({ message, details }) => message + JSON.stringify(details));
  for (const message of messages) assert.doesNotMatch(message, /hidden/);
  assert.match(messages[0] ?? '', /--token: "\*\*\*" is not a whole number/);
  assert.match(messages[1] ?? '', /--url: \["redis:\/\/:\*\*\*@h","x"\] is not a text/);
  assert.match(messages[2] ?? '', /"redis:\/\/:\*\*\*@h": arguments are given by name/);
});

test('arguments given by name are words that say the same', () => {
  const args = { input: 'a b.txt', rate: 5, follow: true, topic: ['x', 'y'] };
  const words = ['--input=a b.txt', '--rate=5', '--follow', '--topic=x', '--topic=y'];
  assert.deepEqual(argumentWords(args), words);
  assert.deepEqual(parseJobArguments(words), { ...args, rate: '5' });
});
