import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { isWeirError } from '../base/errors.ts';
import { RestClient } from './rest-client.ts';

test('what is no address is a mistake of the command line, told without its password', () => {
  for (const address of ['http://me:hidden@', 'me:hidden@host:port', 'a b'])
    assert.throws(
      () => new RestClient(new ManualClock(), address),
      (error) => {
        assert.ok(isWeirError(error) && error.code === 'ARGUMENT_INVALID');
        assert.match(error.message, /^".*" is no address; give HOST:PORT, or a URL$/);
        return !error.message.includes('hidden');
      },
    );
  assert.equal(
    new RestClient(new ManualClock(), 'https://me:hidden@host:81/path').address,
    'host:81',
  );
});
