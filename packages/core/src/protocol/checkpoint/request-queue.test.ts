import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkpointConfig } from './checkpoint-config.ts';
import type { CheckpointCoordinatorConfig } from './checkpoint-config.ts';
import { CheckpointRequestQueue, QUEUED_REQUESTS_MAX } from './request-queue.ts';
import type { TriggerRequest, TriggerSituation } from './request-queue.ts';

const IDLE: TriggerSituation = {
  isTriggering: false,
  pendingCount: 0,
  cleaningCount: 0,
  lastCompletionAt: -Infinity,
  now: 1000,
};

function queue(config: Partial<CheckpointCoordinatorConfig> = {}): CheckpointRequestQueue {
  return new CheckpointRequestQueue(checkpointConfig({ intervalMs: 100, ...config }));
}

function request(
  cause: TriggerRequest['cause'],
  changes: Partial<TriggerRequest> = {},
): TriggerRequest {
  return {
    cause,
    requestId: cause === 'user' ? 'somebody' : null,
    kind: 'checkpoint',
    targetDirectory: null,
    stop: null,
    isForced: false,
    ...changes,
  };
}

const SAVEPOINT = request('user', { kind: 'savepoint', isForced: true });

test('savepoints go first, then forced ones, then wanted ones, then periodic ones', () => {
  const requests = queue();
  const periodic = request('periodic');
  const first = request('user');
  const second = request('user');
  const forced = request('user', { isForced: true });
  for (const added of [periodic, first, second, forced, SAVEPOINT]) requests.add(added);
  assert.deepEqual(requests.clear(), [SAVEPOINT, forced, first, second, periodic]);
});

test('a periodic request within the pause is given up; others run at once [I-7]', () => {
  const situation = { ...IDLE, lastCompletionAt: 995 };
  const requests = queue({ minPauseMs: 10 });
  const periodic = request('periodic');
  requests.add(periodic);
  assert.deepEqual(requests.next(situation), {
    type: 'tooEarly',
    request: periodic,
    retryAt: 1005,
  });
  assert.equal(requests.size, 0);
  for (const wanted of [request('user'), SAVEPOINT]) {
    requests.add(wanted);
    assert.deepEqual(requests.next(situation), { type: 'start', request: wanted });
  }
  requests.add(periodic);
  assert.equal(requests.next({ ...situation, now: 1005 }).type, 'start');
});

test('a forced savepoint passes the limit of pending checkpoints, another does not [I-10]', () => {
  const full = { ...IDLE, pendingCount: 1 };
  const requests = queue();
  requests.add(request('user', { kind: 'savepoint' }));
  assert.equal(requests.next(full).type, 'none');
  assert.equal(requests.next(IDLE).type, 'start');
  requests.add(SAVEPOINT);
  assert.equal(requests.next(full).type, 'start');
});

test('nothing starts while more checkpoints are cleaned than may run [I-11]', () => {
  const requests = queue({ maxConcurrentCheckpoints: 10 });
  requests.add(SAVEPOINT);
  assert.equal(requests.next({ ...IDLE, cleaningCount: 11 }).type, 'none');
  assert.equal(requests.next({ ...IDLE, cleaningCount: 10 }).type, 'start');
});

test('nothing starts while another is being triggered', () => {
  const requests = queue();
  requests.add(SAVEPOINT);
  assert.equal(requests.next({ ...IDLE, isTriggering: true }).type, 'none');
});

test('no more periodic requests wait than may run at once', () => {
  const requests = queue({ maxConcurrentCheckpoints: 2 });
  assert.equal(requests.add(request('periodic')), null);
  assert.equal(requests.add(request('periodic')), null);
  const third = request('periodic');
  assert.equal(requests.add(third), third);
});

test('a full queue gives up a periodic request, or else the new one', () => {
  const requests = queue();
  const periodic = request('periodic');
  requests.add(periodic);
  for (let i = 1; i < QUEUED_REQUESTS_MAX; i++) requests.add(request('user'));
  assert.equal(requests.add(request('user')), periodic);
  assert.equal(requests.size, QUEUED_REQUESTS_MAX);
  const late = request('user');
  assert.equal(requests.add(late), late);
  assert.equal(requests.size, QUEUED_REQUESTS_MAX);
});
