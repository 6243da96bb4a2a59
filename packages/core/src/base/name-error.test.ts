import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FencedError, WeirError } from './errors.ts';
import { named } from './name-error.ts';

test('an error is told with its owner, and keeps kind, code and details', () => {
  const error = new WeirError('user', 'no table', {
    code: 'SINK_REFUSED',
    details: { table: 't' },
  });
  const { kind, code, details, message, cause } = named('sink out', error);
  assert.deepEqual(
    { kind, code, details, message, cause },
    {
      kind: 'user',
      code: 'SINK_REFUSED',
      details: { table: 't' },
      message: 'sink out: no table',
      cause: error,
    },
  );
});

test('what ends quietly, and what is no error of ours, passes as it is', () => {
  for (const error of [new FencedError('newer'), new TypeError('no function'), 'text'])
    assert.equal(named('sink out', error), error);
});
