import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedArguments, sameArguments } from './recorded-arguments.ts';

const JOB = 'a'.repeat(32);
const GIVEN = ['--database', 'redis://u:hidden@h', '--rate=5'];

test('a secret is not in the record, and the same arguments are known again', () => {
  const recorded = recordedArguments(GIVEN, JOB);
  assert.deepEqual(recorded.arguments, ['--database', 'redis://u:***@h', '--rate=5']);
  assert.doesNotMatch(JSON.stringify(recorded), /hidden/);
  assert.equal(sameArguments(recorded, GIVEN, JOB), true);
});

test('another secret, or what is shown of it, are other arguments', () => {
  const recorded = recordedArguments(GIVEN, JOB);
  for (const password of ['other', '***'])
    assert.equal(
      sameArguments(recorded, ['--database', `redis://u:${password}@h`, '--rate=5'], JOB),
      false,
    );
  assert.equal(sameArguments(recorded, [...GIVEN.slice(0, 2), '--rate=6'], JOB), false);
});

test('without secrets arguments are kept as given, as older versions kept all', () => {
  assert.deepEqual(recordedArguments(['--rate=5'], JOB), { arguments: ['--rate=5'] });
  assert.equal(sameArguments({ arguments: GIVEN }, GIVEN, JOB), true);
  assert.equal(sameArguments({ arguments: GIVEN }, ['--rate=5'], JOB), false);
});
