import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { CheckpointDeclinedError } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import { AsyncOperations, checkpointFailure } from './async-operations.ts';

const ID = 'a'.repeat(32);

function operations(): { readonly clock: ManualClock; readonly all: AsyncOperations } {
  const clock = new ManualClock();
  return { clock, all: new AsyncOperations(clock, seededRandom(1)) };
}

test('an operation is in progress until its work is done', async () => {
  const { all } = operations();
  const work = Promise.withResolvers<{ location: string }>();
  const id = all.trigger('a job', null, () => work.promise);
  assert.match(id, /^[0-9a-f]{32}$/);
  assert.deepEqual(all.poll('a job', id), { status: { id: 'IN_PROGRESS' }, operation: null });
  work.resolve({ location: '/sp' });
  await work.promise;
  assert.deepEqual(all.poll('a job', id), {
    status: { id: 'COMPLETED' },
    operation: { location: '/sp' },
  });
});

test('the same id starts nothing twice, and is not known to another job', async () => {
  const { all } = operations();
  let started = 0;
  const work = async (): Promise<{ location: string }> => ({ location: `/sp-${++started}` });
  assert.equal(all.trigger('a job', ID, work), ID);
  assert.equal(all.trigger('a job', ID, work), ID);
  assert.equal(started, 1);
  assert.equal(all.poll('another', ID), null);
  assert.equal(all.poll('a job', 'b'.repeat(32)), null);
});

test('a failure is a completed operation with its cause', async () => {
  const { all } = operations();
  const work = (): Promise<never> => Promise.reject(new CheckpointDeclinedError('disk full'));
  all.trigger('a job', ID, work, checkpointFailure);
  await Promise.resolve();
  await Promise.resolve();
  const operation = all.poll('a job', ID)?.operation as {
    readonly failureCause: { readonly class: string; readonly 'stack-trace': string };
  };
  assert.equal(operation.failureCause.class, 'CHECKPOINT_DECLINED');
  assert.equal(operation.failureCause['stack-trace'], 'CHECKPOINT_DECLINED: disk full');
});

test('a result is forgotten after five minutes', async () => {
  const { all, clock } = operations();
  all.trigger('a job', ID, async () => ({ location: '/sp' }));
  await Promise.resolve();
  await Promise.resolve();
  clock.advance(299_999);
  assert.notEqual(all.poll('a job', ID), null);
  clock.advance(1);
  assert.equal(all.poll('a job', ID), null);
});

test('the end waits for those who still ask, but not for ever', async () => {
  const { all, clock } = operations();
  await all.settled();
  all.trigger('a job', ID, async () => ({ location: '/sp' }));
  await Promise.resolve();
  let isSettled = false;
  const settled = all.settled().then(() => {
    isSettled = true;
  });
  await Promise.resolve();
  assert.equal(isSettled, false);
  clock.advance(3000);
  await settled;
});
