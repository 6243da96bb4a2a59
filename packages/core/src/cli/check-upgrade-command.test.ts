import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestEnvironment } from './test-environment.ts';

test('check-upgrade asks for a snapshot and a job', async () => {
  for (const words of [[], ['savepoints/savepoint-1']]) {
    const environment = new TestEnvironment();
    assert.equal(await environment.weir('check-upgrade', ...words), 2);
    assert.match(environment.error.text, /name the snapshot and the job/);
  }
});

test('check-upgrade refuses a path without a snapshot as a start would', async () => {
  const environment = new TestEnvironment();
  assert.equal(await environment.weir('check-upgrade', '/nothing', 'job.ts'), 2);
  assert.match(environment.error.text, /there is nothing at \/nothing/);
});
