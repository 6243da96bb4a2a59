import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorInfo } from '../../base/errors.ts';
import { PLAIN_STYLE } from '../text/style.ts';
import { errorLines } from './error-lines.ts';
import { errorInfo, userError } from './report-fixtures.ts';

function lines(error: ErrorInfo, verbose = false): readonly string[] {
  return errorLines(error, {
    workingDirectory: '/here',
    internalDirectories: ['/engine/'],
    verbose,
    style: PLAIN_STYLE,
  });
}

test("a failed function is told with the user's places only, relative to the folder", () => {
  assert.deepEqual(lines(errorInfo({ causes: [userError()] })), [
    'Error [USER_FUNCTION_FAILED]: map of operator totals threw: too much',
    '    at jobs/orders.ts:5:24 (map)',
    '    at /elsewhere/h.ts:1:2 (helper)',
  ]);
});

test('a cause that adds something is told, one that repeats is not', () => {
  const cause = errorInfo({ message: 'disk is full', name: 'StorageUnavailableError' });
  const error = errorInfo({ message: 'cannot go on', causes: [cause] });
  assert.deepEqual(lines(error), [
    'Error [USER_FUNCTION_FAILED]: cannot go on',
    '    caused by StorageUnavailableError: disk is full',
  ]);
});

test('a mistake of the user has no stack trace', () => {
  const error = errorInfo({
    name: 'ConfigurationError',
    code: 'CONFIG_INVALID',
    kind: 'user',
    message: 'x is not a key',
    stack: 'ConfigurationError: x\n    at f (/here/conf.ts:1:1)',
  });
  assert.deepEqual(lines(error), ['Error [CONFIG_INVALID]: x is not a key']);
});

test('what the compiler pointed at is shown below the message', () => {
  const error = errorInfo({
    code: 'JOB_NOT_LOADABLE',
    kind: 'user',
    message: 'a.ts:1:9: unexpected "b"',
    details: { excerpt: 'const a b\n        ^' },
  });
  assert.deepEqual(lines(error), [
    'Error [JOB_NOT_LOADABLE]: a.ts:1:9: unexpected "b"',
    '    const a b',
    '            ^',
  ]);
});

test('an error of nobody is reported as a fault, with all frames', () => {
  const stack = 'TypeError: no\n    at f (/engine/a.ts:1:1)\n    at g (node:fs:1:1)';
  const error = errorInfo({ name: 'TypeError', code: null, message: 'no', stack });
  assert.deepEqual(lines(error), [
    'Error: TypeError: no',
    '    at f (/engine/a.ts:1:1)',
    '    at g (node:fs:1:1)',
    '    This is a fault of Weir: please report it with the lines above.',
  ]);
});

test('verbose shows every frame of every cause', () => {
  assert.deepEqual(lines(errorInfo({ causes: [userError()] }), true), [
    'Error [USER_FUNCTION_FAILED]: map of operator totals threw: too much',
    '    at engine (/engine/map.ts:1:1)',
    '    caused by RangeError: too much',
    '    at Object.map (/here/jobs/orders.ts:5:24)',
    '    at helper (/elsewhere/h.ts:1:2)',
    '    at MapOperator (/engine/map.ts:10:24)',
  ]);
});
