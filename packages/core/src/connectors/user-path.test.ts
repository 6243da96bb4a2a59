import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError } from '../base/errors.ts';
import { resolveUserPath } from './user-path.ts';

test('a path of another system is refused without the password in it', () => {
  assert.throws(
    () => resolveUserPath('s3://key:hidden@bucket/out', 'fileSink path'),
    (error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.match(error.message, /fileSink path: "s3:\/\/key:\*\*\*@bucket\/out" is not a path/);
      assert.deepEqual(error.details['value'], 's3://key:***@bucket/out');
      return true;
    },
  );
});
